/* SPDX-License-Identifier: MIT */
/*
 * analysis/timeline/timeline.h - a recording as items for timeline viewers: slices, instants,
 * states of threads, counters and flows.
 *
 * It is read twice. The first pass learns the threads, their processes and last names, and which
 * threads have all their switches. The second pass reports items in the order of events, while they
 * are read. Memory is that of threads and open slices. Invariants:
 *
 *   (1) the slices of a row (a thread, or a CPU) nest; a reported end closes the newest slice
 *   (2) a slice that may lack lost events is closed at the loss; a state is dropped
 *   (3) a selected event is reported once: as begin, end or instant (switches: as SWITCH);
 *       an end is also reported if it is not selected but its begin was
 *
 * Slices are calls of programs, system calls, function calls (of probes, or of a graph of kernel functions), and pairs
 * of events. The caller names such pairs, or their names match: x_entry x_exit, x_begin x_end, ...
 * Slices that are open at the end stay open.
 */
#ifndef ANALYSIS_TIMELINE_TIMELINE_H
#define ANALYSIS_TIMELINE_TIMELINE_H

#include "analysis/calls/calls.h"
#include "analysis/coverage.h"
#include "trace/symbols/public.h"

enum timeline_kind {
	TIMELINE_BEGIN,	  /* event: NULL for a call of a program */
	TIMELINE_END,	  /* event: NULL if no recorded event ends it */
	TIMELINE_INSTANT, /* flow: that of the wakeup, 0 for none */
	TIMELINE_SWITCH,  /* event: sched_switch */
	TIMELINE_STATE,	  /* from begin_ns to time_ns: thread, state, and the CPU if it ran */
	TIMELINE_RUNS,	  /* the thread that a wakeup with this flow let run */
	TIMELINE_COUNTER, /* counter, number */
	TIMELINE_LOST,	  /* lost; cpu */
};

enum timeline_state { TIMELINE_UNKNOWN, TIMELINE_RUNNING, TIMELINE_RUNNABLE, TIMELINE_BLOCKED };

struct timeline_item {
	enum timeline_kind kind;
	enum timeline_state state;
	bool is_of_cpu; /* its row is that of the CPU */
	uint32_t thread;
	uint32_t cpu;
	uint32_t counter;
	uint32_t name_size;
	const char *name; /* slices, instants */
	int64_t time_ns, begin_ns;
	int64_t number;
	uint64_t flow;
	uint64_t lost;
	const struct trace_event *event; /* borrowed during the call */
};

/* Receives an item. Returns 0; any other value ends the pass and is its result. */
typedef int timeline_take(void *context, const struct timeline_item *item);

struct timeline_pair {
	const char *begin, *end; /* patterns */
};
struct timeline_counter {
	const char *event, *field; /* a pattern; a field of the payload */
	bool is_sum;		   /* the field is an increment; sum it per process */
};

struct timeline_options {
	const bool *is_wanted; /* by class number; NULL: all */
	bool (*is_chosen)(void *context, const struct trace_event *e,
			  const struct thread_identity *w); /* NULL: all */
	int64_t from_ns, to_ns;				    /* both included */
	const struct timeline_pair *pairs;		    /* in addition to pairs found by name */
	uint32_t n_pairs;
	const struct timeline_counter *counters;
	uint32_t n_counters;
	struct kallsyms *functions; /* symbols of the kernel for names of slices; borrowed, or
				     * NULL */
	bool has_calls;		    /* calls of programs are slices */
	timeline_take *take;
	void *context;
};

enum timeline_role {
	TIMELINE_PLAIN,
	TIMELINE_OPENS,
	TIMELINE_CLOSES,
	TIMELINE_SWITCHES,
	TIMELINE_WAKES,
	TIMELINE_EXITS,
};

struct timeline_plan {
	uint8_t role; /* enum timeline_role */
	bool is_of_cpu;
	uint32_t pair; /* equal for the events that open and close the slice */
	uint32_t name_size;
	const char *name;
	const struct ctf_op *field[3]; /* switches: prev, next, state; wakes: thread */
	const struct ctf_op
		*softirq; /* the field with a soft interrupt, which names the slice; or NULL */
	const struct ctf_op
		*function; /* the field with a function, which names the slice or instant */
};

/* timeline_plan - the role of each event class of @r's trace: an array by class number, which the
 * caller frees; NULL if there is no memory. Of @o only the pairs count. */
struct timeline_plan *timeline_plan(const struct pass *r, const struct timeline_options *o);

struct timeline {
	struct pass run; /* the first pass: threads, losses */
	struct coverage coverage;
	uint64_t n_items;
	/* private */
	const struct timeline_options *o;
	struct trace *trace;	 /* borrowed: the second pass */
	struct threads *threads; /* of the second pass; the numbers are the same */
	struct timeline_plan *plans;
	struct timeline_row *rows, *cpu_rows;
	struct timeline_thread *states;
	uint32_t *running; /* by CPU: thread + 1 */
	int64_t *sums;	   /* by process and counter */
	uint32_t n_rows, n_cpu_rows, n_states, n_running, n_sums;
	struct fcalls *calls; /* of the second pass, or NULL */
	struct fcalls_walk *walk;
	uint32_t *call_threads; /* by thread of the walk: thread + 1 */
	uint32_t n_call_threads;
	uint64_t n_flows;
	int64_t last_ns;
};

/* timeline_init - the first pass, which reads all of @first. Returns 0 or -errno. */
int timeline_init(struct timeline *t, struct trace *first, struct diag *d);
void timeline_fini(struct timeline *t);

/* timeline_run - the second pass; @second is the same recording opened again. */
int timeline_run(struct timeline *t, struct trace *second, const struct timeline_options *o,
		 struct diag *d);

/* timeline_thread - a thread, with all that the passes learned of it. */
const struct thread *timeline_thread(const struct timeline *t, uint32_t number);

#endif
