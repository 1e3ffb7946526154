/* SPDX-License-Identifier: MIT */
/*
 * collect/collector.h - the collector as a state machine: each call reports one event, and the
 * collector acts on it.
 *
 * It never waits and owns no loop, timer or signal.  Its driver (collect/loop.c with epoll,
 * tests/sim with a seeded simulation) reports one event at a time.  The driver reads from it when
 * the next pass is due, whether work is left, and whether it has finished.
 *
 *   state       entered by                           accepts
 *   made        collector_open                       start, finish
 *   running     collector_start, collector_resume    all events, finish
 *   stopping    an event that set `stop`             finish
 *
 * State that survives when the process is killed lies in shared memory: the session memory, the
 * pools, and struct handover.  collector_resume continues from these and the files alone.
 *
 * It uses clock, files, sockets and other processes only through libc functions, which the
 * simulator replaces at link time: docs/design/collector.md, with states, events and invariants.
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
#include "collect/calls/keep.h"
#include "collect/session/programs.h"
#include "collect/session/filters.h"
#include "collect/handover/handover.h"
#include "collect/drain/maps.h"
#include "collect/options/options.h"
#include "collect/options/result.h"
#include "collect/session/session.h"
#include "collect/drain/snapshot.h"
#include "collect/drain/streams.h"
#include "collect/request/enable.h"
#include "collect/chunks/archiver.h"
#include "collect/chunks/place.h"
#include "collect/trigger/watch.h"
#include "collect/session/default_events.h"
#include "kernel/kernel.h"

/* A transfer of data from the pools to the files.  Written by events.c. */
struct collector_pass {
	bool is_open; /* in progress: collector_work continues it */
	bool includes_open_chunks;
	bool is_periodic; /* includes the work of every second */
	uint64_t begin_ns;
	uint64_t written_ns; /* at its end the files hold everything up to here; 0: unknown */
	uint64_t open_chunks_read_ns; /* when open chunks were last read */
	uint64_t periodic_ns;	      /* when the work of every second was last done */
};

/* When the driver calls next; for collector_watch see triggers.period_ms.  Written by events.c. */
struct collector_schedule {
	uint32_t pass_ms; /* until the next collector_pass */
};

/*
 * Files besides the streams.  Written by start.c, and by rotate.c when a trace chunk begins.
 */
struct collector_output {
	char recording[PATH_MAX]; /* its directory; trace chunks lie below it */
	char traces[PATH_MAX];	  /* directory of the traces being written */
	FILE *clock_file;	  /* of the whole recording */
	FILE *trace_chunk_clock;  /* of this trace chunk; NULL: no trace chunks */
	char *kernel_modules;	  /* whose symbols are written: files_again_kallsyms() */
	uint64_t clock_offset_ns; /* from the Epoch to the clock's zero */
	struct place place;	  /* the directory of the recording */
	/* Why events are not written now, or are written where no path leads; "": all is well.  Of
	 * the directory: collector_look_at_place; and of the last pass. */
	struct diag place_trouble, write_trouble;
};

/* The trace chunks of the recording.  Written by rotate.c. */
struct collector_rotation {
	struct archiver *archiver;  /* borrowed, or NULL */
	uint32_t trace_chunk;	    /* number of the one being written; 0: no trace chunks */
	uint32_t finished;	    /* number of the last finished one */
	uint32_t unmarked;	    /* of one that could not be marked as finished yet, or 0 */
	uint64_t begin_ns;	    /* of the one being written */
	uint64_t unmarked_begin_ns; /* of the unmarked one; since the Epoch */
	uint64_t bytes_before;	    /* size of the recording when this trace chunk began */
	uint64_t retry_ns;	    /* earliest next attempt after a failure */
	uint64_t wake_ns;	    /* monotonic; earliest next wake of the archiver */
};

/*
 * Must not be moved: its members point to each other.  A member without a note is written by the
 * functions of its own header only.
 */
struct collector {
	const struct tenants_refused *refused; /* shared; NULL: there are no tenants */
	const struct recorder_options *o;      /* borrowed */
	struct handover *handover;	       /* borrowed */
	struct session session;
	struct filters filters;
	struct default_events default_events;
	struct enable_batch enable_batch;
	struct bounds *bounds; /* of the pools; shared with successors */
	struct streams *streams;
	struct snapshot_maker snapshot;
	struct maps *maps; /* NULL: not recorded */
	struct {
		uint64_t looked_ns, next_ns;   /* session time */
	} mappings;			       /* of programs that need not join: events.c */
	struct kernel *kernel;		       /* NULL: not recorded */
	struct kernel_opening *kernel_opening; /* between the steps of collector_open; or NULL */
	bool kernel_wakes_driver; /* when its buffers fill; the driver then calls collector_pass */
	struct reaping reaping;
	struct calls calls;
	struct trigger_watch triggers;
	struct collector_output output;
	struct collector_rotation rotation;
	struct collector_pass pass;
	struct collector_schedule schedule;
	uint64_t begin_ns;   /* start.c; 0: not started */
	uint32_t interrupts; /* SIGINTs received */
	bool stop;	     /* set by requests, signals and triggers: the driver ends its loop */
	struct recorder_result result;
};

/* ---------------------------------------------------------------- opening, starting: start.c */

/*
 * Initial value; collector_finish accepts it without collector_open.  Both arguments are borrowed.
 */
#define COLLECTOR_NONE(options, memory)                                                            \
	((struct collector){ .o = (options),                                                       \
			     .handover = (memory),                                                 \
			     .calls = CALLS_NONE,                                                  \
			     .output.place = PLACE_NONE,                                           \
			     .session = SESSION_NONE })

/*
 * collector_open - create session, files and kernel instance; nothing runs yet.
 *
 * @c: a COLLECTOR_NONE.  Returns 0 or -errno; call collector_finish in either case.
 */
int collector_open(struct collector *c, struct diag *d);
/*
 * collector_start - let programs find the session, and enable their events.
 *
 * @command: a process whose kernel events are recorded too, or 0.
 */
int collector_start(struct collector *c, pid_t command, struct diag *d);
/*
 * collector_resume - continue the work of a killed collector (collect/resume.h).
 *
 * @c: as it was after collector_start.
 */
int collector_resume(struct collector *c, struct diag *d);

/* ---------------------------------------------------------------- events: events.c */

/*
 * collector_pass - the period is over, or a poll is needed.
 *
 * Begins a pass and continues it for some milliseconds.  If a pass is in progress it begins no
 * other.
 */
void collector_pass(struct collector *c);
/* collector_watch - check the conditions of triggers. */
void collector_watch(struct collector *c);
/* collector_report - call the option on_second with the counts so far. */
void collector_report(struct collector *c);
/*
 * collector_accept - accept one connection from session.listen_fd, if any.
 *
 * Returns the connection's index, whose descriptor the driver then watches; or -1.
 */
int collector_accept(struct collector *c);
/*
 * collector_readable - connection @i is readable.
 *
 * collector_next - the connection to read next; -1: none.
 *
 * collector_read - read from connection @i.
 *
 * collector_end_turn - end of a turn: carry out the requests that were collected in a batch.
 */
void collector_readable(struct collector *c, int i);
int collector_next(const struct collector *c);
void collector_read(struct collector *c, int i);
void collector_end_turn(struct collector *c);
/*
 * collector_signal - SIGINT, SIGTERM or SIGHUP arrived; SIGUSR1 and SIGUSR2 are for triggers.
 *
 * @command: a command is running, which also received the SIGINT.
 */
void collector_signal(struct collector *c, int signal, bool command);
/* collector_ended - the command has ended. */
void collector_ended(struct collector *c);
/*
 * collector_has_work - a pass or a snapshot is in progress, or pools grow after the first join.
 *
 * collector_work - continue it for some milliseconds.
 */
bool collector_has_work(const struct collector *c);
void collector_work(struct collector *c);

/* ---------------------------------------------------------------- the end: finish.c */

/*
 * collector_finish - write what remains, release the programs, free everything.
 *
 * The result is in c->result.  Returns 0 or -errno.
 */
int collector_finish(struct collector *c, struct diag *d);

/* ---------------------------------------------------------------- for the files of collect */

static inline uint64_t collector_now_ns(const struct collector *c)
{
	return clock_now_ns(&c->session.clock);
}

/* Keeps the first problem for the result. */
void collector_note(struct collector *c, const struct diag *d);
/* The same, unless the disk budget refused a packet: that has counts of its own. */
void collector_note_write(struct collector *c, const struct diag *d);
/* The events lost so far in pools, and of the kernel. */
uint64_t collector_lost(const struct collector *c);
/* collector_count_disk - count the recording for the disk budget, if that is due or @at_once. */
void collector_count_disk(struct collector *c, bool at_once);
/* Compares a page that is read for the last time with what the rules ask for. */
void collector_see_page(void *collector, const struct program *a);
/* Notes why it could not deliver @n events; returns how many of them count. */
uint64_t collector_see_losses(void *collector, const struct program *a, uint64_t n);
/* The same without the reason: 0 if there cannot be so many, which is noted once. */
uint64_t collector_count_losses(void *collector, const struct program *a, uint64_t n);
/* Records the names of all programs of the session, for a trace that begins now. */
void collector_note_programs(struct collector *c);
/* Records all clocks, and how far the files are: see files_add_clock. */
void collector_record_clocks(struct collector *c, uint64_t written_ns);
/* Records symbols of kernel modules loaded meanwhile. */
void collector_record_modules(struct collector *c);
/* collector_look_at_place - notice that the recording's directory is gone or read-only. */
void collector_look_at_place(struct collector *c);
/* collector_look_at_mappings - record the mappings of programs that are new or have others. */
void collector_look_at_mappings(struct collector *c, uint64_t now_ns);

#endif
