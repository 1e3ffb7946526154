/* SPDX-License-Identifier: MIT */
/*
 * analysis/pass.h - one analysis reads a recording once, from beginning to end.
 *
 * An analysis never joins events on two sides of a loss: it compares `epoch`, which grows at each
 * place where events of the kernel (or of applications) were lost, and drops its open state. So
 * durations are missing after a loss, but never wrong.
 */
#ifndef ANALYSIS_PASS_H
#define ANALYSIS_PASS_H

#include "analysis/threads.h"

/* The part of a recording that is analysed; both ends are included. */
struct pass_range {
	int64_t from_ns, to_ns;
};

struct pass {
	struct trace *trace; /* borrowed */
	struct pass_range range;
	bool wants_earlier; /* set it after pass_init(): events before the range are passed to
			      * on_event too, but not counted */
	struct threads *threads;
	uint64_t n_events, n_of[3]; /* by enum trace_domain */
	uint64_t lost_events, lost_packets, n_damages;
	int64_t first_ns, last_ns; /* times of the first and the last event; both 0 if there is
				    * none */
	uint32_t epoch[3];	   /* by enum trace_domain */
	struct pass_cpu {
		const struct trace_source *source;
		uint32_t cpu;
	} * cpus; /* as pass_cpu() numbers them */
	uint32_t n_cpus, n_cpu_rooms;
	uint32_t *by_stream; /* the CPU of its last event */
	uint32_t n_by_stream;
};

/* Called for each event, with the number of its thread. Returns 0 or -errno, which ends the
 * pass. */
typedef int pass_on_event(void *context, struct pass *r, const struct trace_event *e,
			  uint32_t thread);
/* Called at each loss; may be NULL. Returns 0 or -errno. */
typedef int pass_lost(void *context, struct pass *r, const struct trace_event *e);

/* @range: NULL is everything. Events before the range still name threads. */
int pass_init(struct pass *r, struct trace *trace, const struct pass_range *range, struct diag *d);
void pass_fini(struct pass *r);
/* pass_move - @to becomes what @from was, which then has nothing to free. */
void pass_move(struct pass *to, struct pass *from);

/* pass_all - read everything, then finalize the threads. Returns 0 or -errno, with the reason in
 * @d. */
int pass_all(struct pass *r, pass_on_event *on_event, pass_lost *lost, void *context,
	     struct diag *d);

/*
 * pass_next - the next item of the recording, for an analysis with a loop of its own.
 *
 * Counts it, and learns threads from it.  @thread: of an event.  Returns TRACE_EVENT, TRACE_LOST;
 * TRACE_END also behind the range; or -errno with the reason in @d.  Items before the range are
 * returned too.
 */
int pass_next(struct pass *r, struct trace_event *e, uint32_t *thread, struct diag *d);

/* pass_take - the same for an item of the recording that the caller has read; n_damages stays. */
int pass_take(struct pass *r, int item, const struct trace_event *e, uint32_t *thread,
	      struct diag *d);

/* An analysis of one recording, read once.  NULL: nothing to do there. */
struct pass_analysis {
	const char *about;	       /* "no memory for ABOUT" */
	bool wants_earlier;	       /* see struct pass */
	int (*prepare)(void *context); /* after pass_init().  Returns 0 or -errno */
	pass_on_event *on_event;
	pass_lost *on_lost;
	int (*finish)(void *context); /* after the last event.  Returns 0 or -errno */
};

/*
 * pass_run - run @a over @trace: pass_init(), prepare, pass_all(), finish.
 *
 * The caller frees what they made, also after an error.  Returns 0 or -errno, reason in @d, which
 * prepare may have written itself unless it returns -ENOMEM.
 */
int pass_run(struct pass *r, struct trace *trace, const struct pass_range *range,
	     const struct pass_analysis *a, void *context, struct diag *d);

/* pass_each_class - call @report for each event class, with its number (trace_class_number). */
typedef void pass_class(void *context, const struct trace_source *s,
			const struct ctf_event_class *c, uint32_t number);
void pass_each_class(const struct pass *r, pass_class *report, void *context);

/* pass_is_like - whether @pattern (rules/pattern.h) matches an event. The kernel's channel is
 * "kernel". */
bool pass_is_like(const char *pattern, const struct trace_source *s, const char *event);

/* pass_cpu - the dense number of @e's CPU on its host: an index into `cpus`; or -ENOMEM. */
int64_t pass_cpu(struct pass *r, const struct trace_event *e);

/* pass_grow - make room for element @i of an array if there is none. New elements are zero. Returns
 * 0 or -ENOMEM. */
int pass_grow_to(void *array, uint32_t *n, uint32_t i, size_t size);
static inline int pass_grow(void *array, uint32_t *n, uint32_t i, size_t size)
{
	return i < *n ? 0 : pass_grow_to(array, n, i, size);
}

/* pass_function - for a class of the function tracers: the field with the address of the kernel
 * function; else NULL. */
const struct ctf_op *pass_function(const struct ctf_event_class *c);

/* The value of a field; @otherwise if the event does not have it. */
static inline int64_t pass_number(const struct trace_event *e, const struct ctf_op *op,
				  int64_t otherwise)
{
	int64_t v;

	if (likely(op && ctf_is_quick(op)))
		return ctf_quick_number(e->ctf, op);
	return op && ctf_event_number(e->ctf, op, &v) ? v : otherwise;
}

#endif
