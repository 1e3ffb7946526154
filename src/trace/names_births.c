/* SPDX-License-Identifier: MIT */
/*
 * trace/names_births.c - reads the processes of threads that skipped events of a kernel have: births and the
 * state dump.
 *
 * A birth may be hours earlier, so no search backward finds it soon.  But births are few, and the recorder
 * notes in the index which packets have one (abi/ctf.h).  These are read, from the begin to the time that is
 * wanted, as a whole reading would:
 *
 *   (1) afterwards the process of a thread is the one of its last event of a kernel; is_kernels
 *   (2) a thread that none of them has may have been born before the recording, or while births were not
 *       recorded: then only applications have its process, and names_recall.c searches for it
 *       But if births and the state dump were recorded, nothing of the kernel was lost, and it has all
 *       programs that record, then it has their threads, too: a thread that it does not have records nothing
 *   (3) a thread that inherits the process of one of (2) is doubtful: no event has it
 *   (4) an index without these notes, of another recorder, makes the reader begin anew
 */
#include <stdlib.h>

#include "trace/names_internal.h"

enum { EVENTS_MOST = 1 << 19 };

static bool has_process(enum role role)
{
	return role == ROLE_DUMP || role == ROLE_FORK || role == ROLE_TASK;
}

/* Only kernels have such events. */
static bool are_of_kernels(const struct names *n, const struct trace *t)
{
	for (uint32_t i = 0; i < trace_n_sources(t); i++) {
		const struct trace_source *s = trace_source(t, i);

		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next)
			if (s->domain != TRACE_KERNEL && has_process(n->plans[c->number].role))
				return false;
	}
	return true;
}

/* The streams of kernels.  False: one of them does not have where births are. */
static bool choose(const struct trace *t, bool *wanted)
{
	for (uint32_t i = 0; i < trace_n_streams(t); i++) {
		wanted[i] = trace_stream(t, i)->source->domain == TRACE_KERNEL;
		if (wanted[i] && trace_stream(t, i)->size_bytes && !trace_stream_knows_births(t, i))
			return false;
	}
	return true;
}

/* Whether all of them were read; otherwise a part may have been learned. */
static bool read_all(struct names *n, struct trace *part)
{
	struct diag d = { "" };
	struct trace_event e;
	uint64_t left = EVENTS_MOST;
	int item;

	while ((item = trace_next(part, &e, &d)) > 0 && e.time_ns < n->skipped.from_ns) {
		if (!left--)
			return false;
		if (item == TRACE_EVENT && has_process(n->plans[trace_class_number(&e)].role))
			names_learn(n, &e);
	}
	return item >= 0 && !trace_n_damages(part);
}

void names_read_births(struct names *n, const struct trace *t)
{
	bool *wanted = calloc(trace_n_streams(t) + (size_t)1, sizeof *wanted);
	struct trace *part;

	if (wanted && are_of_kernels(n, t) && choose(t, wanted) &&
	    !trace_births_of(t, wanted, &part)) {
		n->skipped.reads_births = true;
		n->skipped.knows_births = read_all(n, part);
		n->skipped.reads_births = false;
		if (!n->skipped.knows_births)
			names_forget_threads(n);
		trace_close(part);
	}
	free(wanted);
}

/* ---------------------------------------------------------------- threads without a process */

static bool has_class(const struct names *n, const struct trace_source *s, enum role role)
{
	for (const struct ctf_event_class *c = s->meta->events; c; c = c->next)
		if (n->plans[c->number].role == role)
			return true;
	return false;
}

static bool has_all_births(const struct names *n, const struct trace *t)
{
	for (uint32_t i = 0; i < trace_n_sources(t); i++) {
		const struct trace_source *s = trace_source(t, i);

		if (s->domain == TRACE_KERNEL
			    ? !has_class(n, s, ROLE_FORK) || !has_class(n, s, ROLE_DUMP)
			    : !has_class(n, s, ROLE_PROCNAME)) /* of another tracer */
			return false;
	}
	for (uint32_t i = 0; i < trace_n_streams(t); i++)
		if (trace_stream(t, i)->source->domain == TRACE_KERNEL &&
		    trace_stream(t, i)->size_bytes && !trace_stream_is_complete(t, i))
			return false;
	return true;
}

static bool has_all(const struct names *n, const struct names *programs)
{
	for (uint32_t i = 0; i < programs->capacity; i++) {
		const struct thread *p = &programs->threads[i], *t;

		if (!p->key || !p->is_named)
			continue;
		t = names_find(n, (uint32_t)((p->key - 1) >> 32), (int64_t)(uint32_t)(p->key - 1));
		if (!t || !t->is_kernels)
			return false;
	}
	return true;
}

void names_check_births(struct names *n, const struct trace *t, const struct names *programs)
{
	n->skipped.knows_threads =
		n->skipped.knows_births && has_all_births(n, t) && has_all(n, programs);
}
