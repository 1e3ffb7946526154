/* SPDX-License-Identifier: MIT */
/*
 * collect/collector.h - the collector as a state machine: it is told what has happened, and acts.
 *
 * It waits for nothing and owns no loop, timer or signal.  Who drives it - collect/loop.c with
 * epoll, tests/sim with a seeded simulation - tells it of one event at a time and reads what it
 * wishes for: when the next pass is to be, whether there is work to go on with, whether it has come
 * to its end.
 *
 *   state       entered by                           takes
 *   made        collector_open                       start, finish
 *   running     collector_start, collector_resume    all events, finish
 *   stopping    an event that set `stop`             finish
 *
 * What outlives it when it is killed lies in shared memory: the session's board and pools, and
 * struct kept.  collector_resume goes on from these and from the files alone.
 *
 * It meets the world (clock, files, sockets, other processes) through libc's names only, which the
 * simulator takes over when it is linked: docs/design/collector.md, with states, events and
 * invariants.
 *
 * One thread.
 */
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "clock/clock.h"
#include "collect/session/programs.h"
#include "collect/session/filters.h"
#include "collect/handover.h"
#include "collect/drain/maps.h"
#include "collect/recorder.h"
#include "collect/session/session.h"
#include "collect/drain/snapshot.h"
#include "collect/drain/streams.h"
#include "collect/request/enable.h"
#include "collect/chunks/archiver.h"
#include "collect/trigger/actions.h"
#include "collect/trigger/hits.h"
#include "collect/trigger/scan.h"
#include "collect/trigger/engine.h"
#include "collect/session/default_events.h"
#include "kernel/kernel.h"

/* From the pools to the files, once. */
struct pass {
	bool is_open; /* it goes on: collector_work */
	bool partial; /* also of chunks that are open */
	uint64_t begin_ns;
	uint64_t written_ns; /* up to when everything will be in the files at its end; 0: not known
			      */
};

/* Stays where it is: parts of it know others by address. */
struct collector {
	const struct recorder_options *o; /* lent */
	struct handover *handover;	  /* lent */
	struct session session;
	struct filters filters;
	struct default_events wanted;
	struct streams *streams;
	struct kernel *kernel; /* NULL: none */
	bool kernel_reports;   /* when there is much to read: the driver then tells of a pass */
	struct snapshot_maker snapshot;
	struct enable_batch switches;
	struct triggers triggers;
	struct trigger_hits hits;
	struct trigger_scan *scan; /* NULL: there is no pool for it */
	struct trigger_runner acts;
	FILE *clock_file;
	struct maps *maps; /* NULL: none */
	char *modules; /* of the kernel, whose functions' names are written: files_again_kallsyms()
			*/
	struct reaping reaping;
	uint64_t clock_offset_ns; /* from the Epoch to the clock's zero */
	uint64_t begin_ns;	  /* 0: it did not begin */
	uint64_t partial_ns;	  /* when open chunks were last read */
	struct pass pass;
	uint32_t interrupts;
	struct recorder_result result;

	/* collect/chunks/rotate.c; pieces only if asked for */
	char base[PATH_MAX];	   /* pieces lie below it */
	char place[PATH_MAX];	   /* of the traces that are being written */
	FILE *trace_chunk_clock;   /* beside clock_file, which is the whole recording's */
	struct archiver *archiver; /* lent, or NULL */
	uint32_t trace_chunk;	   /* being written; 0: none */
	uint64_t trace_chunk_begin_ns;
	uint64_t rotated_bytes;	  /* written when it began */
	uint64_t rotate_again_ns; /* not before */
	uint32_t finished,
		unmarked; /* pieces: the last one; one that could not be marked so yet, or 0 */
	uint64_t unmarked_begin_ns; /* since the Epoch */

	/* What it wishes for. */
	uint32_t period_ms; /* until the next pass */
	uint32_t watch_ms;  /* between two calls of collector_watch; 0: none is needed */
	bool stop;
};

/* ---------------------------------------------------------------- from nothing to running: start.c
 */

/* What collector_finish takes without collector_open; both arguments are lent. */
#define COLLECTOR_NONE(options, memory)                                                            \
	((struct collector){ .o = (options), .handover = (memory), .session = SESSION_NONE })

/* collector_open - make of a COLLECTOR_NONE one that has session, files and kernel instance;
 * nothing runs yet.  Returns 0 or -errno; collector_finish in either case. */
int collector_open(struct collector *c, struct diag *d);
/* collector_start - let programs find the session, and switch their events on.  @command: the
 * process whose kernel events are wanted as well, or 0. */
int collector_start(struct collector *c, pid_t command, struct diag *d);
/* collector_resume - the collector before us was killed: go on where it ended (collect/resume.h).
 * @c is as it was after collector_start. */
int collector_resume(struct collector *c, struct diag *d);

/* ---------------------------------------------------------------- events: collector.c */

/* collector_pass - it is time: the period is over, or nobody has told anything for long.  Begins a
 * pass, and goes on with it for some milliseconds; does not begin another one before its end. */
void collector_pass(struct collector *c);
/* collector_watch - it is time to look at what triggers wait for. */
void collector_watch(struct collector *c);
/* collector_accept - somebody may be at session.listen_fd: lets one in.  The door's index, which is
 * to be watched; or -1. */
int collector_accept(struct collector *c);
/* collector_readable - something came through door @i.
 * collector_next - whose turn it is to be heard; -1: nobody waits.
 * collector_read - hear door @i.
 * collector_end_turn - enough for this turn: what was asked, and is done for all at once, is done.
 */
void collector_readable(struct collector *c, int i);
int collector_next(const struct collector *c);
void collector_read(struct collector *c, int i);
void collector_end_turn(struct collector *c);
/* collector_signal - SIGINT, SIGTERM or SIGHUP; SIGUSR1 and SIGUSR2 are for triggers.  @command:
 * one is running that a SIGINT was sent to, too. */
void collector_signal(struct collector *c, int signal, bool command);
/* collector_ended - the command did. */
void collector_ended(struct collector *c);
/* collector_has_work - something is half done: collector_work goes on with it, some milliseconds at
 * a time. */
bool collector_has_work(const struct collector *c);
void collector_work(struct collector *c);

/* ---------------------------------------------------------------- the end: finish.c */

/* collector_finish - write what remains, take back what programs were given, free.  The result in
 * c->result; 0 or -errno. */
int collector_finish(struct collector *c, struct diag *d);

/* ---------------------------------------------------------------- for these three */

static inline uint64_t collector_now_ns(const struct collector *c)
{
	return clock_now_ns(&c->session.clock);
}

/* The first trouble is told. */
void collector_note(struct collector *c, const struct diag *d);
/* Who records into the session, for a trace that begins now. */
void collector_note_programs(struct collector *c);
/* A reading of all clocks, and how far the files are: see files_add_clock. */
void collector_record_clocks(struct collector *c, uint64_t written_ns);
/* Names of what came into the kernel meanwhile. */
void collector_record_modules(struct collector *c);

#endif
