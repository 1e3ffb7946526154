/* SPDX-License-Identifier: MIT */
/*
 * sim/run.c - runs of the simulator: see sim.h.
 *
 * 	sim [--verbose] [--soak] [--first] [--twice] [--babeltrace] [--runs N] [SEED]
 *
 * Runs seed SEED (1), or the N seeds from it on, with --first up to the first that fails; with
 * --soak days with little activity; with --twice each one again, and both must have the same
 * result; with --babeltrace Babeltrace must read the same events.  Status 1 if one failed; the
 * output has the command that repeats it.
 */
#include <dirent.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/drain/files.h"
#include "sim.h"

enum { MEMORY_SLACK = 512 << 10 };

struct sim *sim;
bool sim_verbose, sim_asks_babeltrace;
char sim_directory[256];
static bool is_soak; /* a day with little in it */

void sim_log(const char *format, ...)
{
	va_list ap;

	if (!sim_verbose)
		return;
	va_start(ap, format);
	printf("%14.9f  ", (double)sim->now_ns / 1e9);
	vprintf(format, ap);
	printf("\n");
	fflush(stdout);
	va_end(ap);
}

void sim_fail(const char *format, ...)
{
	va_list ap;

	if (!sim->failed) {
		va_start(ap, format);
		printf("# seed %llu: ", (unsigned long long)sim->seed);
		vprintf(format, ap);
		printf("\n#   again: tests/sim/sim %s--verbose %llu\n", is_soak ? "--soak " : "",
		       (unsigned long long)sim->seed);
		fflush(stdout);
		va_end(ap);
	}
	sim->failed = true;
}

/* ---------------------------------------------------------------- chance */

/* Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014): splitmix64. */
static uint64_t draw64(void)
{
	uint64_t z = sim->random += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint32_t sim_draw(uint32_t n)
{
	return n ? (uint32_t)((draw64() >> 32) * n >> 32) : 0;
}

bool sim_chance(uint32_t per_mille)
{
	return per_mille && sim_draw(1000) < per_mille;
}

uint32_t sim_draw_scaled(uint32_t most)
{
	uint32_t bits = 32 - (uint32_t)__builtin_clz(most | 1), v = 1u << sim_draw(bits);

	v += sim_draw(v);
	return v > most ? most : v;
}

static uint32_t draw_of_cpus(uint32_t n)
{
	sim->cpu_random = sim->cpu_random * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(sim->cpu_random >> 4) * n >> 28);
}

/* One CPU goes or comes; one always stays. */
static void plug(uint32_t n)
{
	uint32_t changed = sim->online ^ 1u << draw_of_cpus(n);

	if (!changed)
		return;
	sim->online = changed;
	sim->n_plugged++;
}

uint32_t sim_draw_cpu(void)
{
	uint32_t n = sim->plan.n_cpus + sim->plan.more_cpus, cpu = sim_draw(sim->plan.n_cpus);

	if (!sim->plan.plugs)
		return cpu;
	if (!draw_of_cpus(40))
		plug(n);
	do
		cpu = draw_of_cpus(n);
	while (!(sim->online >> cpu & 1));
	sim->n_beyond += cpu >= sim->plan.n_cpus;
	return cpu;
}

/* ---------------------------------------------------------------- plans */

static uint32_t one_of(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t i = sim_draw(3);

	return i == 0 ? a : i == 1 ? b : c;
}

static void draw_plan(struct sim_plan *p)
{
	*p = (struct sim_plan){
		.duration_ns = 1000000000ull * (1 + sim_draw(6)),
		.n_cpus = 1 + sim_draw(SIM_CPUS),
		.n_channels = 1 + sim_draw(SIM_CHANNELS),
		.chunk_bytes = 4096u << sim_draw(3),
		.chunks = 8u << sim_draw(5),
		.block_timeout_us = one_of(0, 1000, 30000),
		.load = one_of(100, 1000, 5000),
		.deaths = one_of(0, 3, 30),
		.kills = one_of(0, 2, 20),
		.preempts = one_of(0, 5, 40),
		.disk = one_of(0, 0, 10),
		.slow = one_of(0, 0, 20000000),
		.peers = one_of(5, 50, 200),
		.jumps = one_of(0, 1, 10),
		.requests = one_of(0, 300, 900),
		.liars = !sim_draw(10),
		.fails = !sim_draw(8),
	};
	if (p->fails)
		p->disk += 5;
	p->plugs = !draw_of_cpus(4);
	p->more_cpus = p->plugs ? draw_of_cpus(SIM_MORE_CPUS + 1) : 0;
	p->is_dense = sim->seed % 5 == 2; /* no draw: seeds stay as they were */
	p->rotate_bytes = one_of(0, 5000, 100000);
	for (uint32_t i = 0; i < p->n_channels; i++) {
		p->overwrite[i] = !sim_draw(4);
		p->coarse[i] = (sim->seed + i) % 4 == 1; /* nor here */
	}
	if (!is_soak)
		return;
	p->idle = true;
	p->duration_ns = 24 * 3600 * 1000000000ull;
	p->n_channels = 2;
	p->overwrite[0] = p->liars = p->fails = false;
	p->requests = 300;
	p->peers = 50;
	p->jumps = 0;
	p->rotate_bytes = 1000000;
	p->kills = one_of(0, 0, 1);
	p->preempts = 1;
	p->deaths = 1;
	p->chunks = 512;
}

/* ---------------------------------------------------------------- a run */

/* Hours: a suspended host.  Half a second: one that is too busy to let us run. */
static void jump(void)
{
	uint64_t ns =
		sim_draw(2) ? sim_draw_scaled(500000000) : 1000000000ull * sim_draw_scaled(100000);

	sim_log("nothing runs for %llu ms", (unsigned long long)ns / 1000000);
	if (sim_draw(2))
		sim->slept_ns += ns;
	sim_advance(ns);
}

/* The work of the event loop from one wake-up until it sleeps again. */
static void round_of_loop(void)
{
	drive_serve();
	peers_listen();
	drive_turn();
	for (int i = 0; i < 1000 && !sim->failed && collector_has_work(&collector); i++) {
		if (sim_chance(200))
			peers_act();
		if (sim_chance(300))
			drive_serve();
		if (sim_chance(500))
			programs_act();
		if (collector.pass.is_open && sim_chance(200)) {
			peers_ask_flush();
			drive_serve();
		}
		drive_work();
	}
}

/*
 * So much at once that each CPU closes several chunks, which one write puts into its stream.  The collector
 * is more likely to be killed in that turn than in others.
 */
static void dense_burst(void)
{
	enum { MORE_KILLS = 10 };
	uint32_t kills = sim->plan.kills;

	for (uint32_t n = 1 + sim_draw(1500); n && !sim->failed; n--) {
		sim_advance(100);
		programs_act();
	}
	sim->plan.kills *= MORE_KILLS;
	round_of_loop();
	sim->plan.kills = kills;
}

/* From one timer to the next. */
static void period(void)
{
	uint64_t until =
		sim->now_ns + collector.schedule.pass_ms * 1000000ull + sim_draw_scaled(2000000);
	uint32_t n = sim->plan.load * collector.schedule.pass_ms / 1000;

	if (sim_chance(50))
		n = 20 * n + sim_draw(100); /* a burst */
	else
		n = n / 2 + sim_draw(n + 2);
	while (n-- && sim->now_ns < until && !sim->failed) {
		if (sim_chance(300))
			sim_advance(sim_draw(collector.schedule.pass_ms * 1000000 / 4));
		programs_act();
	}
	if (sim->plan.is_dense && sim_chance(200))
		dense_burst();
	if (sim->now_ns < until)
		sim_advance(until - sim->now_ns);
	if (sim_chance(sim->plan.peers))
		peers_act();
	if (sim_chance(sim->plan.jumps))
		jump();
	round_of_loop();
}

/* Mostly nothing: the collector runs from time to time, and its other passes would also find
 * nothing. */
static void idle(void)
{
	uint64_t until = sim->now_ns + 1000000000ull * sim_draw_scaled(1200);

	while (sim->now_ns < until && !sim->failed) {
		sim_advance(1000000000ull + sim_draw_scaled(60000000) * 1000ull);
		if (sim_chance(20))
			programs_act();
		if (sim_chance(20))
			peers_act();
		round_of_loop();
	}
	sim->plan.load = one_of(100, 5000, 50000);
}

static void end(void)
{
	struct recorder_result result;
	bool all_written;

	programs_end();
	sim->ending = true;
	sim_advance(1); /* everything was recorded before its end */
	if (!sim->plan.fails) {
		sim->quiet = sim_draw(2);
		sim->plan.disk = 0;
		sim->disk = SIM_DISK_GOOD;
	}
	all_written = drive_end();
	result = collector.result;
	check_recording(&result, all_written);
	peers_end();
	drive_remove();
}

static int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static void report_plan(const struct sim_plan *p)
{
	sim_log("plan: %llu s, %u cpus, %u chunks of %u, flight recorders %d%d%d, coarse %d%d%d, "
		"patience %u, "
		"load %u, deaths %u, kills %u, interrupts %u, disk %u, slow %u, peers %u, jumps "
		"%u, requests %u, rotates %u, liars %d, fails %d, cpus plugged %d, beyond %u",
		(unsigned long long)p->duration_ns / 1000000000, p->n_cpus, p->chunks,
		p->chunk_bytes, p->overwrite[0], p->overwrite[1], p->overwrite[2], p->coarse[0],
		p->coarse[1], p->coarse[2], p->block_timeout_us, p->load, p->deaths, p->kills,
		p->preempts, p->disk, p->slow, p->peers, p->jumps, p->requests, p->rotate_bytes,
		p->liars, p->fails, p->plugs, p->more_cpus);
}

/* The memory that malloc keeps for itself is unknown; a leak exceeds it after some time. */
static void check_memory(void)
{
	static size_t first;
	size_t bytes = mallinfo2().uordblks;

	if (!first)
		first = bytes;
	if (bytes > first + MEMORY_SLACK)
		sim_fail("%zu bytes of memory at first, %zu after", first, bytes);
}

static uint64_t run(uint64_t seed)
{
	int before = count_descriptors();

	madvise(sim, sizeof *sim + SIM_EVENTS * sizeof *sim->events, MADV_REMOVE);
	sim->seed = seed;
	sim->random = seed * 0xd1342543de82ef95u;
	sim->now_ns = 1000000000000ull + sim_draw_scaled(UINT32_MAX);
	sim->event_at_call = -1;
	sim->digest = 0xcbf29ce484222325u;
	sim->cpu_random = (uint32_t)seed * 2654435761u + 1;
	draw_plan(&sim->plan);
	sim->online = (1u << (sim->plan.n_cpus + sim->plan.more_cpus)) - 1;
	report_plan(&sim->plan);
	if (!drive_begin())
		return 0;
	peers_begin();
	for (uint64_t end_ns = sim->now_ns + sim->plan.duration_ns;
	     sim->now_ns < end_ns && !sim->failed && !collector.stop;) {
		period();
		if (sim->plan.idle && sim_chance(20))
			idle();
	}
	end();
	if (count_descriptors() != before)
		sim_fail("%d descriptors before, %d after", before, count_descriptors());
	check_memory();
	if (sim_verbose)
		printf("seed %llu: %u events, %u refused, %u unknown; %u passes, %u kills, %u "
		       "interrupted, %u joined, %u died, %u answers, %u snapshots, %u flushes (%u "
		       "asked for in a pass), %llu failed writes, CPUs plugged %u times, %u turns "
		       "on unknown ones; digest %016llx\n",
		       (unsigned long long)seed, sim->n_events, sim->n_refused, sim->n_unknown,
		       sim->n_passes, sim->n_kills, sim->n_preempted, sim->n_joins, sim->n_deaths,
		       sim->n_answers, sim->n_snapshots, sim->n_flushes, sim->n_flushes_in_pass,
		       (unsigned long long)sim->n_failed_writes, sim->n_plugged, sim->n_beyond,
		       (unsigned long long)sim->digest);
	return sim->digest;
}

/* The same addresses each time: alignment decides how many instructions a copy takes. */
static void without_randomness(char **argv)
{
	if (personality(0xffffffff) & ADDR_NO_RANDOMIZE)
		return;
	if (personality((unsigned long)personality(0xffffffff) | ADDR_NO_RANDOMIZE) >= 0)
		execv("/proc/self/exe", argv);
}

static void begin(void)
{
	char runtime[280];

	snprintf(sim_directory, sizeof sim_directory, "%s/duet-sim-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	if (!mkdtemp(sim_directory))
		exit(2);
	snprintf(runtime, sizeof runtime, "%s/run", sim_directory);
	mkdir(runtime, 0700);
	setenv("DUET_RUNTIME_DIR", runtime, 1);
	sim = mmap(NULL, sizeof *sim + SIM_EVENTS * sizeof *sim->events, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	step_init();
	sim_world_init();
}

int main(int argc, char **argv)
{
	uint64_t first = 1, n = 1, failed = 0;
	bool is_first = false, is_twice = false;
	uint64_t result;

	without_randomness(argv);
	begin();
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--verbose"))
			sim_verbose = true;
		else if (!strcmp(argv[i], "--twice"))
			is_twice = true;
		else if (!strcmp(argv[i], "--babeltrace"))
			sim_asks_babeltrace = true;
		else if (!strcmp(argv[i], "--first"))
			is_first = true;
		else if (!strcmp(argv[i], "--soak"))
			is_soak = true;
		else if (!strcmp(argv[i], "--runs") && i + 1 < argc)
			n = strtoull(argv[++i], NULL, 0);
		else
			first = strtoull(argv[i], NULL, 0);
	}
	for (uint64_t i = 0; i < n && !(is_first && failed); i++) {
		result = run(first + i);
		if (is_twice && !sim->failed && run(first + i) != result)
			sim_fail("the second time it went another way");
		failed += sim->failed;
	}
	files_remove_trace(sim_directory);
	printf("%llu runs, %llu failed\n", (unsigned long long)n, (unsigned long long)failed);
	return failed > 0;
}
