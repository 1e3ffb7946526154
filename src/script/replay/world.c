/* SPDX-License-Identifier: MIT */
/* script/replay/world.c - recordings opened as a world: their event classes, by name. */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script/replay/internal.h"
#include "symbol/symbol.h"

const char *replay_format(struct script_arena *a, const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	text = n < 0 ? NULL : script_allocate(a, (size_t)n + 1);
	if (!text)
		return NULL;
	va_start(args, format);
	vsnprintf(text, (size_t)n + 1, format, args);
	va_end(args);
	return text;
}

int replay_lacks(struct diag *d, const char *what, const char *command)
{
	return diag_fail(d, -ENOENT, "the recording has no %s\n  %s records them", what, command);
}

struct replay_event *replay_find(const struct replay *r, const char *name)
{
	for (struct replay_event *e = r->events; e; e = e->next)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}

/* The context of the stream that @c belongs to. */
static const struct ctf_type *context_of(const struct ctf_meta *m, const struct ctf_event_class *c)
{
	const struct ctf_stream_class *s =
		c->has_stream_id ? ctf_meta_stream((struct ctf_meta *)m, c->stream_id) : m->streams;

	return s ? s->event_context : NULL;
}

struct replay_event *replay_add_event(struct replay *r, enum trace_domain domain,
				      const struct ctf_meta *m, const struct ctf_event_class *c)
{
	struct script_arena *a = r->world.arena;
	struct replay_event *e = script_allocate(a, sizeof *e);
	const char *colon;

	if (!e)
		return NULL;
	e->name = script_copy(a, c->name, strlen(c->name));
	e->is_kernel = domain == TRACE_KERNEL;
	e->channel = "";
	if (!e->name)
		return NULL;
	colon = strchr(e->name, ':');
	if (e->is_kernel) {
		e->kind = replay_kind_of(e->name, &e->subject);
	} else {
		e->subject = colon ? colon + 1 : e->name;
		if (colon)
			e->channel = script_copy(a, e->name, (size_t)(colon - e->name));
		if (!e->channel)
			return NULL;
		if (!strncmp(e->name, "lttng_ust_statedump:", 20))
			e->kind = REPLAY_DUMP;
	}
	e->class = c;
	e->context = context_of(m, c);
	r->has_syscalls |= e->kind == REPLAY_ENTRY || e->kind == REPLAY_EXIT;
	*r->last = e;
	r->last = &e->next;
	return e;
}

static int learn_class(struct replay *r, const struct trace_source *s,
		       const struct ctf_event_class *c)
{
	struct replay_event *e = replay_find(r, c->name);

	if (!e)
		e = replay_add_event(r, s->domain, s->meta, c);
	if (e && !e->class) { /* its last one was forgotten */
		e->class = c;
		e->context = context_of(s->meta, c);
	}
	r->by_class[c->number] = e;
	return e ? 0 : -ENOMEM;
}

int replay_learn(struct replay *r)
{
	uint32_t n = r->trace ? trace_n_classes(r->trace) : 0;
	int err = 0;

	if (n == r->n_classes)
		return 0;
	if (pass_grow(&r->by_class, &r->n_by_class, n, sizeof *r->by_class))
		return -ENOMEM;
	for (uint32_t i = 0; i < trace_n_sources(r->trace); i++) {
		const struct trace_source *s = trace_source(r->trace, i);

		for (const struct ctf_event_class *c = s->meta->events; c && !err; c = c->next)
			if (!r->by_class[c->number])
				err = learn_class(r, s, c);
	}
	r->n_classes = n;
	return err;
}

/* Whether the class is of metadata that the world keeps. */
static bool is_kept(const struct replay *r, const struct ctf_event_class *of)
{
	for (const struct replay_metadata *m = r->metadata; m; m = m->next)
		for (const struct ctf_event_class *c = m->meta.events; c; c = c->next)
			if (c == of)
				return true;
	return false;
}

int replay_renumber(struct replay *r)
{
	for (struct replay_event *e = r->events; e; e = e->next)
		if (!is_kept(r, e->class)) {
			e->class = NULL;
			e->context = NULL;
		}
	memset(r->by_class, 0, r->n_by_class * sizeof(struct replay_event *));
	r->n_classes = 0;
	return replay_learn(r);
}

static const struct script_world_ops ops = {
	.name = "the recording",
	.points = replay_points,
	.value = replay_value,
	.each_value = replay_each_value,
	.entry = replay_entry,
};

static const struct script_world_ops live_ops = {
	.name = "the running programs",
	.points = replay_points,
	.value = replay_value,
	.each_value = replay_each_value,
	.entry = replay_entry,
};

int replay_world_open(struct script_world **world, const struct replay_options *o,
		      struct script_arena *arena, struct diag *d)
{
	const struct trace_options options = { .warn = o->warn,
					       .progress = o->progress,
					       .context = o->context,
					       .follows = o->follows };
	struct replay *r = calloc(1, sizeof *r);
	int err;

	*world = NULL;
	if (!r)
		return diag_fail(d, -ENOMEM, "no memory for the recording");
	r->world = (struct script_world){ &ops, arena };
	r->o = *o;
	replay_range(&r->world, INT64_MIN, INT64_MAX);
	r->last = &r->events;
	err = trace_open(&r->trace, o->paths, o->n_paths, &options, d);
	if (!err && replay_learn(r))
		err = diag_fail(d, -ENOMEM, "no memory for the events of the recording");
	if (err)
		replay_world_close(&r->world);
	else
		*world = &r->world;
	return err;
}

int replay_live_open(struct script_world **world, const struct replay_live_options *o,
		     struct script_arena *arena, struct diag *d)
{
	struct replay *r = calloc(1, sizeof *r);
	int err;

	*world = NULL;
	if (!r)
		return diag_fail(d, -ENOMEM, "no memory for the events of programs");
	r->world = (struct script_world){ &live_ops, arena };
	r->o = (struct replay_options){ .follows = true, .warn = o->warn, .context = o->context };
	r->last = &r->events;
	replay_range(&r->world, INT64_MIN, INT64_MAX);
	r->live = calloc(1, sizeof *r->live);
	if (r->live)
		r->live->o = *o;
	err = r->live ? replay_sites(r, o, d)
		      : diag_fail(d, -ENOMEM, "no memory for the events of programs");
	if (err)
		replay_world_close(&r->world);
	else
		*world = &r->world;
	return err;
}

/* Where @p is among the points, or belongs. */
static uint32_t point_slot(const struct replay *r, const void *p)
{
	uint32_t mask = r->n_point_rooms - 1;
	uint32_t i = (uint32_t)(((uintptr_t)p * 0x9E3779B97F4A7C15u) >> 32) & mask;

	while (r->points[i] && r->points[i] != p)
		i = (i + 1) & mask;
	return i;
}

bool replay_has(const struct script_world *world, const struct script_world_point *p)
{
	const struct replay *r = (const struct replay *)world;

	return p->family == FAMILY_WORLD && r->n_point_rooms &&
	       r->points[point_slot(r, p->data)] == p->data;
}

int replay_note_point(struct replay *r, const struct replay_point *p)
{
	if (r->n_points * 2 >= r->n_point_rooms) {
		uint32_t n = r->n_point_rooms ? r->n_point_rooms * 2 : 64,
			 before = r->n_point_rooms;
		const struct replay_point **bigger = calloc(n, sizeof *bigger), **old = r->points;

		if (!bigger)
			return -ENOMEM;
		r->points = bigger;
		r->n_point_rooms = n;
		for (uint32_t i = 0; i < before; i++)
			if (old[i])
				bigger[point_slot(r, old[i])] = old[i];
		free(old);
	}
	r->points[point_slot(r, p)] = p;
	r->n_points++;
	return 0;
}

void replay_range(struct script_world *world, int64_t from_ns, int64_t to_ns)
{
	struct replay *r = (struct replay *)world;

	r->from_ns = from_ns;
	r->to_ns = to_ns;
}

const struct trace *replay_trace(const struct script_world *world)
{
	return ((const struct replay *)world)->trace;
}

void replay_world_close(struct script_world *world)
{
	struct replay *r = (struct replay *)world;

	if (!r)
		return;
	kallsyms_close(r->kernel);
	modules_close(r->modules);
	symbols_close(r->symbols);
	trace_close(r->trace);
	replay_live_close(r);
	for (struct replay_metadata *m = r->metadata; m; m = m->next)
		ctf_meta_close(&m->meta);
	free(r->points);
	free(r->by_class);
	free(r);
}

void replay_times(const struct script_world *world, int64_t *first_ns, int64_t *last_ns)
{
	const struct replay *r = (const struct replay *)world;

	*first_ns = *last_ns = 0;
	for (uint32_t i = 0; r->trace && i < trace_n_streams(r->trace); i++) {
		const struct trace_stream_info *s = trace_stream(r->trace, i);

		if (!s->n_packets)
			continue;
		if (!*last_ns || s->begin_ns < *first_ns)
			*first_ns = s->begin_ns;
		if (s->end_ns > *last_ns)
			*last_ns = s->end_ns;
	}
}
