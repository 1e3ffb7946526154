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
 *   (4) of a skipped kernel processes are not searched: a birth may be hours earlier.  If names_births.c has
 *       them, those of other threads are searched in applications; else names_is_unsure()
 */
#include <stdlib.h>

#include "trace/names_internal.h"

enum { EVENTS_MOST = 1 << 20, FIRST_SPAN_NS = 100000 };

static bool open_search(struct names_search *s, const struct trace *t, const bool *wanted,
			int64_t from_ns)
{
	struct diag d = { "" };
	struct trace_event e;

	if (trace_part_of(t, wanted, &s->part))
		return false;
	s->low_ns = s->begin_ns = from_ns;
	if (trace_next(s->part, &e, &d) > 0 && e.time_ns < from_ns)
		s->begin_ns = e.time_ns;
	return true;
}

/* Of events of a kernel processes are not searched. */
static bool open_applications(struct names_search *s, const struct trace *t, int64_t from_ns)
{
	bool *wanted = calloc(trace_n_streams(t) + (size_t)1, sizeof *wanted);
	bool is_open;

	for (uint32_t i = 0; wanted && i < trace_n_streams(t); i++)
		wanted[i] = trace_stream(t, i)->source->domain == TRACE_UST;
	is_open = wanted && open_search(s, t, wanted, from_ns);
	free(wanted);
	return is_open;
}

bool names_recall_open(struct names *n, const struct trace *t, int64_t from_ns, const bool *needs)
{
	struct names_skipped *s = &n->skipped;

	s->has_kernel = needs;
	s->from_ns = from_ns;
	s->n_left = EVENTS_MOST;
	s->is_open = open_applications(&s->processes, t, from_ns) &&
		     (!needs || open_search(&s->names, t, needs, from_ns));
	if (!s->is_open)
		names_recall_close(n);
	return s->is_open;
}

void names_recall_close(struct names *n)
{
	trace_close(n->skipped.names.part);
	trace_close(n->skipped.processes.part);
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

/* Learns from events from @low_ns to s->low_ns.  False: too many, or damage. */
static bool read_span(struct names *n, struct names_search *s, struct names *of, int64_t low_ns)
{
	struct diag d = { "" };
	struct trace_event e;
	int item;

	trace_seek(s->part, low_ns);
	while ((item = trace_next(s->part, &e, &d)) > 0 && e.time_ns < s->low_ns) {
		if (!n->skipped.n_left--)
			return false;
		if (item == TRACE_EVENT)
			names_learn(of, &e);
	}
	return item >= 0 && !trace_n_damages(s->part);
}

static bool search_further(struct names *n, struct names_search *s,
			   void (*take)(struct names *n, const struct names *of))
{
	/* unsigned: times of a recording may be any */
	uint64_t span = (uint64_t)n->skipped.from_ns - (uint64_t)s->low_ns,
		 low = (uint64_t)s->low_ns;
	int64_t low_ns = s->begin_ns;
	struct names *found;
	bool is_sound;

	span = span ? span : FIRST_SPAN_NS;
	if (low - (uint64_t)s->begin_ns > span)
		low_ns = (int64_t)(low - span);
	if (names_open(&found, s->part, NULL))
		return false;
	is_sound = read_span(n, s, found, low_ns);
	if (is_sound)
		take(n, found);
	s->low_ns = low_ns;
	names_close(found);
	return is_sound;
}

static bool is_left(const struct names *n, const struct names_search *s)
{
	return s->low_ns > s->begin_ns && !n->skipped.is_unsure;
}

void names_recall(struct names *n, uint32_t host, int64_t tid)
{
	struct names_skipped *s = &n->skipped;
	const struct thread *t = names_find_or_add(n, host, tid);

	s->is_unsure |= names_lack_births(n) || (t && t->is_doubtful);
	while (t && t->pid < 0 && !s->knows_threads && is_left(n, &s->processes)) {
		s->is_unsure = !search_further(n, &s->processes, take_processes);
		t = names_find_or_add(n, host, tid); /* the table may have grown */
	}
	s->is_unsure |= !t;
}

/* Whether an event has named it; else it has no name so far, or is_unsure. */
static bool recall_name(struct names *n, uint32_t host, int64_t tid)
{
	struct names_skipped *s = &n->skipped;
	const struct thread *t = names_find_or_add(n, host, tid);

	while (t && !t->is_named && is_left(n, &s->names)) {
		s->is_unsure = !search_further(n, &s->names, take_names);
		t = names_find_or_add(n, host, tid); /* the table may have grown */
	}
	s->is_unsure |= !t;
	return t && t->is_named;
}

/* The process of a thread that no event has named; -1: none has it, or is_unsure. */
static int64_t process_of(struct names *n, uint32_t host, int64_t tid)
{
	const struct thread *t = names_find_or_add(n, host, tid);

	if (t && t->is_kernels)
		return t->pid;
	names_recall(n, host, tid);
	t = names_find_or_add(n, host, tid);
	return t ? t->pid : -1;
}

void names_recall_name(struct names *n, uint32_t host, const struct thread_identity *w)
{
	int64_t pid = w->pid;

	if (w->tid > 0 && recall_name(n, host, w->tid))
		return;
	/* It has the name of its process. */
	if (pid < 0 && w->tid > 0)
		pid = process_of(n, host, w->tid);
	if (pid > 0)
		recall_name(n, host, pid);
}
