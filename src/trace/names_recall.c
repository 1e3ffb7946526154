/* SPDX-License-Identifier: MIT */
/*
 * trace/names_recall.c - searches skipped events (names_skip.c) backward, in spans of time that double, for
 * the processes of threads that only applications name, if a kernel is read from its begin; else
 * the names of threads.
 *
 * A thread may run in the kernel whose process no event of the kernel has: it was born while births were not
 * recorded.  Its last event of an application before the skip has the process, and is near, if the thread has
 * such events.  Each thread that runs has been switched to, and that names it: mostly near, too.
 *
 *   (1) spans are searched from the newest on, each as a whole: the first one with the thread has its last event
 *   (2) a process that is found counts for threads without one only: a later event has the others'.  So does a
 *       name, for threads that are not named yet
 *   (3) after EVENTS_MOST events the search gives up: names_is_unsure()
 *   (4) of a skipped kernel processes are not looked for: a birth may be hours earlier.  names_is_unsure()
 */
#include "trace/names_internal.h"

enum { EVENTS_MOST = 1 << 20, FIRST_SPAN_NS = 100000 };

bool names_recall_open(struct names *n, const struct trace *t, int64_t from_ns, const bool *needs)
{
	struct names_skipped *s = &n->skipped;
	struct diag d = { "" };
	struct trace_event e;

	if (needs ? trace_part_of(t, needs, &s->part)
		  : trace_part(t, TRACE_ALL_STREAMS, NULL, NULL, &s->part))
		return false;
	s->has_kernel = needs;
	s->from_ns = s->low_ns = s->begin_ns = from_ns;
	s->n_left = EVENTS_MOST;
	if (trace_next(s->part, &e, &d) > 0 && e.time_ns < from_ns)
		s->begin_ns = e.time_ns;
	return true;
}

void names_recall_close(struct names *n)
{
	trace_close(n->skipped.part);
	n->skipped = (struct names_skipped){ 0 };
}

/* Takes the names that @of has learned. */
static void take_names(struct names *n, const struct names *of)
{
	for (uint32_t i = 0; i < of->capacity; i++) {
		const struct thread *found = &of->threads[i];
		uint32_t host = (uint32_t)((found->key - 1) >> 32),
			 tid = (uint32_t)(found->key - 1);
		const struct thread *t;

		if (!found->key || !found->is_named)
			continue;
		t = names_find_or_add(n, host, tid);
		if (t && !t->is_named)
			names_set_name(n, host, tid, found->name, found->size);
	}
}

/* Takes the processes that @of has learned. */
static void take_processes(struct names *n, const struct names *of)
{
	for (uint32_t i = 0; i < of->capacity; i++) {
		uint64_t id = of->threads[i].key - 1;
		struct thread *t;

		if (!of->threads[i].key || of->threads[i].pid < 0)
			continue;
		t = names_find_or_add(n, (uint32_t)(id >> 32), (int64_t)(uint32_t)id);
		if (t && t->pid < 0)
			names_set_pid(n, (uint32_t)(id >> 32), (int64_t)(uint32_t)id,
				      of->threads[i].pid, false);
	}
}

/* Learns from events from @low_ns to s->low_ns: those of applications, or of all that name threads.  False: too many, or damage. */
static bool read_span(struct names_skipped *s, struct names *of, int64_t low_ns)
{
	struct diag d = { "" };
	struct trace_event e;
	int item;

	trace_seek(s->part, low_ns);
	while ((item = trace_next(s->part, &e, &d)) > 0 && e.time_ns < s->low_ns) {
		if (!s->n_left--)
			return false;
		if (item == TRACE_EVENT && (s->has_kernel || e.stream->source->domain == TRACE_UST))
			names_learn(of, &e);
	}
	return item >= 0 && !trace_n_damages(s->part);
}

static bool search_further(struct names *n)
{
	struct names_skipped *s = &n->skipped;
	/* unsigned: times of a recording may be any */
	uint64_t span = (uint64_t)s->from_ns - (uint64_t)s->low_ns, low = (uint64_t)s->low_ns;
	int64_t low_ns = s->begin_ns;
	struct names *found;
	bool is_sound;

	span = span ? span : FIRST_SPAN_NS;
	if (low - (uint64_t)s->begin_ns > span)
		low_ns = (int64_t)(low - span);
	if (names_open(&found, s->part, NULL))
		return false;
	is_sound = read_span(s, found, low_ns);
	if (is_sound && s->has_kernel)
		take_names(n, found);
	else if (is_sound)
		take_processes(n, found);
	s->low_ns = low_ns;
	names_close(found);
	return is_sound;
}

void names_recall(struct names *n, uint32_t host, int64_t tid)
{
	struct names_skipped *s = &n->skipped;
	const struct thread *t = names_find_or_add(n, host, tid);

	s->is_unsure |= s->has_kernel;
	while (t && t->pid < 0 && s->low_ns > s->begin_ns && !s->is_unsure) {
		s->is_unsure = !search_further(n);
		t = names_find_or_add(n, host, tid); /* the table may have grown */
	}
	s->is_unsure |= !t;
}

/* Whether an event has named it; else it has no name so far, or is_unsure. */
static bool recall_name(struct names *n, uint32_t host, int64_t tid)
{
	struct names_skipped *s = &n->skipped;
	const struct thread *t = names_find_or_add(n, host, tid);

	while (t && !t->is_named && s->low_ns > s->begin_ns && !s->is_unsure) {
		s->is_unsure = !search_further(n);
		t = names_find_or_add(n, host, tid); /* the table may have grown */
	}
	s->is_unsure |= !t;
	return t && t->is_named;
}

void names_recall_name(struct names *n, uint32_t host, const struct thread_identity *w)
{
	if (w->tid > 0 && recall_name(n, host, w->tid))
		return;
	/* It has the name of its process, which an event of the kernel does not have. */
	if (w->pid > 0)
		recall_name(n, host, w->pid);
	else if (w->tid > 0)
		n->skipped.is_unsure = true;
}
