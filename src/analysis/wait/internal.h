/* SPDX-License-Identifier: MIT */
/*
 * analysis/wait/internal.h - what is known of each thread while a recording is read, shared by the files of wait.h:
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

struct why_segment {
	int64_t begin_ns, end_ns;
	uint8_t state;
	uint32_t call; /* plus 1 */
	uint32_t waker; /* BLOCKED: who ended it; 0: no thread */
	struct why_cause cause;
};

struct life { /* of a thread */
	struct why_segment now; /* goes on: its end is INT64_MAX */
	bool is_seen;
	bool is_fault; /* a page fault since it came to its CPU */
	bool in_call; /* with call.call == 0: in one that was begun before the recording */
	bool has_called; /* its system calls are recorded */
	bool waits;
	bool is_in_span;
	uint32_t cpu; /* plus 1, while it runs */
	uint32_t epoch; /* of all, when the span began */
	uint64_t n_torn; /* times that it was where it could not be */
	struct call_made call;
	struct why_wait wait; /* until it runs again */
	struct why_account account;
	struct why_span span;
	struct why_segment *kept; /* a ring */
	uint32_t n_kept, first, room;
};

struct why_place { /* a CPU */
	uint32_t thread; /* plus 1; 0: unknown */
	bool has_completed; /* a request, since the interrupt now began */
	uint32_t device; /* whose; 0: unknown */
	uint32_t raised; /* soft interrupts, by number, that the thread there has raised itself */
};

struct why_reading {
	struct why *w;
	const struct why_question *q;
	struct plan *plans;
	bool *is_a, *is_b; /* by class */
	struct life *lives; /* by thread */
	uint32_t n_lives;
	struct why_place *places; /* as run_cpu() numbers them */
	uint32_t n_places;
	int64_t begin_ns; /* of the recording */
	bool has_begun;
	struct follow follow;
	struct why_piece pieces[WHY_PIECES_MAX]; /* scratch */
};

/* Whether the question is about this thread; about all; whether its details are wanted now. */
bool why_is_target(struct why_reading *r, uint32_t thread);
bool why_is_overview(const struct why_reading *r);
bool why_is_asked(struct why_reading *r, uint32_t thread);

/* Of @thread; NULL: without memory, or no thread (0 or negative). */
struct life *why_life_of(struct why_reading *r, int64_t thread);
/* why_turn - the state it was in ends at @time_ns, and its time is charged; @to begins.  Returns 0 or -ENOMEM. */
int why_turn(struct why_reading *r, uint32_t thread, uint8_t to, int64_t time_ns);
/* why_tear - what was believed of it since the last sure event is not so.  Returns 0 or -ENOMEM. */
int why_tear(struct why_reading *r, uint32_t thread, int64_t time_ns);
/* The state of who is on a CPU. */
uint8_t why_state_on(struct why_reading *r, const struct life *l);
void why_add_account(struct why_account *to, const struct why_account *from);

void why_begin_wait(struct life *l, uint32_t thread, bool is_blocked, int64_t time_ns);
void why_end_wait(struct why_reading *r, struct life *l, int64_t time_ns);
/* why_follow_back - the path of the wait that ends now, and what it adds to the whole.  Returns 0 or -ENOMEM. */
int why_follow_back(struct why_reading *r, struct life *l, int64_t time_ns);
/* why_begin_anew - @thread executes a program.  What it did before is left out if it waited for duet, which lets the command
 * that it records begin when all is ready.  Returns 0 or -ENOMEM. */
int why_begin_anew(struct why_reading *r, uint32_t thread, int64_t time_ns);
int why_see_waking(struct why_reading *r, int64_t woken, uint32_t waker, uint32_t cpu, int64_t time_ns);

int why_see_mark(struct why_reading *r, const struct trace_event *e, uint32_t thread, bool is_a, bool is_b);
void why_forget_span(struct life *l);

/* The plan of all event classes, and which of them there are in `w`; NULL: no memory. */
struct plan *why_plan(struct why *w);
int why_see(void *context, struct run *run, const struct trace_event *e, uint32_t thread);
int why_see_lost(void *context, struct run *run, const struct trace_event *e);

/* why_keep - remember that @s is over.  Without memory it is forgotten, which shows as UNKNOWN. */
void why_keep(struct life *l, const struct why_segment *s);

/* why_part_add - charge @ns from @at_ns on to the part like @like. */
int why_part_add(struct why_parts *p, const struct why_part *like, uint64_t ns, int64_t at_ns);
void why_parts_settle(struct why_parts *p); /* most time first */

/*
 * why_chain - what [@begin_ns, @end_ns] of thread @of, which @waker ended, was spent on.
 *
 * @lives, @n_lives: by thread; each `now` is its segment that goes on.
 * @pieces: room for WHY_PIECES_MAX; filled by descending time.
 *
 * Returns how many pieces; they cover the interval without gaps.
 */
uint32_t why_chain(const struct life *lives, uint32_t n_lives, uint32_t waker, int64_t begin_ns,
		   int64_t end_ns, struct why_piece *pieces);

#endif
