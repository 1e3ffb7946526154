/* SPDX-License-Identifier: MIT */
/*
 * analysis/wait/internal.h - the state of each thread and CPU during a pass, shared by the files of
 * wait.h:
 *
 *   events.c   changes of threads and CPUs by an event
 *   states.c   states of threads, and the accounts of their time
 *   waits.c    waits, and the causes of their ends
 *   holders.c  the threads that ran while others waited for their CPU
 *   chain.c    the path from the end of a wait back to its causes
 *   spans.c    spans from an event A to an event B
 *   wait.c     before the first event and after the last
 *   follow.c   states of threads for another analysis, event by event
 */
#ifndef ANALYSIS_WAIT_INTERNAL_H
#define ANALYSIS_WAIT_INTERNAL_H

#include "analysis/coverage.h"
#include "analysis/wait/chain.h"
#include "analysis/wait/follow.h"

struct wait_held { /* of a wait for a CPU: the time of one thread that had it */
	uint32_t holder, n;
	bool has_others; /* the CPU was passed on unseen since */
	uint64_t ns;
};

struct wait_thread {
	struct wait_segment now; /* the open state: its end is INT64_MAX */
	bool is_seen;
	bool is_fault; /* a page fault happened since it came to its CPU */
	bool in_fault; /* it began at fault_ns, outside of calls, and may go on */
	int64_t fault_ns;
	bool in_call;	 /* with call.call == 0: in a call that began before the recording */
	bool has_called; /* its system calls are recorded */
	bool waits;
	bool is_in_span;
	uint32_t cpu;		   /* plus 1, while it runs */
	uint32_t epoch;		   /* of all domains, when the span began */
	uint64_t n_contradictions; /* events that contradict the known state */
	struct call_made call;
	uint32_t object;	   /* of the call */
	struct wait_interval wait; /* open until it runs again */
	struct wait_account account;
	struct wait_span span;
	struct wait_segment *history; /* a ring of closed states */
	uint32_t n_history, first, room;
	uint32_t queue, next_queued; /* the CPU that it waits for, plus 1; the next thread there */
	int64_t queued_ns;
	struct wait_held *held;
	uint32_t n_held, n_held_rooms, most_held;
	uint32_t site; /* where it was switched out last, plus 1; 0: unknown */
};

struct wait_cpu {	    /* a CPU */
	uint32_t queue;	    /* the first thread that waits for it; 0: none */
	uint32_t thread;    /* plus 1; 0: unknown */
	bool has_completed; /* a request, since the interrupt now began */
	uint32_t device;    /* of that request; 0: unknown */
	uint32_t raised;    /* soft interrupts that the running thread itself raised, a bit by
			  * number */
};

struct wait_reading {
	struct wait_analysis *w;
	const struct wait_question *q;
	struct event_table *plans;
	bool *is_a, *is_b;	     /* by class */
	struct wait_thread *threads; /* by thread */
	uint32_t n_threads;
	struct wait_cpu *cpus; /* as pass_cpu() numbers them */
	uint32_t n_cpus;
	int64_t begin_ns; /* first time of the recording */
	bool has_begun;
	struct coverage coverage;
	/* follow.c: threads whose state the last event may have changed */
	uint32_t *changed;
	uint32_t n_changed, n_changed_rooms;
	struct irq_stack_event irq; /* of the last event */
	bool needs_no_arguments;    /* of calls */
	struct wait_closed *closed;
	uint32_t n_closed, n_closed_rooms;
	bool is_followed;
	struct wait_slice slices[WAIT_SLICES_MAX]; /* scratch */
};

/* Whether the question includes this thread; all threads; whether details of the thread are
 * recorded now. */
bool wait_is_target(struct wait_reading *r, uint32_t thread);
bool wait_is_overview(const struct wait_reading *r);
bool wait_is_asked(struct wait_reading *r, uint32_t thread);

/* The state of @thread; NULL: no memory, or no thread (0 or negative). */
struct wait_thread *wait_thread_of(struct wait_reading *r, int64_t thread);
/* wait_change_state - end the present state at @time_ns, charge its time, and begin state @to.
 * Returns 0 or -ENOMEM. */
int wait_change_state(struct wait_reading *r, uint32_t thread, uint8_t to, int64_t time_ns);
/* wait_mark_unknown - set the time since the last sure event to UNKNOWN. Returns 0 or -ENOMEM. */
int wait_mark_unknown(struct wait_reading *r, uint32_t thread, int64_t time_ns);
/* wait_names - from now on, objects of calls have names.  @paths: the recordings.  0 or -ENOMEM. */
int wait_names(struct wait_reading *r, const char *const *paths, int n_paths, struct diag *d);
/* wait_note - the state of @thread may change; does nothing unless a follower asks.  0 or -ENOMEM. */
int wait_note(struct wait_reading *r, uint32_t thread);
/* wait_prepare - make the tables of a pass.  wait_close - free all but the results. */
int wait_prepare(void *context);
void wait_close(struct wait_reading *r);
/* The state of a thread that is on a CPU. */
uint8_t wait_state_on(struct wait_reading *r, const struct wait_thread *t);
void wait_add_account(struct wait_account *to, const struct wait_account *from);

/*
 * holders.c.  All return 0 or -ENOMEM.
 *
 * wait_queue - @thread waits for @cpu, as pass_cpu() numbers them; negative: it is unknown which.
 * wait_cpu_passes - call before another thread gets @cpu.  @is_sure: no switch was missed there.
 * wait_queue_so_far - complete the holders of @thread up to @time_ns.
 * wait_queue_changes - its state ends, and @to begins.
 * wait_holders_settle - after the last event.
 */
int wait_queue(struct wait_reading *r, uint32_t thread, int64_t cpu, int64_t time_ns);
int wait_cpu_passes(struct wait_reading *r, uint32_t cpu, int64_t time_ns, bool is_sure);
int wait_queue_so_far(struct wait_reading *r, uint32_t thread, int64_t time_ns);
int wait_queue_changes(struct wait_reading *r, uint32_t thread, uint8_t to, int64_t time_ns);
int wait_holders_settle(struct wait_reading *r);
void wait_holders_free(struct wait_reading *r);

void wait_begin_wait(struct wait_thread *t, uint32_t thread, bool is_blocked, int64_t time_ns);
void wait_end_wait(struct wait_reading *r, struct wait_thread *t, int64_t time_ns);
/* wait_follow_back - compute the path of the wait that ends now and add it to the sums. Returns 0
 * or -ENOMEM. */
int wait_follow_back(struct wait_reading *r, struct wait_thread *t, int64_t time_ns);
/* wait_on_exec - @thread executes a program. Its time before that is left out if it waited for
 * duet, which starts the command that it records when all is ready. Returns 0 or -ENOMEM. */
int wait_on_exec(struct wait_reading *r, uint32_t thread, int64_t time_ns);
/* @target_cpu: where the thread will run, as pass_cpu() numbers them; negative: unknown. */
int wait_on_waking(struct wait_reading *r, int64_t woken, uint32_t waker, uint32_t cpu,
		   int64_t target_cpu, int64_t time_ns);

int wait_on_mark(struct wait_reading *r, const struct trace_event *e, uint32_t thread, bool is_a,
		 bool is_b);
void wait_forget_span(struct wait_thread *t);

/* The table of all event classes; sets the flags of recorded kinds in @w; NULL: no memory. */
struct event_table *wait_plan(struct wait_analysis *w);
int wait_on_event(void *context, struct pass *run, const struct trace_event *e, uint32_t thread);
int wait_on_lost(void *context, struct pass *run, const struct trace_event *e);

/* wait_keep - remember the closed state @s. Without memory it is dropped, and that time becomes
 * UNKNOWN. */
void wait_keep(struct wait_thread *t, const struct wait_segment *s);

/* wait_part_add - charge @ns from @at_ns on to the part equal to @like. */
int wait_part_add(struct wait_parts *p, const struct wait_part *like, uint64_t ns, int64_t at_ns);
void wait_parts_sort(struct wait_parts *p); /* most time first */

/*
 * wait_chain - split [@begin_ns, @end_ns] of a wait that @waker ended into slices by
 * cause.
 *
 * @threads, @n_threads: by thread; each `now` is its open state.
 * @slices: room for WAIT_SLICES_MAX; filled by descending time.
 *
 * Returns the number of slices; they cover the interval without gaps.
 */
uint32_t wait_chain(const struct wait_thread *threads, uint32_t n_threads, uint32_t waker,
		    int64_t begin_ns, int64_t end_ns, struct wait_slice *slices);

#endif
