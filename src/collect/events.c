/* SPDX-License-Identifier: MIT */
/*
 * collect/events.c - a running collector's reactions to events: time, messages, signals.
 *
 * A pass moves data from the pools to the files (collect/drain/drain.h has the call chain).  It is
 * divided into slices, so that connections and requests are served in between.
 */
#include "collect/collector.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "collect/chunks/chunks.h"
#include "collect/drain/files.h"
#include "collect/drain/interval.h"
#include "collect/dispatch.h"
#include "collect/rotate.h"
#include "collect/session/slots.h"
#include "collect/trigger/actions.h"
#include "collect/trigger/lifecycle.h"

enum {
	SECOND_NS = 1000000000,
	STALL_NS = 20000000, /* of a virtual CPU, between an event's clock and its commit */
	MS = 1000000,
	REAP_MOST = 64,	     /* programs checked each second; there may be thousands */
	LEAST_ROOM = 16384,  /* bytes, for a control page */
	WAKE_NS = 50000000,  /* between two wakes of the archiver for lack of disk */
	SLICE_NS = 10000000, /* of a pass, before connections are served */
};

void collector_note(struct collector *c, const struct diag *d)
{
	if (!c->result.trouble.text[0])
		c->result.trouble = *d;
}

void collector_note_write(struct collector *c, const struct diag *d)
{
	if (*d->text && !c->handover->disk.refused)
		collector_note(c, d);
}

uint64_t collector_lost(const struct collector *c)
{
	struct kernel_counts k = { .lost = 0 };
	uint64_t lost = 0;

	for (uint32_t i = 0; c->streams && i < c->session.n_channels; i++)
		lost += streams_lost(c->streams, i);
	if (c->kernel)
		kernel_counts(c->kernel, &k);
	return lost + k.lost;
}

void collector_count_disk(struct collector *c, bool at_once)
{
	disk_count(&c->handover->disk, c->output.recording, trace_chunks_is_archived,
		   at_once ? 0 : monotonic_ns());
}

/* After each pass: refused packets show in the losses. */
static void account_disk(struct collector *c)
{
	struct disk_budget *b = &c->handover->disk;

	if (!disk_is_limited(b))
		return;
	collector_count_disk(c, false);
	if (b->refused || c->pass.is_periodic)
		disk_account(b, collector_lost(c));
	if (disk_is_over(b) && c->rotation.trace_chunk && monotonic_ns() >= c->rotation.wake_ns) {
		archiver_wake(c->rotation.archiver);
		c->rotation.wake_ns = monotonic_ns() + WAKE_NS;
	}
}

void collector_record_clocks(struct collector *c, uint64_t written_ns)
{
	if (c->output.clock_file)
		files_add_clock(c->output.clock_file, &c->session.clock, written_ns);
	if (c->output.trace_chunk_clock)
		files_add_clock(c->output.trace_chunk_clock, &c->session.clock, written_ns);
}

void collector_record_modules(struct collector *c)
{
	if (c->kernel && kernel_has_addresses(c->kernel))
		files_again_kallsyms(c->output.recording, &c->output.kernel_modules);
}

/* ---------------------------------------------------------------- time */

/*
 * Programs that started while the slots file was missing or wrong have not found this session:
 * enable them now.
 */
static void check_session_slots(struct collector *c)
{
	struct session *s = &c->session;
	struct diag d = { "" };
	int is_new = session_slots_repair(s->dir, &s->file, &s->session_slots_file);

	if (is_new == -EBUSY)
		diag_fail(&d, is_new,
			  "another session has this session's slot: the file seats in the runtime "
			  "directory was "
			  "changed; programs that start do not find this session");
	if (d.text[0])
		collector_note(c, &d);
	if (is_new > 0)
		programs_follow(s->dir, 0, &s->file, true);
}

/* Programs that have ended leave their calls files to us. */
static void keep_ended_calls(struct collector *c)
{
	struct diag d = { "" };

	if (calls_keep(&c->calls, c->output.traces, CALLS_ENDED, &d) < 0)
		collector_note_write(c, &d);
}

/* The longest time that the data of an open chunk may stay unread. */
static uint64_t partial_ns(const struct collector *c)
{
	return c->o->unwritten_ns ? c->o->unwritten_ns : SECOND_NS;
}

static void follow_mappings(void *arg, pid_t tid)
{
	struct collector *c = arg;

	maps_follow(c->maps, tid, c->mappings.looked_ns);
}

/*
 * Programs whose system calls are recorded need not join, so their mappings are looked for.  A short
 * command is gone within the second that the periodic work waits: the first looks come after 2 ms
 * (start.c) and then whenever half as much time has passed again.
 */
void collector_look_at_mappings(struct collector *c, uint64_t now_ns)
{
	c->mappings.looked_ns = now_ns;
	c->mappings.next_ns = now_ns + (now_ns - c->begin_ns) / 2;
	if (c->kernel && kernel_records_calls(c->kernel))
		kernel_each_recorded(c->kernel, follow_mappings, c);
	maps_again(c->maps, now_ns);
}

static bool looks_often(const struct collector *c)
{
	return c->kernel && kernel_records_calls(c->kernel) &&
	       c->mappings.looked_ns < c->begin_ns + SECOND_NS;
}

/*
 * A program that starts needs a file there, its control page.  Without room it runs unrecorded, and
 * nobody can count what it does: so the state itself is reported.
 */
static void check_runtime_room(struct collector *c)
{
	struct statvfs v;
	struct diag d = { "" };

	if (fstatvfs(c->session.dir, &v) ||
	    ((uint64_t)v.f_bavail * v.f_frsize >= LEAST_ROOM && (!v.f_files || v.f_favail)))
		return;
	diag_fail(
		&d, -ENOSPC,
		"the file system of the runtime directory (/dev/shm) was full: programs that "
		"started then, and functions that ran then, are not recorded; remove files there");
	collector_note(c, &d);
}

/* The recording keeps the events that were read before the loan ended. */
static void check_lender(struct collector *c)
{
	struct diag d = { "" };

	if (!c->kernel || !kernel_has_lost_its_lender(c->kernel))
		return;
	diag_fail(
		&d, -ECONNRESET,
		"the lender of kernel tracing (duet lend) ended, and the loan with it: the kernel "
		"is recorded up to then, but for events not yet read; begin another recording");
	collector_note(c, &d);
}

/* Programs that one walk does not find are not recorded, or not enabled. */
static void check_names(struct collector *c)
{
	struct diag d = { "" };

	if (!c->reaping.is_crowded)
		return;
	diag_fail(&d, -E2BIG,
		  "the runtime directory has more than %d names: programs behind them are not "
		  "found; remove files there",
		  PROGRAMS_NAMES);
	collector_note(c, &d);
}

/*
 * Files in a removed directory accept bytes that are gone later.  So nothing is written any more:
 * events stay in the pools, and those that find no room there are counted as lost.
 */
void collector_look_at_place(struct collector *c)
{
	struct diag *d = &c->output.place_trouble, before = *d;
	enum place_state state;

	*d->text = 0;
	state = place_look(&c->output.place, c->output.recording, d);
	if (state == PLACE_FINE)
		return;
	c->result.is_not_whole = true;
	if (strcmp(before.text, d->text) != 0)
		c->result.trouble = *d; /* it explains an earlier one */
	if (state != PLACE_REMOVED)
		return;
	if (c->streams)
		streams_refuse(c->streams, "its directory was removed");
	if (c->kernel)
		kernel_refuse(c->kernel, "its directory was removed");
}

/* Runs once a second. */
static void run_periodic_work(struct collector *c, uint64_t now_ns)
{
	collector_look_at_place(c);
	streams_reclaim(c->streams);
	collector_look_at_mappings(c, now_ns);
	collector_record_modules(c);
	trigger_actions_poll(&c->triggers.runner);
	c->handover->lost_outside += programs_reap(
		c->session.dir, &c->session.file, &c->reaping, REAP_MOST,
		&(const struct program_reader){ collector_see_page, collector_see_losses, c });
	keep_ended_calls(c);
	archiver_poll(c->rotation.archiver);
	check_session_slots(c);
	check_runtime_room(c);
	check_names(c);
	check_lender(c);
	streams_impossible(c->streams, collector_now_ns(c));
	if (!session_is_findable(&c->session))
		c->stop = true; /* no program and no `duet stop` can find it any more */
	c->pass.periodic_ns = now_ns;
}

/* Whether everything recorded before @until_ns is written. */
static bool poll_kernel(struct collector *c, uint64_t until_ns)
{
	struct diag d = { "" };
	int more = 0;

	if (c->kernel && kernel_is_polled(c->kernel))
		more = kernel_poll(c->kernel, until_ns, &d);
	collector_note_write(c, &d);
	return more <= 0; /* after an error the data is lost and will not appear later */
}

/*
 * Milliseconds until the next pass: at most until open chunks must be read.  That long if no
 * program can write without a request to us before.
 */
static uint32_t next_pass_ms(struct collector *c)
{
	uint64_t now_ns = collector_now_ns(c), passed_ns = now_ns - c->pass.open_chunks_read_ns,
		 most_ns = partial_ns(c);
	uint32_t ms = passed_ns < most_ns ? (uint32_t)((most_ns - passed_ns) / MS) + 1
					  : POLL_LEAST_MS,
		 other_ms;

	assert(c->streams);
	other_ms = c->session.n_joined && !c->reaping.no_program_lives
			   ? streams_poll_interval(c->streams, now_ns)
			   : UINT32_MAX;
	ms = ms < other_ms ? ms : other_ms;
	if (looks_often(c)) {
		other_ms = c->mappings.next_ns > now_ns
				   ? (uint32_t)((c->mappings.next_ns - now_ns) / MS) + 1
				   : 1;
		ms = ms < other_ms ? ms : other_ms;
	}
	other_ms = rotate_due_ms(c, now_ns);
	ms = ms < other_ms ? ms : other_ms;
	/* Triggers poll files and losses, and some kernels do not report full buffers. */
	if ((c->triggers.set.n ||
	     (c->kernel && !c->kernel_wakes_driver && kernel_is_polled(c->kernel))) &&
	    ms > POLL_MS)
		ms = POLL_MS;
	return ms;
}

/* A pass may take long on a slow disk or after a burst, so it runs in slices. */
static void continue_pass(struct collector *c)
{
	struct collector_pass *p = &c->pass;
	struct diag d = { "" };

	assert(c->streams);
	p->is_open = streams_write(c->streams, monotonic_ns() + SLICE_NS, &d) > 0;
	if (d.text[0]) {
		collector_note_write(c, &d);
		c->output.write_trouble = d;
		p->written_ns = 0;
	} else if (!p->is_open && p->includes_open_chunks) {
		*c->output.write_trouble.text = 0; /* it tried to write everything */
	}
	c->schedule.pass_ms = POLL_LEAST_MS;
	if (p->is_open)
		return;
	if (!poll_kernel(c, p->written_ns) || streams_unwritten(c->streams))
		p->written_ns = 0;
	if (p->includes_open_chunks) {
		/* A writer may stall between its event's clock and its commit: a reader that follows
		 * would miss that event, so less is claimed. */
		if (p->written_ns > STALL_NS)
			p->written_ns -= STALL_NS;
		collector_record_clocks(c, p->written_ns);
		p->open_chunks_read_ns = p->begin_ns;
	}
	if (p->is_periodic)
		run_periodic_work(c, p->begin_ns);
	else if (looks_often(c) && p->begin_ns >= c->mappings.next_ns)
		collector_look_at_mappings(c, p->begin_ns);
	account_disk(c);
	rotate_if_due(c);
	c->schedule.pass_ms = next_pass_ms(c);
}

static void begin_pass(struct collector *c)
{
	uint64_t now_ns = collector_now_ns(c);
	struct collector_pass *p = &c->pass;
	struct diag d = { "" };

	assert(!c->pass.is_open);
	p->begin_ns = now_ns;
	p->includes_open_chunks = now_ns - p->open_chunks_read_ns >= partial_ns(c);
	p->is_periodic = p->includes_open_chunks && now_ns - p->periodic_ns >= SECOND_NS;
	p->written_ns = p->includes_open_chunks ? streams_complete_ns(c->streams, now_ns)
						: 0; /* before the scan */
	/* First: it counts what writers fill between two passes. */
	session_adjust_memory(&c->session, p->is_periodic);
	if (streams_scan(c->streams, p->includes_open_chunks, &d)) {
		collector_note_write(c, &d);
		c->output.write_trouble = d;
		p->written_ns = 0;
	}
	continue_pass(c);
}

void collector_pass(struct collector *c)
{
	session_expire(&c->session, monotonic_ns());
	trigger_watch_pass(&c->triggers);
	if (c->pass.is_open) {
		streams_look(c->streams);
		session_adjust_memory(&c->session, false);
	} else {
		begin_pass(c); /* its scan looks */
	}
}

void collector_watch(struct collector *c)
{
	trigger_watch_step(&c->triggers);
}

void collector_report(struct collector *c)
{
	const struct ctf_sum apps = ctf_ledger_read(&c->handover->apps.ledger),
			     kernel = ctf_ledger_read(&c->handover->kernel.ledger);
	struct recorder_counts n = { .events = apps.events + kernel.events,
				     .bytes = apps.bytes + kernel.bytes,
				     .lost = c->handover->lost_outside + collector_lost(c),
				     .duration_ns = collector_now_ns(c) - c->begin_ns };

	c->o->on_second(c->o->on_second_arg, &n);
}

/* ---------------------------------------------------------------- programs and requests */

static void answer_request(struct collector *c, const struct session_message *m)
{
	dispatch_request(c, m);
	trigger_watch_go_on(&c->triggers);
}

static void answer_plan_request(struct collector *c, const struct session_message *m)
{
	struct abi_plan_answer a = { .magic = ABI_PLAN_REQUEST_MAGIC };

	a.error = calls_pass_plan_request(&c->calls, &m->plan, m->pid, m->fd);
	if (a.error)
		(void)!send(m->fd, &a, sizeof a, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(m->fd); /* the planner has its own */
}

int collector_accept(struct collector *c)
{
	return session_accept(&c->session, monotonic_ns());
}

void collector_readable(struct collector *c, int i)
{
	assert(i >= 0 && i < SESSION_CONNECTIONS);
	session_readable(&c->session, i);
}

int collector_next(const struct collector *c)
{
	return session_next(&c->session);
}

void collector_read(struct collector *c, int i)
{
	uint64_t at_ns = collector_now_ns(c); /* before the program can record anything */
	struct session_message m;
	enum session_event e;

	assert(i >= 0 && i < SESSION_CONNECTIONS);
	if (c->session.connections[i].fd < 0)
		return;
	e = session_read_request(&c->session, i, &m);
	c->handover->n_joined = c->session.n_joined;
	if (e == SESSION_JOINED) {
		programs_joined(&c->reaping);
		streams_expect(c->streams, at_ns);
		c->schedule.pass_ms = c->schedule.pass_ms < POLL_MS ? c->schedule.pass_ms : POLL_MS;
		maps_join(c->maps, m.pid, at_ns);
		bounds_joined(c->bounds, m.pid, m.join.program);
		streams_process(c->streams, at_ns, m.join.pid, m.pid, m.join.program);
	} else if (e == SESSION_ASKED) {
		answer_request(c, &m);
	} else if (e == SESSION_WANTS_PLAN) {
		answer_plan_request(c, &m);
	}
}

void collector_end_turn(struct collector *c)
{
	enable_flush_batch(&c->enable_batch);
}

/* ---------------------------------------------------------------- the rest */

void collector_signal(struct collector *c, int signal, bool command)
{
	if (signal == SIGUSR1 || signal == SIGUSR2) {
		triggers_signal(&c->triggers.set, signal, collector_now_ns(c));
		trigger_watch_go_on(&c->triggers);
		return;
	}
	/* A terminal sends the first SIGINT to the command as well: the command decides. */
	if (signal != SIGINT || !command || ++c->interrupts > 1)
		c->stop = true;
}

void collector_ended(struct collector *c)
{
	c->stop = true;
}

bool collector_has_work(const struct collector *c)
{
	return c->pass.is_open || snapshot_is_open(&c->snapshot) ||
	       (c->session.is_growing && !c->stop);
}

void collector_work(struct collector *c)
{
	if (c->pass.is_open)
		continue_pass(c);
	if (c->session.is_growing && !c->stop)
		session_grow_memory(&c->session);
	if (snapshot_is_open(&c->snapshot)) {
		snapshot_step(&c->snapshot);
		trigger_watch_go_on(&c->triggers);
	}
}
