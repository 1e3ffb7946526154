/* SPDX-License-Identifier: MIT */
/*
 * trace/names_skip.c - which packets of a recording need not be read to name the threads of later events.
 *
 * An event of an application has the ids of its process and its thread; only the program's name comes from
 * elsewhere, from few events in streams of their own.  So:
 *
 *   (1) a stream of an application whose class has no event that names threads can begin anywhere
 *   (2) what such events teach beyond that, the process of a thread, is used by no event of an application: each
 *       has it itself.  Events of a kernel use it, if no event of the kernel has it: names_recall.c
 *   (3) a small kernel is read from its begin
 *   (4) a larger one is skipped, too, if it recorded switches: each thread that runs was switched to, mostly not
 *       long before.  names_recall.c looks for that; what it does not find makes the reader begin anew.
 *       Births of threads, which have their processes, are found by the index: names_births.c
 *   (5) the exception is a program in a pid namespace, whose ids are translated by earlier events: then
 *       nothing is skipped
 *
 * A stream's class is taken from its index: a look at each packet would read all pages of headers.
 */
#include <stdlib.h>

#include "trace/names_internal.h"

/* Beyond this, a mark is better: streams with names of programs are read twice. */
enum { READ_BYTES_MAX = 4 << 20, KERNEL_BYTES_MAX = 64 << 20 };

static bool has_own_ids(const struct class_plan *p)
{
	return !p->tid || p->pid;
}

static bool names_threads(const struct names *n, const struct trace_source *s, uint32_t class_id)
{
	for (const struct ctf_event_class *c = s->meta->events; c; c = c->next)
		if (c->stream_id == class_id && n->plans[c->number].role != ROLE_NONE)
			return true;
	return false;
}

static bool have_own_ids(const struct names *n, const struct trace *t)
{
	for (uint32_t i = 0; i < trace_n_sources(t); i++) {
		const struct trace_source *s = trace_source(t, i);

		if (s->domain == TRACE_KERNEL)
			continue;
		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next)
			if (!has_own_ids(&n->plans[c->number]))
				return false;
	}
	return true;
}

static bool is_of_kernel(const struct trace *t, uint32_t stream)
{
	return trace_stream(t, stream)->source->domain == TRACE_KERNEL;
}

static bool can_skip(const struct names *n, const struct trace *t, uint32_t stream)
{
	uint32_t class_id;

	return !is_of_kernel(t, stream) && trace_stream_is_of(t, stream, &class_id) &&
	       !names_threads(n, trace_stream(t, stream)->source, class_id);
}

/* Learns from stream @i until @time_ns.  False: something is unusual there. */
static bool learn_part(struct names *of, const struct trace *t, uint32_t i, int64_t time_ns)
{
	struct diag d = { "" };
	struct trace_event e;
	struct trace *part;
	int item;
	bool is_sound;

	if (trace_part(t, i, NULL, NULL, &part))
		return false;
	while ((item = trace_next(part, &e, &d)) > 0 && e.time_ns < time_ns)
		if (item == TRACE_EVENT)
			names_learn(of, &e);
	is_sound = item >= 0 && !trace_n_damages(part);
	trace_close(part);
	return is_sound;
}

/* The programs that are named before @time_ns; NULL: something is unusual. */
static struct names *learn_programs(const struct names *n, const struct trace *t, int64_t time_ns)
{
	struct names *programs;

	if (names_open(&programs, t, NULL))
		return NULL;
	for (uint32_t i = 0; i < trace_n_streams(t); i++)
		if (!is_of_kernel(t, i) && !can_skip(n, t, i) &&
		    !learn_part(programs, t, i, time_ns)) {
			names_close(programs);
			return NULL;
		}
	return programs;
}

struct parts { /* bytes */
	uint64_t kernel, names, skipped;
};

static struct parts divide(const struct names *n, const struct trace *t)
{
	struct parts p = { 0 };

	for (uint32_t i = 0; i < trace_n_streams(t); i++) {
		uint64_t bytes = trace_stream(t, i)->size_bytes;

		if (is_of_kernel(t, i))
			p.kernel += bytes;
		else if (can_skip(n, t, i))
			p.skipped += bytes;
		else
			p.names += bytes;
	}
	return p;
}

/* ---------------------------------------------------------------- a large kernel */

/* Whether all threads of the kernel @s are named by switches, and its events have their threads. */
static bool names_by_switches(const struct names *n, const struct trace_source *s)
{
	bool has_switches = false;

	for (const struct ctf_event_class *c = s->meta->events; c; c = c->next) {
		const struct class_plan *p = &n->plans[c->number];
		bool is_switch = p->role == ROLE_SWITCH;

		if (!p->tid && !(is_switch && p->field[0]))
			return false;
		has_switches |= is_switch && p->field[2] && p->field[3];
	}
	return has_switches;
}

static bool can_skip_kernels(const struct names *n, const struct trace *t)
{
	for (uint32_t i = 0; i < trace_n_sources(t); i++) {
		const struct trace_source *s = trace_source(t, i);

		if (s->domain == TRACE_OTHER ||
		    (s->domain == TRACE_KERNEL && !names_by_switches(n, s)))
			return false;
	}
	for (uint32_t i = 0; i < trace_n_streams(t); i++)
		if (trace_stream(t, i)->size_bytes && !trace_stream_has_index(t, i))
			return false;
	return true;
}

/* Everything is skipped; the names of threads are searched backward. */
static bool skip_all(struct names *n, struct trace *t, int64_t time_ns,
		     const struct names *programs)
{
	bool *needs = calloc(trace_n_streams(t) + (size_t)1, sizeof *needs);
	bool is_open;

	for (uint32_t i = 0; needs && i < trace_n_streams(t); i++)
		needs[i] = !can_skip(n, t, i);
	is_open = needs && names_recall_open(n, t, time_ns, needs);
	if (is_open) {
		names_read_births(n, t);
		names_check_births(n, t, programs);
	}
	for (uint32_t i = 0; is_open && i < trace_n_streams(t); i++)
		trace_skip_stream(t, i, time_ns);
	free(needs);
	return is_open;
}

static bool skip(struct names *n, struct trace *t, int64_t time_ns, const struct parts *bytes,
		 uint64_t kernel_bytes_max, const struct names *programs)
{
	if (bytes->kernel > kernel_bytes_max)
		return can_skip_kernels(n, t) && skip_all(n, t, time_ns, programs);
	if (!bytes->skipped || (bytes->kernel && !names_recall_open(n, t, time_ns, NULL)))
		return false;
	for (uint32_t i = 0; i < trace_n_streams(t); i++)
		if (can_skip(n, t, i))
			trace_skip_stream(t, i, time_ns);
	return true;
}

bool names_skip_beyond(struct names *n, struct trace *t, int64_t time_ns, uint64_t kernel_bytes_max)
{
	struct parts bytes;
	struct names *programs;
	bool is_skipped;

	if (!have_own_ids(n, t))
		return false;
	bytes = divide(n, t);
	programs = bytes.names > READ_BYTES_MAX ? NULL : learn_programs(n, t, time_ns);
	is_skipped = programs && !aliases_any(programs->aliases) &&
		     skip(n, t, time_ns, &bytes, kernel_bytes_max, programs);
	names_close(programs);
	return is_skipped;
}

bool names_skip(struct names *n, struct trace *t, int64_t time_ns)
{
	return names_skip_beyond(n, t, time_ns, KERNEL_BYTES_MAX);
}
