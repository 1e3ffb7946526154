/* SPDX-License-Identifier: MIT */
/*
 * analysis/pass.h - a recording read once, from beginning to end, by one analysis.
 *
 * An analysis never joins what lies on two sides of a loss: it asks `epoch`, which grows at each
 * place where events of the kernel (or of applications) were lost, and drops what it had open.  So
 * durations are missing after a loss, but never wrong.
 */
#ifndef ANALYSIS_PASS_H
#define ANALYSIS_PASS_H

#include "analysis/threads.h"

/* The part of a recording that is asked about; both ends belong to it. */
struct run_range {
	int64_t from_ns, to_ns;
};

struct run {
	struct trace *trace; /* lent */
	struct run_range range;
	bool sees_before; /* set it after run_init(): events before the range are shown too, not counted */
	struct threads *threads;
	uint64_t n_events, n_of[3]; /* by enum trace_domain */
	uint64_t lost_events, lost_packets, n_damages;
	int64_t first_ns, last_ns; /* of events; both 0 if there is none */
	uint32_t epoch[3]; /* by enum trace_domain */
	struct run_cpu {
		const struct trace_source *source;
		uint32_t cpu;
	} *cpus; /* as run_cpu() numbers them */
	uint32_t n_cpus, n_cpu_rooms;
};

/* One event, and the number of its thread.  Returns 0 or -errno. */
typedef int run_see(void *context, struct run *r, const struct trace_event *e, uint32_t thread);
/* A place where something was lost; may be NULL. */
typedef int run_lost(void *context, struct run *r, const struct trace_event *e);

/* @range: NULL is everything.  What is before it still names threads. */
int run_init(struct run *r, struct trace *trace, const struct run_range *range, struct diag *d);
void run_fini(struct run *r);

/* run_all - read everything; then processes are settled.  Returns 0 or -errno, reason in @d. */
int run_all(struct run *r, run_see *see, run_lost *lost, void *context, struct diag *d);

/* run_each_class - tell all event classes, with their numbers (trace_class_number). */
typedef void run_class(void *context, const struct trace_source *s, const struct ctf_event_class *c,
		       uint32_t number);
void run_each_class(const struct run *r, run_class *tell, void *context);

/* run_is_like - whether @pattern (rules/pattern.h) means an event; the kernel's channel is "kernel". */
bool run_is_like(const char *pattern, const struct trace_source *s, const char *event);

/* run_cpu - the dense number of @e's CPU (of its host's trace): an index into `cpus`; or -ENOMEM. */
int64_t run_cpu(struct run *r, const struct trace_event *e);

/* run_grow - make room for element @i of an array, if there is none; new ones are zeroed.  Returns 0 or -ENOMEM. */
int run_grow_to(void *array, uint32_t *n, uint32_t i, size_t size);
static inline int run_grow(void *array, uint32_t *n, uint32_t i, size_t size)
{
	return i < *n ? 0 : run_grow_to(array, n, i, size);
}

/* run_function - of a class of the kernel's: the field that tells which of its functions an event of a tracer is about; NULL:
 * it is none. */
const struct ctf_op *run_function(const struct ctf_event_class *c);

/* The value of a field; @otherwise if the event does not have it. */
static inline int64_t run_number(const struct trace_event *e, const struct ctf_op *op, int64_t otherwise)
{
	int64_t v;

	return op && ctf_event_number(e->ctf, op, &v) ? v : otherwise;
}

#endif
