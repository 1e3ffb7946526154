/* SPDX-License-Identifier: MIT */
/*
 * ui/flame/reading.c - a part of the recording, event by event; the objects of system calls.
 *
 * It is read from packets that the time touches on.  So a call that began before has no object.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/text/public.h"
#include "analysis/pairing/public.h"
#include "analysis/syscalls/public.h"
#include "ui/flame/internal.h"

enum { EVENTS_AT_ONCE = 4096 };

/* Classes that say which thread runs where, besides those that are wanted. */
static bool *classes_to_know(const struct trace *t, const struct names *names,
			     const bool *is_wanted)
{
	bool *knows = calloc(trace_n_classes(t) + (size_t)1, sizeof *knows);

	for (uint32_t i = 0; knows && i < trace_n_sources(t); i++) {
		const struct trace_source *s = trace_source(t, i);

		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next)
			knows[c->number] =
				is_wanted[c->number] || names_learns_from(names, s, c->number);
	}
	return knows;
}

int flame_read(struct flame_work *w, struct trace *t, const bool *is_wanted,
	       flame_on_event *on_event, void *context, struct diag *d)
{
	struct trace_event e;
	struct thread_identity i;
	struct names *names;
	uint32_t n = 0;
	int found, err = names_open(&names, t, d);
	bool *knows;

	if (err)
		return err;
	knows = classes_to_know(t, names, is_wanted);
	err = knows ? 0 : -ENOMEM;
	trace_seek(t, w->begin_ns + w->o->from);
	while (!err && (found = trace_next(t, &e, d)) != TRACE_END) {
		if (found < 0 || e.time_ns - w->begin_ns >= w->o->to) {
			err = found < 0 ? found : 0;
			break;
		}
		if (found == TRACE_EVENT && knows[trace_class_number(&e)]) {
			names_on_event(names, &e, &i);
			if (is_wanted[trace_class_number(&e)])
				err = on_event(context, w, &e, &i);
		}
		if (++n % EVENTS_AT_ONCE == 0 && flame_is_over(w)) {
			flame_note(w->f,
				   "Call stacks and objects are those before %.6f s: there "
				   "was not enough time for all, choose a shorter time.",
				   (double)(e.time_ns - w->begin_ns) / 1e9);
			break;
		}
	}
	names_close(names);
	free(knows);
	return err;
}

struct objects_reading {
	struct calls calls;
	struct places *places;
};

/* "futex audit_lock in server", "fd 7". */
static void object_words(const struct objects_reading *r, const char *name, int64_t number,
			 const struct trace_event *e, const struct thread_identity *i,
			 struct text *t)
{
	if (!strcmp(name, "uaddr") && places_name(r->places, i->pid, e->clock, (uint64_t)number, t))
		return;
	text_addf(t, number < 0 || number > 0xffff ? "%.20s 0x%" PRIx64 : "%.20s %" PRId64, name,
		  number);
}

static int on_call(void *context, struct flame_work *w, const struct trace_event *e,
		   const struct thread_identity *i)
{
	const struct objects_reading *r = context;
	const struct call_class *c = r->calls.classes[trace_class_number(e)];
	struct flame_thread *t;
	struct call_made made;
	struct slot *slot;
	const char *name;
	struct text text = { .size = 0 };
	int64_t number;

	calls_read(c, e, &made);
	name = calls_object(&made, &number);
	t = name ? flame_thread_of(w, i->tid, e->time_ns - w->begin_ns) : NULL;
	if (!t)
		return 0;
	slot = table_find(&w->objects, t->row, (uint64_t)(e->time_ns - w->begin_ns));
	if (!slot)
		return -ENOMEM;
	if (!slot->value) {
		object_words(r, name, number, e, i, &text);
		fill(&w->objects, slot, flame_name(w->f, text.size ? text.bytes : name));
		text_fini(&text);
	}
	return 0;
}

static int read_entries(struct flame_work *w, struct trace *t, struct objects_reading *r,
			struct diag *d)
{
	const struct calls *calls = &r->calls;
	bool *is_entry = calloc(calls->n_classes + (size_t)1, sizeof *is_entry);
	int err = -ENOMEM;

	for (uint32_t i = 0; is_entry && i < calls->n_classes; i++)
		is_entry[i] = calls->classes[i]->is == CALL_ENTRY;
	if (is_entry)
		err = flame_read(w, t, is_entry, on_call, r, d);
	free(is_entry);
	return err;
}

int flame_read_objects(struct flame_work *w, struct diag *d)
{
	struct objects_reading r = { .places = NULL };
	struct trace *t;
	struct pass p;
	int err = trace_open(&t, w->o->paths, w->o->n_paths, NULL, d);

	if (err)
		return err;
	err = pass_init(&p, t, NULL, d);
	if (!err) {
		err = calls_init(&r.calls, &p);
		if (!err)
			err = places_open(&r.places, w->o->paths, w->o->n_paths, d);
		if (!err && r.calls.has_entries)
			err = read_entries(w, t, &r, d);
		calls_fini(&r.calls);
		places_close(r.places);
		pass_fini(&p);
	}
	trace_close(t);
	return err;
}
