/* SPDX-License-Identifier: MIT */
/*
 * analysis/wait/wait.h - where the time of a thread went, and which threads it waited for.
 *
 * A thread is in one state at every moment, and its states add up to its time. Switches, wakeups
 * and system calls begin and end them:
 *
 *   on a CPU    IRQ in an interrupt, else KERNEL in a system call, or in a page fault up to its last
 *               recorded step; else USER
 *   off CPU     BLOCKED from the switch until it is woken (sched_waking), then RUNNABLE until
 *               its switch-in; PREEMPTED if it was switched out while it could run
 *   UNKNOWN     before it was first seen; around a loss; if two events contradict each other,
 *               the whole time since its last sure event
 *
 * The time of a wait is charged to the states of the waker at that time. Where the waker waited
 * too, it is charged to the states of its own waker, and so on (the critical path: Giraldeau and Dagenais, "Wait
 * Analysis of Distributed Systems Using Kernel Tracing", IEEE TPDS 27(8), 2016, here within one
 * machine). The slices of a wait add up to it. A thread that an interrupt wakes has waited for a
 * device or a timer: there a path ends. Of each thread the newest WAIT_KEPT states are kept;
 * earlier ones are UNKNOWN.
 */
#ifndef ANALYSIS_WAIT_WAIT_H
#define ANALYSIS_WAIT_WAIT_H

#include "analysis/names/objects.h"
#include "analysis/syscalls/calls.h"
#include "analysis/irq_stack.h"
#include "analysis/devices.h"
#include "analysis/samples.h"

enum wait_state {
	WAIT_UNKNOWN,
	WAIT_USER,
	WAIT_KERNEL,
	WAIT_IRQ,
	WAIT_PREEMPTED,
	WAIT_RUNNABLE,
	WAIT_BLOCKED,
	WAIT_STATES,
	WAIT_GONE = WAIT_STATES, /* not created yet, or dead: no time is charged */
};
enum { WAIT_KEPT = 1024, WAIT_DEEPEST = 16, WAIT_SLICES_MAX = 4096, WAIT_WAITS_OF_ONE = 8 };

/* The cause of a wait's end, if it was not a thread. */
enum wait_cause_kind { CAUSE_NONE, CAUSE_IRQ, CAUSE_SOME_IRQ, CAUSE_BLOCK_IO, CAUSE_TIMER };
struct wait_cause {
	uint8_t kind;
	uint32_t source; /* CAUSE_IRQ: index in `irqs`; CAUSE_BLOCK_IO: the device's number, 0 if
			  * unknown */
};

/* The sum of the time of one kind. */
struct wait_part {
	uint8_t state;
	bool is_fault;		 /* KERNEL or BLOCKED outside of calls, in a page fault */
	uint32_t call;		 /* plus 1; 0: outside of calls */
	uint32_t object;	 /* BLOCKED: of the call, as objects_at() has it; 0: none */
	uint32_t thread;	 /* in chains: the thread; else 0 */
	struct wait_cause cause; /* in chains: the cause of the end */
	uint32_t site;	 /* BLOCKED: where in the program, as wait_analysis.sites has it, plus 1 */
	uint32_t holder; /* in chains, PREEMPTED: the thread that came to the CPU; 0: unknown */
	uint32_t waiter; /* private: in sums of holders */
	bool has_others; /* of a holder: others may have run, too */
	uint64_t n, ns, max_ns;
	int64_t max_at_ns;
	uint32_t next; /* in its bucket, plus 1 */
};

struct wait_parts {
	struct wait_part *at; /* after the pass: most time first */
	uint32_t n, n_rooms;
	uint32_t buckets[1024];
};

struct wait_slice {
	int64_t begin_ns, end_ns;
	uint8_t state;
	uint8_t depth;
	uint32_t call, thread;
	struct wait_cause cause;
	uint32_t object;
	uint32_t holder; /* PREEMPTED: the thread that came to the CPU; 0: unknown */
};

struct wait_interval {
	int64_t begin_ns, woken_ns, end_ns; /* end: when it runs again */
	uint32_t thread;
	struct call_made call;
	uint32_t object; /* of the call */
	bool is_fault;
	bool is_woken;	 /* its wakeup was recorded; else woken = end */
	uint32_t waker;	 /* 0: no thread */
	uint32_t holder; /* ran most while it waited for a CPU; 0: none, or it is unknown */
	uint32_t site;	 /* where in the program it waited, plus 1; 0: unknown */
	struct wait_cause cause;
	struct wait_slice *slices; /* in order of time; owned */
	uint32_t n_slices;
};

struct wait_account {
	uint64_t ns[WAIT_STATES], n[WAIT_STATES];
};

struct wait_row { /* a thread of the question */
	uint32_t thread;
	struct wait_account account;
	uint64_t ns; /* the sum */
};

/* The time from A to B of a thread, or the whole recording. */
struct wait_span {
	uint32_t thread;
	int64_t begin_ns;
	uint64_t ns;
	struct wait_account account;
	struct wait_interval waits[WAIT_WAITS_OF_ONE]; /* its longest waits, in descending order */
	uint32_t n_waits;
};

struct wait_question {
	int64_t tid, pid;  /* -1: any */
	const char *a, *b; /* patterns; NULL: all the time */
	uint32_t n_slowest;
	const char *const *paths; /* the recordings, for names of objects; may be none */
	int n_paths;
};

struct wait_analysis {
	struct pass run;
	struct calls calls;
	struct irqs irqs;
	struct devices machine;
	struct objects objects; /* of calls; none unless has_objects */
	bool has_objects;
	struct wait_row *rows; /* most time first */
	uint32_t n_rows;
	struct wait_account all;
	uint64_t ns; /* the sum over all rows */
	struct wait_parts parts, chain;
	struct wait_parts
		holders; /* `thread` ran on the CPU that those of the question waited for */
	struct heap_sites *sites;    /* of waits; NULL: no switch has a stack of its program */
	struct wait_interval *waits; /* the longest first; empty if A and B are given */
	uint32_t n_waits;
	struct samples spans;	   /* if A and B are given: durations */
	struct wait_span *slowest; /* the longest of them first */
	uint32_t n_slowest;
	uint64_t n_waits_seen, n_without_waker, n_contradictions;
	uint64_t n_a, n_cut, n_open; /* spans dropped because of a loss; spans without an end */
	uint32_t n_classes_a, n_classes_b;
	uint64_t n_left_out; /* threads without all their switches; shown nevertheless if they
			      * are asked for */
	bool is_overview;    /* no thread was asked for: rows of all threads, and no details */
	bool has_switches, has_wakeups, has_faults, has_block;
};

/* wait_init - read all of @t, which must outlive the result. Returns 0 or -errno. */
int wait_init(struct wait_analysis *w, struct trace *t, const struct pass_range *range,
	      const struct wait_question *q, struct diag *d);
void wait_fini(struct wait_analysis *w);

#endif
