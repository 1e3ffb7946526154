/* SPDX-License-Identifier: MIT */
/* sim/drive.c - the collector's turns, its deaths and its successors: see sim.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/request/stop.h"
#include "collect/drain/files.h"
#include "collect/trigger/lifecycle.h"
#include "sim.h"

struct collector collector;
char *sim_memory;
static struct collector as_kept; /* the keeper's: as it was after the start */
static struct handover *handover;
static struct recorder_options options;
static struct recorder_channel channels[SIM_CHANNELS];
static char output[300];
static size_t memory_size;
static uint64_t failed_before; /* writes, when it began to end */

/* ---------------------------------------------------------------- one turn of a collector */

static void pass(void *arg)
{
	(void)arg;
	sim->n_passes++;
	collector_pass(&collector);
}

static void work(void *arg)
{
	(void)arg;
	collector_work(&collector);
}

/* For each socket: the crowd's requests that were served since it had data. */
static uint32_t passed_by[SESSION_CONNECTIONS];

/* A program waits for one request of the crowd at most, however many those are: all peers are one
 * client. */
static void read_connection(int i)
{
	const struct connection *connections = collector.session.connections;
	pid_t crowd = (pid_t)(SIM_FIRST_PID + SIM_PIDS);

	for (int k = 0; k < SESSION_CONNECTIONS && connections[i].client == crowd; k++)
		if (k != i && connections[k].fd >= 0 && connections[k].has_sent &&
		    connections[k].client != crowd && ++passed_by[k] > 1)
			sim_fail("a program waits for %u requests of another process",
				 passed_by[k]);
	collector_read(&collector, i);
	passed_by[i] = 0;
}

enum { READ_MOST = 64 };

/* As in the event loop: reports the descriptors that can be read. */
static void serve(void *arg)
{
	struct pollfd at[SESSION_CONNECTIONS + 1];
	int connection[SESSION_CONNECTIONS + 1], n = 0, fd;

	(void)arg;
	at[n++] = (struct pollfd){ collector.session.listen_fd, POLLIN, 0 };
	for (int i = 0; i < SESSION_CONNECTIONS; i++)
		if ((fd = collector.session.connections[i].fd) >= 0) {
			connection[n] = i;
			at[n++] = (struct pollfd){ fd, POLLIN, 0 };
		}
	if (poll(at, (nfds_t)n, 0) <= 0)
		return;
	for (int i = 1; i < n; i++)
		if (at[i].revents)
			collector_readable(&collector, connection[i]);
	for (int i = 0, k;
	     at[0].revents && i < SESSION_CONNECTIONS && (k = collector_accept(&collector)) >= 0;
	     i++)
		passed_by[k] = 0;
	for (int i = 0, k;
	     i < READ_MOST && !collector.stop && (k = collector_next(&collector)) >= 0; i++)
		read_connection(k);
	collector_end_turn(&collector);
}

static void resume(void *arg)
{
	struct diag d = { "" };
	int err = collector_resume(&collector, &d);

	(void)arg;
	if (err)
		sim_fail("a killed collector could not be replaced: %s", d.text);
}

static void finish(void *arg)
{
	struct diag d = { "" };
	int err = collector_finish(&collector, &d);

	(void)arg;
	sim_log("finished: %d %s", err, d.text);
	stopping_answer(&collector.result.stopping, &options, &collector.result, err ? d.text : "");
	if (err && sim->n_failed_writes == failed_before)
		sim_fail("it did not end well: %s", d.text);
}

/* ---------------------------------------------------------------- turns, and deaths in them */

static void interrupted(void *arg, ucontext_t *u)
{
	uint32_t cpu = sim->cpu;

	(void)arg;
	(void)u;
	sim->n_preempted++;
	sim_advance(sim_draw_scaled(20000000));
	for (uint32_t n = sim_draw(8); n; n--)
		programs_act();
	sim->cpu = cpu;
}

static void die(void *arg, ucontext_t *u)
{
	(void)arg;
	(void)u;
	_exit(SIM_KILLED);
}

/* The point of death: after some calls to the world, or some instructions after such a call,
 * because the critical places are near them.  Or some instructions from now on, which are
 * returned. */
static int64_t draw_event(bool dies)
{
	sim->dies = dies;
	if (!sim_draw(5))
		return sim_draw_scaled(4096);
	sim->event_at_call = (int64_t)sim_draw_scaled(64) - 1;
	sim->event_after = sim_draw(2) ? (int64_t)sim_draw_scaled(512) - 1 : -1;
	return -1;
}

/* In a child that does not return: its changes of private memory are lost with it. */
static void turn_and_die(void (*what)(void *arg))
{
	int64_t n = draw_event(true);
	int status = 0;
	pid_t child = fork();

	if (!child) {
		sim->in_collector = 1;
		step_run(n, what, die, NULL);
		_exit(SIM_KILLED);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != SIM_KILLED)
		sim_fail("a collector ended by itself: status %#x", (unsigned)status);
	sim_switch_thread(); /* programs ran in the child, and their threads' memory is lost too */
	sim->in_collector = 0;
	sim->n_kills++;
}

static bool turn(void (*what)(void *arg))
{
	int64_t n = -1;
	uint32_t kills =
		sim->ending && sim->plan.kills ? 300 : sim->plan.kills; /* there is but one end */
	bool dies = !sim->quiet && sim_chance(kills);

	sim->event_at_call = -1;
	if (dies) {
		turn_and_die(what);
		sim->event_at_call = -1;
		return false;
	}
	if (!sim->quiet && sim_chance(sim->plan.preempts))
		n = draw_event(false);
	sim->in_collector++;
	step_run(n, what, interrupted, NULL);
	sim->in_collector--;
	sim->event_at_call = -1;
	return true;
}

/* The private memory of the dead collector is lost; the next one has the memory of the
 * supervisor. */
static void forget(void)
{
	struct streams *streams = collector.streams;

	if (snapshot_is_open(&collector.snapshot)) {
		streams_close(collector.snapshot.streams);
		close(collector.snapshot.asker);
		if (collector.snapshot.directory >= 0)
			close(collector.snapshot.directory);
	}
	for (int i = 0; i < SESSION_CONNECTIONS; i++)
		if (collector.session.connections[i].fd >= 0)
			close(collector.session.connections[i].fd);
	for (int i = 0; i < collector.result.stopping.n; i++)
		close(collector.result.stopping.fds[i]);
	filters_fini(&collector.filters);
	if (collector.output.trace_chunk_clock)
		fclose(collector.output.trace_chunk_clock);
	trigger_watch_close(&collector.triggers);
	collector = as_kept;
	collector.output.trace_chunk_clock = NULL; /* of the same process as the one just closed */
	collector.streams = streams;
	collector.triggers.scan = NULL;
	collector.triggers.set = (struct triggers){ .n = 0 };
	sim_show_time();
}

static void take_over(void)
{
	uint32_t disk = sim->plan.disk;

	sim_log("the collector was killed");
	do {
		forget();
		handover->supervision.n++;
		sim->n_takeovers++;
		sim->plan.disk = 0;
		sim->disk = SIM_DISK_GOOD;
		sim_advance(sim_draw_scaled(50000000));
	} while (!sim->failed && !turn(resume));
	sim->plan.disk = disk;
}

void drive_turn(void)
{
	if (!sim->in_collector && !sim->failed && !turn(pass))
		take_over();
}

void drive_work(void)
{
	if (!sim->in_collector && !sim->failed && collector_has_work(&collector) && !turn(work))
		take_over();
}

void drive_serve(void)
{
	if (!sim->in_collector && !sim->failed && !turn(serve))
		take_over();
}

/* ---------------------------------------------------------------- a recording */

static void set_options(void)
{
	static const char *const names[] = { "default", "second", "third" };

	snprintf(output, sizeof output, "%s/out", sim_directory);
	mkdir(output, 0777);
	for (uint32_t i = 0; i < sim->plan.n_channels; i++) {
		struct session_channel *c = &channels[i].channel;

		channels[i] = (struct recorder_channel){ 0 };
		snprintf(c->name, sizeof c->name, "%s", names[i]);
		c->bytes = (uint64_t)sim->plan.chunk_bytes * sim->plan.chunks;
		c->chunk_bytes = sim->plan.chunk_bytes;
		c->flight_recorder = sim->plan.overwrite[i];
		c->is_coarse = sim->plan.coarse[i];
		c->block_timeout_us =
			i == 1 && !c->flight_recorder ? sim->plan.block_timeout_us : 0;
	}
	options = (struct recorder_options){
		.path = output,
		.session = "sim",
		.channels = channels,
		.n_channels = (int)sim->plan.n_channels,
		.trace_chunks = { .rotate = sim->plan.rotate_bytes,
				  .rotate_bytes = sim->plan.rotate_bytes,
				  .rotate_ns = sim->plan.rotate_bytes * 20000ull },
		.keep = true
	};
	for (uint32_t i = 0; i < sim->plan.n_channels; i++)
		options.flight_recorder |= sim->plan.overwrite[i];
}

bool drive_begin(void)
{
	struct diag d = { "" };
	int err;

	set_options();
	handover = handover_memory();
	handover->supervision.n = 1;
	collector = COLLECTOR_NONE(&options, handover);
	err = collector_open(&collector, &d);
	if (!err)
		err = collector_start(&collector, 0, &d);
	if (err) {
		sim_fail("it could not begin: %s", d.text);
		collector_finish(&collector, NULL);
		return false;
	}
	memory_size = collector.session.memory_size;
	sim_memory = mmap(NULL, memory_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			  collector.session.memory_fd, 0);
	as_kept = collector;
	/* Orders of closing are counted modulo 2^30. */
	for (uint32_t i = 0; i < sim->plan.n_channels; i++)
		collector.session.pools[i].shared->order +=
			sim_draw(2) ? (1u << 30) - sim_draw(300) : 0;
	return true;
}

bool drive_end(void)
{
	failed_before = sim->n_failed_writes;
	while (!turn(finish))
		take_over();
	return sim->n_failed_writes == failed_before;
}

void drive_remove(void)
{
	munmap(sim_memory, memory_size);
	handover_forget(handover);
	files_remove_trace(output);
	collector = (struct collector){ 0 };
}
