/* SPDX-License-Identifier: MIT */
/*
 * analysis/wait/internal.h - what is known of each thread while a recording is read, shared by the
 * files of wait.h:
 *
 *   events.c   what an event says of threads and CPUs
 *   states.c   a thread goes from state to state; whose account the time goes to
 *   waits.c    waits, and what ended them
 *   chain.c    from a wait's end back: what it was spent on
 *   spans.c    from an event A to an event B
 *   wait.c          before the first event and after the last
 */
#ifndef ANALYSIS_WAIT_INTERNAL_H
#define ANALYSIS_WAIT_INTERNAL_H

#include "analysis/coverage.h"
#include "analysis/wait/wait.h"

struct wait_segment {
	int64_t begin_ns, end_ns;
	uint8_t state;
	uint32_t call;	/* plus 1 */
	uint32_t waker; /* BLOCKED: who ended it; 0: no thread */
	struct wait_cause cause;
};

struct wait_thread {		 /* of a thread */
	struct wait_segment now; /* goes on: its end is INT64_MAX */
	bool is_seen;
	bool is_fault;	 /* a page fault since it came to its CPU */
	bool in_call;	 /* with call.call == 0: in one that was begun before the recording */
	bool has_called; /* its system calls are recorded */
	bool waits;
	bool is_in_span;
	uint32_t cpu;		   /* plus 1, while it runs */
	uint32_t epoch;		   /* of all, when the span began */
	uint64_t n_contradictions; /* times that it was where it could not be */
	struct call_made call;
	struct wait_interval wait; /* until it runs again */
	struct wait_account account;
	struct wait_span span;
	struct wait_segment *kept; /* a ring */
	uint32_t n_kept, first, room;
};

struct wait_site {	    /* a CPU */
	uint32_t thread;    /* plus 1; 0: unknown */
	bool has_completed; /* a request, since the interrupt now began */
	uint32_t device;    /* whose; 0: unknown */
	uint32_t raised; /* soft interrupts, by number, that the thread there has raised itself */
};

struct wait_reading {
	struct wait_analysis *w;
	const struct wait_question *q;
	struct event_table *plans;
	bool *is_a, *is_b;	     /* by class */
	struct wait_thread *threads; /* by thread */
	uint32_t n_incarnations;
	struct wait_site *places; /* as pass_cpu() numbers them */
	uint32_t n_places;
	int64_t begin_ns; /* of the recording */
	bool has_begun;
	struct coverage follow;
	struct wait_slice slices[WAIT_SLICES_MAX]; /* scratch */
};

/* Whether the question is about this thread; about all; whether its details are wanted now. */
bool wait_is_target(struct wait_reading *r, uint32_t thread);
bool wait_is_overview(const struct wait_reading *r);
bool wait_is_asked(struct wait_reading *r, uint32_t thread);

/* Of @thread; NULL: without memory, or no thread (0 or negative). */
struct wait_thread *wait_thread_of(struct wait_reading *r, int64_t thread);
/* wait_turn - the state it was in ends at @time_ns, and its time is charged; @to begins.  Returns 0
 * or -ENOMEM. */
int wait_turn(struct wait_reading *r, uint32_t thread, uint8_t to, int64_t time_ns);
/* wait_contradict - what was believed of it since the last sure event is not so.  Returns 0 or
 * -ENOMEM. */
int wait_contradict(struct wait_reading *r, uint32_t thread, int64_t time_ns);
/* The state of who is on a CPU. */
uint8_t wait_state_on(struct wait_reading *r, const struct wait_thread *l);
void wait_add_account(struct wait_account *to, const struct wait_account *from);

void wait_begin_wait(struct wait_thread *l, uint32_t thread, bool is_blocked, int64_t time_ns);
void wait_end_wait(struct wait_reading *r, struct wait_thread *l, int64_t time_ns);
/* wait_follow_back - the path of the wait that ends now, and what it adds to the whole.  Returns 0
 * or -ENOMEM. */
int wait_follow_back(struct wait_reading *r, struct wait_thread *l, int64_t time_ns);
/* wait_begin_anew - @thread executes a program.  What it did before is left out if it waited for
 * duet, which lets the command that it records begin when all is ready.  Returns 0 or -ENOMEM. */
int wait_begin_anew(struct wait_reading *r, uint32_t thread, int64_t time_ns);
int wait_on_waking(struct wait_reading *r, int64_t woken, uint32_t waker, uint32_t cpu,
		   int64_t time_ns);

int wait_on_mark(struct wait_reading *r, const struct trace_event *e, uint32_t thread, bool is_a,
		 bool is_b);
void wait_forget_span(struct wait_thread *l);

/* The plan of all event classes, and which of them there are in `w`; NULL: no memory. */
struct event_table *wait_plan(struct wait_analysis *w);
int wait_on_event(void *context, struct pass *run, const struct trace_event *e, uint32_t thread);
int wait_on_lost(void *context, struct pass *run, const struct trace_event *e);

/* wait_keep - remember that @s is over.  Without memory it is forgotten, which shows as UNKNOWN. */
void wait_keep(struct wait_thread *l, const struct wait_segment *s);

/* wait_part_add - charge @ns from @at_ns on to the part like @like. */
int wait_part_add(struct wait_parts *p, const struct wait_part *like, uint64_t ns, int64_t at_ns);
void wait_parts_finalize(struct wait_parts *p); /* most time first */

/*
 * wait_chain - what [@begin_ns, @end_ns] of thread @of, which @waker ended, was spent on.
 *
 * @lives, @n_incarnations: by thread; each `now` is its segment that goes on.
 * @pieces: room for WAIT_SLICES_MAX; filled by descending time.
 *
 * Returns how many pieces; they cover the interval without gaps.
 */
uint32_t wait_chain(const struct wait_thread *threads, uint32_t n_incarnations, uint32_t waker,
		    int64_t begin_ns, int64_t end_ns, struct wait_slice *slices);

#endif
