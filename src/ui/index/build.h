/* SPDX-License-Identifier: MIT */
/*
 * ui/index/build.h - the state of the builder, shared by its files:
 *
 *   build.c	the loop: events in their order, progress
 *   hosts.c	rows of hosts, and the groups below them
 *   write.c	entries of tracks, published some thousand events at a time
 *   threads.c	rows of threads and processes; states, system calls, wakeups
 *   spans.c	pairs of an application's events; events as points
 *   devices.c	interrupts, disks, counters
 *   functions.c	calls of functions, read in a pass of their own
 */
#ifndef UI_INDEX_BUILD_H
#define UI_INDEX_BUILD_H

#include "analysis/public.h"
#include "analysis/timeline/timeline.h"
#include "analysis/wait/public.h"
#include "ui/index/ahead.h"
#include "ui/index/internal.h"

enum group { GROUP_CPUS, GROUP_IRQS, GROUP_DISKS, GROUP_COUNTERS, GROUPS };

enum { SPANS_DEEPEST = 16, IRQ_CPUS = 64 };

/* A track as the builder has it; by its number.  Zeroes: no entry yet. */
struct writer {
	struct track_entry *tail; /* that readers do not see yet */
	uint32_t n, room;
	int64_t last_ns, open_ns;
	uint32_t open_what;
	bool has_open, is_dirty;
};

/* A thread, by its number in the pass. */
struct built_thread {
	uint32_t row;				    /* plus 1 */
	uint32_t states, syscalls, events, samples; /* tracks, plus 1; 0: none yet */
	uint32_t spans[SPANS_DEEPEST];
	uint32_t open[SPANS_DEEPEST]; /* pairs of the open spans (struct timeline_plan) */
	uint32_t n_open;
	uint8_t state;	  /* enum ui_state: now */
	int64_t sure_ns;  /* the open state is final up to here */
	uint32_t cpu;	  /* as in struct wait_view */
	int64_t first_ns; /* of its first state */
	int64_t last_ns;  /* of its last event or change */
	int64_t woken_ns; /* INT64_MIN: not woken */
	uint32_t waker;	  /* thread; 0: none */
};

struct builder {
	struct ui_index *x;
	struct trace *trace;
	struct wait_follow *f;
	struct pass *pass;
	struct writer *writers; /* by track */
	uint32_t n_writers;
	uint32_t *dirty; /* tracks to publish */
	uint32_t n_dirty, n_dirty_rooms;
	struct ui_wake *wakes; /* to publish */
	uint32_t n_wakes, n_wake_rooms;
	struct built_thread *threads;
	uint32_t n_threads;
	struct built_cpu {
		uint32_t row, running; /* plus 1 */
		uint32_t thread;       /* that runs, plus 1 */
	} * cpus;
	uint32_t n_cpus;
	struct built_class {
		uint32_t name; /* plus 1; 0: not used yet */
		const char *text;
		size_t text_size;
		uint8_t is; /* enum class_is */
		const struct ctf_op *field[4];
	} * classes;
	uint32_t n_classes, n_class_rooms;
	struct timeline_plan *plans; /* by class */
	struct irq_row {	     /* by source and host */
		uint32_t row;
		uint32_t track[IRQ_CPUS]; /* by CPU, plus 1 */
	} * irq_rows;
	uint32_t n_irq_rows;
	struct disk {
		uint64_t number;
		uint32_t host, row;
		uint32_t lanes[8]; /* tracks, plus 1 */
		uint64_t sector[8];
		int64_t since[8]; /* INT64_MIN: free */
	} * disks;
	uint32_t n_disks;
	struct counter {
		uint32_t class, host, track; /* track plus 1 */
		int64_t key, value;
	} * counters;
	uint32_t n_counters;
	struct built_host {
		const char *name;
		uint32_t row;		 /* plus 1; 0: there is one host */
		uint32_t groups[GROUPS]; /* rows, plus 1 */
	} * hosts;
	uint32_t n_hosts, n_host_rooms;
	uint32_t *host_of; /* by source */
	uint32_t n_host_of, n_sources;
	int64_t now_ns;	    /* since the begin of the index */
	int64_t *stream_ns; /* by stream: the time of its last event */
	uint32_t n_streams;
	bool has_begun;
	bool has_begun_ns;	       /* status.begin_ns is set */
	bool has_caught_up, has_ended; /* of a recording that is followed: all of it that is known
					 * was read; it will not grow */
	uint64_t sync_at;	       /* events */
	struct ahead *ahead;	       /* NULL: events are read here */
	pthread_mutex_t damages;       /* of: */
	char damage[512];	       /* as in struct ui_index_status */
};

enum class_is {
	CLASS_POINT, /* an event without another picture */
	CLASS_SHOWN, /* shown by states or interrupts */
	CLASS_ENTRY, /* of a system call */
	CLASS_EXIT,  /* field 0: the result */
	CLASS_SPAN,  /* of an application: it opens or closes one */
	CLASS_SAMPLE,
	CLASS_BLOCK_ISSUE,
	CLASS_BLOCK_COMPLETE,
	CLASS_COUNTER, /* field 0: the value; field 1: the key, or NULL */
	CLASS_TALLY,   /* field 0: adds to the counter; the event is a point too */
	CLASS_LEVEL,   /* of an application: field 0 is the value, one counter a process; a point */
	CLASS_HIDDEN,  /* state dumps */
};

/* All return 0 or -ENOMEM.  The builder's thread calls them without the lock; rows, tracks and names
 * that it adds take the lock themselves. */
int write_add(struct builder *b, struct writer *w, int64_t begin_ns, int64_t end_ns, uint32_t what,
	      int64_t aux);
/* As track_begin(), track_end(), track_drop(). */
int write_begin(struct builder *b, struct writer *w, int64_t ns, uint32_t what);
int write_end(struct builder *b, struct writer *w, int64_t ns, int64_t aux);
int write_drop(struct builder *b, struct writer *w);
int write_wake(struct builder *b, const struct ui_wake *wake);
/* build_write - all that was written is in the tracks.  The lock is held. */
int build_write(struct builder *b);
void build_forget_writers(struct builder *b);
/* build_publish - the same, with progress; takes the lock. */
int build_publish(struct builder *b);

int build_thread_event(struct builder *b, const struct trace_event *e, uint32_t thread);
int build_states(struct builder *b);
/* build_call - entry or exit of a system call.  build_steady_call - the same where wait_follow_call()
 * said what it does to the thread's state. */
int build_call(struct builder *b, const struct trace_event *e, uint32_t thread);
int build_steady_call(struct builder *b, const struct trace_event *e,
		      const struct wait_closed *closed, uint8_t state);
int build_lost(struct builder *b, const struct trace_event *e);
/* At the end: wakeups of threads that did not run again. */
int build_finish_waits(struct builder *b);
int64_t build_row(struct builder *b, const struct ui_row *row);
/* build_text - the number of a name, which is added if it is new. */
int64_t build_text(struct builder *b, const char *text, size_t size);
int build_sync_now(struct builder *b);
/* The row of @thread, made if needed; -ENOMEM. */
int64_t build_thread_row(struct builder *b, uint32_t thread);
struct built_thread *build_thread(struct builder *b, uint32_t thread); /* NULL: no memory */
/* *@track, plus 1, of @row: made if it is 0. */
int build_track(struct builder *b, uint32_t *track, uint32_t row, uint8_t kind, uint8_t depth);
/* build_hosts - rows of hosts, if there are several: at the begin, and when there are more sources.
 * build_top - the parent of a host's rows of top level, plus 1; 0: none.  build_host_of - the host of an
 * event.  build_group - the number of a group row, made if needed. */
int build_hosts(struct builder *b);
uint32_t build_top(const struct builder *b, uint32_t host);
static inline uint32_t build_host_of(const struct builder *b, const struct trace_event *e)
{
	return b->host_of[e->stream->source->number];
}
int64_t build_group(struct builder *b, uint32_t host, enum group group);
/* build_sync - names, processes and lives of rows, as far as they are known now.  The lock is held. */
int build_sync(struct builder *b);

int build_classes(struct builder *b);
/* build_name - the name of a class gets its number. */
int build_name(struct builder *b, struct built_class *c);
int build_point(struct builder *b, const struct trace_event *e, uint32_t thread);
int build_span(struct builder *b, const struct trace_event *e, uint32_t thread);
int build_device(struct builder *b, const struct trace_event *e, uint32_t thread);
int build_irq(struct builder *b, const struct trace_event *e);
int build_functions(struct builder *b, struct diag *d);

#endif
