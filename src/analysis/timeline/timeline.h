/* SPDX-License-Identifier: MIT */
/*
 * analysis/timeline/timeline.h - a recording as what viewers of timelines draw: slices, instants,
 * states of threads, counters and flows.
 *
 * Read twice: the first pass learns the threads, their processes and last names, and of which of
 * them every switch is there; the second gives items, in the order of events, while they are read.
 * Memory is that of threads and open slices.  What always holds:
 *
 *   (1) the slices of a row (a thread, or a CPU) nest; each end given closes the slice opened last
 *   (2) a slice that something lost might lie in is closed at the loss; a state, dropped
 *   (3) an event chosen is given once: as begin, end or instant (switches: as SWITCH) - but an end
 * also if it is not chosen and its begin was
 *
 * Slices are system calls, calls of functions that probes or a graph of the kernel's tell, and
 * pairs of events whose names say so (x_entry x_exit, x_begin x_end, ...) or that the caller names.
 * What is still open at the end stays open.
 */
#ifndef ANALYSIS_TIMELINE_TIMELINE_H
#define ANALYSIS_TIMELINE_TIMELINE_H

#include "analysis/coverage.h"
#include "trace/symbols/kallsyms.h"

enum timeline_kind {
	TIMELINE_BEGIN,
	TIMELINE_END,	  /* event: NULL if nothing recorded ends it */
	TIMELINE_INSTANT, /* flow: of the wake-up, 0 for none */
	TIMELINE_SWITCH,  /* event: sched_switch */
	TIMELINE_STATE,	  /* from begin_ns to time_ns: thread, state, and cpu if it ran */
	TIMELINE_RUNS,	  /* the thread that a wake-up with this flow let run */
	TIMELINE_COUNTER, /* counter, number */
	TIMELINE_LOST,	  /* lost; cpu */
};

enum timeline_state { TIMELINE_UNKNOWN, TIMELINE_RUNNING, TIMELINE_RUNNABLE, TIMELINE_BLOCKED };

struct timeline_item {
	enum timeline_kind kind;
	enum timeline_state state;
	bool is_of_cpu; /* the row is that of the CPU */
	uint32_t thread;
	uint32_t cpu;
	uint32_t counter;
	uint32_t name_size;
	const char *name; /* slices, instants */
	int64_t time_ns, begin_ns;
	int64_t number;
	uint64_t flow;
	uint64_t lost;
	const struct trace_event *event; /* lent during the call */
};

/* Returns 0; something else ends everything, and is returned. */
typedef int timeline_take(void *context, const struct timeline_item *item);

struct timeline_pair {
	const char *begin, *end; /* patterns */
};
struct timeline_counter {
	const char *event, *field; /* a pattern; a field of the payload */
	bool is_sum;		   /* the field says by how much it grew, in the process */
};

struct timeline_options {
	const bool *is_wanted; /* by class number; NULL: all */
	bool (*is_chosen)(void *context, const struct trace_event *e,
			  const struct thread_identity *w); /* NULL: all */
	int64_t from_ns, to_ns;				    /* both included */
	const struct timeline_pair *pairs;		    /* beside those that names tell */
	uint32_t n_pairs;
	const struct timeline_counter *counters;
	uint32_t n_counters;
	struct kallsyms *functions; /* the kernel's, which slices of its calls are called by; lent,
				       or NULL */
	timeline_take *take;
	void *context; /* of both functions */
};

struct timeline_plan;

struct timeline {
	struct pass run; /* of the first pass: threads, losses */
	struct coverage follow;
	uint64_t n_items;
	/* private */
	const struct timeline_options *o;
	struct trace *trace;	 /* lent: the second pass */
	struct threads *threads; /* of the second pass: same numbers */
	struct timeline_plan *plans;
	struct timeline_row *rows, *cpu_rows;
	struct timeline_thread *states;
	uint32_t *running; /* by CPU: thread + 1 */
	int64_t *sums;	   /* by process and counter */
	uint32_t n_rows, n_cpu_rows, n_states, n_running, n_sums;
	uint64_t n_flows;
	int64_t last_ns;
};

/* timeline_init - the first pass, which reads all of @first.  Returns 0 or -errno. */
int timeline_init(struct timeline *t, struct trace *first, struct diag *d);
void timeline_fini(struct timeline *t);

/* timeline_run - the second pass; @second is the same recording opened again. */
int timeline_run(struct timeline *t, struct trace *second, const struct timeline_options *o,
		 struct diag *d);

/* timeline_thread - what is known of a thread in the end. */
const struct thread *timeline_thread(const struct timeline *t, uint32_t number);

/* ----------------------------------------------------------------
 * analysis/timeline/timeline_events.c */

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
	uint32_t pair; /* what opens and what closes have the same */
	uint32_t name_size;
	const char *name;	       /* of the slice */
	const struct ctf_op *field[3]; /* switches: prev, next, state; wakes: thread */
	const struct ctf_op
		*softirq; /* of what begins one: its number, whose name is the slice's; or NULL */
	const struct ctf_op *function; /* whose name is the slice's or instant's; or NULL */
};

/* timeline_plan - by class number, to be freed; NULL if there is no memory. */
struct timeline_plan *timeline_plan(const struct pass *r, const struct timeline_options *o);

#endif
