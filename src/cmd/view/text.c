/* SPDX-License-Identifier: MIT */
/*
 * cmd/view/text.c - prints events for people.
 *
 * The text of a second is formatted once, and a class with a template needs no walk: most lines are
 * a few copies.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/atomic.h"
#include "cmd/cmd.h"
#include "cmd/view/print.h"
#include "trace/text/public.h"

/* Formats the second that contains @time_ns. */
static void set_second(struct view_clock *c, enum view_time form, int64_t time_ns)
{
	static const char *const forms[] = {
		[VIEW_CLOCK] = "%H:%M:%S.",
		[VIEW_DATE] = "%Y-%m-%d %H:%M:%S.",
		[VIEW_UTC] = "%Y-%m-%dT%H:%M:%S.",
	};
	int64_t ns = time_ns % 1000000000;
	struct tm tm = { 0 };
	time_t t;

	c->second_ns = time_ns - (ns < 0 ? ns + 1000000000 : ns);
	c->has_second = true;
	t = (time_t)(c->second_ns / 1000000000);
	if (form == VIEW_EPOCH) {
		c->size = (size_t)snprintf(c->text, sizeof c->text, "%lld.", (long long)t);
		return;
	}
	if (form == VIEW_UTC)
		gmtime_r(&t, &tm);
	else
		localtime_r(&t, &tm);
	c->size = strftime(c->text, sizeof c->text, forms[form], &tm);
}

/* Seconds with nine decimals. */
static void add_seconds(struct out *o, uint64_t ns)
{
	out_u64(o, ns / 1000000000);
	out_byte(o, '.');
	out_digits9(o, (uint32_t)(ns % 1000000000));
}

static void add_time(struct out *o, struct view_clock *c, enum view_time form, int64_t time_ns)
{
	uint64_t ns = (uint64_t)time_ns - (uint64_t)c->second_ns;

	if (form == VIEW_RELATIVE) {
		if (time_ns < c->first_ns)
			out_byte(o, '-');
		return add_seconds(o, time_ns < c->first_ns
					      ? (uint64_t)c->first_ns - (uint64_t)time_ns
					      : (uint64_t)time_ns - (uint64_t)c->first_ns);
	}
	if (unlikely(ns >= 1000000000 || !c->has_second)) {
		set_second(c, form, time_ns);
		ns = (uint64_t)time_ns - (uint64_t)c->second_ns;
	}
	out_bytes(o, c->text, c->size);
	out_digits9(o, (uint32_t)ns);
	if (form == VIEW_UTC)
		out_byte(o, 'Z');
}

static void add_delta(struct out *o, struct view_clock *c, int64_t time_ns)
{
	bool is_back = c->has_last && time_ns < c->last_ns;
	uint64_t delta = c->has_last ? (uint64_t)time_ns - (uint64_t)c->last_ns : 0;

	if (is_back)
		delta = -delta;
	out_bytes(o, is_back ? "(-" : "(+", 2);
	if (likely(delta < 1000000000)) {
		out_literal(o, "0.");
		out_digits9(o, (uint32_t)delta);
	} else {
		add_seconds(o, delta);
	}
	out_literal(o, ") ");
}

static void add_cpu(struct out *o, uint32_t cpu)
{
	out_byte(o, '[');
	if (cpu == TRACE_CPU_UNKNOWN)
		out_byte(o, '?');
	else
		out_u64(o, cpu);
	out_literal(o, "] ");
}

static void add_thread(struct out *o, const struct thread_identity *w)
{
	if (!w->size && w->tid < 0)
		return;
	out_text(o, w->name, w->size);
	if (!w->size)
		out_byte(o, '?');
	if (w->tid >= 0) {
		out_byte(o, ':');
		out_i64(o, w->tid);
	}
	out_byte(o, ' ');
}

static bool add_by_template(struct out *o, const struct view_template *t, const struct ctf_event *e)
{
	struct ctf_column columns[CTF_COLUMNS_MAX];

	if (!ctf_event_columns(e, columns))
		return false;
	for (const struct view_fragment *p = t->fragments;; p++) {
		const struct ctf_column *c = &columns[p->cell];

		out_room(o);
		out_padded(o, p->before, p->size);
		switch ((enum view_format)p->format) {
		case VIEW_SIGNED:
			out_i64(o, c->i);
			break;
		case VIEW_UNSIGNED:
			out_u64(o, c->u);
			break;
		case VIEW_TEXT:
			out_quoted(o, c->text, c->size);
			break;
		case VIEW_OTHER:
			column_add(o, e->class->program->columns[p->cell], c);
			break;
		case VIEW_SKIPPED: /* of walked ones only */
			break;
		case VIEW_END:
			return true;
		}
	}
}

/* Numbers that are left out do not move, so they need not be read. */
static inline void pass_numbers(struct ctf_walk *w, const struct view_template *t)
{
	while (!w->is_in_array && w->ops[w->op].code == OP_NUMBER &&
	       t->fragments[w->op].format == VIEW_SKIPPED)
		w->op++;
}

static void add_by_walk(struct out *o, const struct view_template *t, const struct ctf_event *e)
{
	const struct view_fragment *p;
	struct ctf_value v;
	struct ctf_walk w;
	enum ctf_found found;

	ctf_walk_event(&w, e, CTF_CONTEXT);
	while ((found = ctf_walk_next(&w, &v)) != CTF_WALK_END) {
		p = &t->fragments[w.op - 1];
		if (p->format == VIEW_SKIPPED) {
			field_skip_one(&w, found);
		} else {
			out_room(o);
			out_padded(o, p->before, p->size);
			fields_add_one(o, &w, found, &v);
		}
		pass_numbers(&w, t);
	}
	p = &t->fragments[t->n_fragments - 1];
	out_room(o);
	out_padded(o, p->before, p->size);
}

/* False: the template does not fit this event. */
static bool add_fields(struct out *o, const struct view_template *t, const struct ctf_event *e)
{
	if (likely(!t->is_walked))
		return add_by_template(o, t, e);
	add_by_walk(o, t, e);
	return true;
}

/* For short texts: a colour. */
static void add_text(struct out *o, const char *s)
{
	out_bytes(o, s, strlen(s));
}

/* Prints the columns before the event's name. */
static void add_columns(struct out *o, struct view_texts *t, const struct trace_event *e,
			const struct thread_identity *w)
{
	const char *host = e->stream->source->hostname;
	const struct view_style *l = &t->style;
	struct view_clock *c = &t->clock;

	if (unlikely(!c->has_last))
		c->first_ns = e->time_ns;
	add_text(o, l->dim);
	if (l->columns & VIEW_COLUMN_TIME) {
		add_time(o, c, l->time, e->time_ns);
		out_byte(o, ' ');
	}
	if (l->columns & VIEW_COLUMN_DELTA)
		add_delta(o, c, e->time_ns);
	c->last_ns = e->time_ns;
	c->has_last = true;
	if (l->columns & VIEW_COLUMN_HOST) {
		out_text(o, host, strlen(host));
		out_byte(o, ' ');
	}
	if (l->columns & VIEW_COLUMN_CPU)
		add_cpu(o, e->cpu);
	add_text(o, l->plain);
	if (!(l->columns & VIEW_COLUMN_THREAD))
		return;
	add_text(o, l->thread);
	add_thread(o, w);
	add_text(o, l->plain);
}

void view_text(struct out *o, struct view_texts *t, const struct trace_event *e,
	       const struct thread_identity *w)
{
	const struct view_template *template = view_template(&t->templates, e);
	const char *name = e->ctf->class->name;

	out_room(o);
	add_columns(o, t, e, w);
	if (likely(template && t->style.columns & VIEW_COLUMN_FIELDS &&
		   add_fields(o, template, e->ctf)))
		return;
	add_text(o, t->style.name);
	out_text(o, name, strlen(name));
	add_text(o, t->style.plain);
	if (t->style.columns & VIEW_COLUMN_FIELDS) {
		out_byte(o, ' ');
		fields_add(o, t->symbols, e, w->pid < 0 ? w->tid : w->pid);
	}
	out_byte(o, '\n');
}

void view_text_call(struct out *o, struct view_texts *t, const struct trace_event *e,
		    const struct thread_identity *w, const struct view_call *c)
{
	out_room(o);
	add_columns(o, t, e, w);
	add_text(o, t->style.name);
	out_text(o, c->event, strlen(c->event));
	add_text(o, t->style.plain);
	if (!(t->style.columns & VIEW_COLUMN_FIELDS))
		return out_byte(o, '\n');
	out_literal(o, " { function = ");
	out_quoted(o, c->function, strlen(c->function));
	out_literal(o, ", object = ");
	out_quoted(o, c->object, strlen(c->object));
	out_literal(o, ", depth = ");
	out_u64(o, c->depth);
	if (c->duration_ns >= 0) {
		out_literal(o, ", duration_ns = ");
		out_i64(o, c->duration_ns);
	}
	if (*c->mark) {
		out_literal(o, ", mark = ");
		out_text(o, c->mark, strlen(c->mark));
	}
	out_literal(o, " }\n");
}

void view_text_lost(struct out *o, const struct view_texts *t, const struct trace_event *e)
{
	char text[160];

	out_room(o);
	add_text(o, t->style.lost);
	out_literal(o, "[lost ");
	cmd_lost_text(e->lost_events, e->lost_packets, text);
	out_bytes(o, text, strlen(text));
	out_literal(o, ", stream ");
	out_text(o, e->stream->path, strlen(e->stream->path));
	out_literal(o, "]");
	add_text(o, t->style.plain);
	out_byte(o, '\n');
}
