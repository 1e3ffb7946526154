/* SPDX-License-Identifier: MIT */
/*
 * cmd/view/json.c - prints events for programs: one JSON object per line.
 *
 * Integers are exact, whatever their size; text is valid UTF-8; NaN and the infinities are strings.
 * An enum is {"value":n,"label":"text" or null}, with "labels":[...] if its values may have several.
 * Contexts other than process and thread are in
 * "context", which is omitted if there are none.
 */
#include <math.h>

#include "cmd/view/print.h"

static void add_string(struct out *o, const char *s)
{
	out_json(o, s, strlen(s));
}

static void add_integer(struct out *o, const struct ctf_value *v)
{
	if (v->is_signed)
		out_i64(o, v->i);
	else
		out_u64(o, v->u);
}

static void add_real(struct out *o, const struct ctf_value *v)
{
	if (isnan(v->real))
		out_literal(o, "\"NaN\"");
	else if (isinf(v->real))
		out_data(o, v->real < 0 ? "\"-Infinity\"" : "\"Infinity\"", v->real < 0 ? 11 : 10);
	else
		out_real(o, v->real, v->is_single);
}

/* All labels, of an enum whose values may have several. */
static void add_labels(struct out *o, const struct ctf_value *v)
{
	const char *label, *before = ",\"labels\":[";
	uint32_t i = 0;

	for (int n = 0; n < FIELD_LABELS_MAX && (label = ctf_enum_next(v->labels, v->u, &i)); n++) {
		out_room(o);
		out_bytes(o, before, strlen(before));
		add_string(o, label);
		before = ",";
	}
	out_byte(o, ']');
}

static void add_label(struct out *o, const struct ctf_value *v)
{
	out_literal(o, "{\"value\":");
	add_integer(o, v);
	out_literal(o, ",\"label\":");
	if (v->label)
		add_string(o, v->label);
	else
		out_literal(o, "null");
	if (v->labels && v->label)
		add_labels(o, v);
	out_byte(o, '}');
}

static void add_text(struct out *o, const struct ctf_value *v)
{
	struct text utf8 = { 0 };
	size_t size;
	const char *text = encoding_text(v, &utf8, &size);

	out_json(o, text, size);
	text_fini(&utf8);
}

static void add_value(struct out *o, enum ctf_found found, const struct ctf_value *v)
{
	switch (found) {
	case CTF_INT:
	case CTF_UINT:
		return add_integer(o, v);
	case CTF_REAL:
		return add_real(o, v);
	case CTF_TEXT:
		return add_text(o, v);
	case CTF_LABEL:
		return add_label(o, v);
	case CTF_OPEN:
		return out_byte(o, '{');
	case CTF_OPEN_ARRAY:
		return out_byte(o, '[');
	case CTF_CLOSE:
		return out_byte(o, '}');
	case CTF_CLOSE_ARRAY:
		return out_byte(o, ']');
	case CTF_WALK_END:
		return;
	}
}

struct members {
	bool has_one;
	bool needs_comma;
	bool is_short; /* omits contexts that only tracer developers need */
	int depth;
	int skipped; /* nesting depth inside an omitted member */
};

/* Adds one field to the object that @m describes. */
static void add_field(struct out *o, struct members *m, enum ctf_found found,
		      const struct ctf_value *v)
{
	bool opens = found == CTF_OPEN || found == CTF_OPEN_ARRAY;
	bool closes = found == CTF_CLOSE || found == CTF_CLOSE_ARRAY;
	bool is_elsewhere = v->scope == CTF_CONTEXT && !m->depth && v->name &&
			    field_is_shown_elsewhere(v->name);

	out_room(o);
	if (m->is_short && !m->depth)
		is_elsewhere |= field_is_left_out(v->scope, v->name);
	if (m->skipped || v->is_hidden || is_elsewhere) {
		m->skipped += opens && !closes ? 1 : closes ? -1 : 0;
		return;
	}
	if (!m->has_one && v->scope == CTF_CONTEXT)
		out_literal(o, ",\"context\":{");
	m->has_one = true;
	if (m->needs_comma && !closes)
		out_byte(o, ',');
	if (v->name && !closes) {
		add_string(o, v->name);
		out_byte(o, ':');
	}
	add_value(o, found, v);
	m->depth += opens ? 1 : closes ? -1 : 0;
	m->needs_comma = !opens;
}

static void add_fields(struct out *o, const struct trace_event *e)
{
	struct members context = { 0 }, fields = { 0 };
	struct ctf_walk w;
	struct ctf_value v;
	enum ctf_found found;

	ctf_walk_event(&w, e->ctf, CTF_CONTEXT);
	found = ctf_walk_next(&w, &v);
	for (; found != CTF_WALK_END && v.scope == CTF_CONTEXT; found = ctf_walk_next(&w, &v))
		add_field(o, &context, found, &v);
	if (context.has_one)
		out_byte(o, '}');
	out_literal(o, ",\"fields\":{");
	for (; found != CTF_WALK_END; found = ctf_walk_next(&w, &v))
		add_field(o, &fields, found, &v);
	out_literal(o, "}}\n");
}

bool view_json_scope(struct out *o, const struct trace_event *e, enum ctf_scope scope,
		     const char *before)
{
	struct members m = { .has_one = true, .is_short = true }; /* the caller writes the brace */
	struct ctf_walk w;
	struct ctf_value v;
	enum ctf_found found;
	bool is_open = false;

	ctf_walk_event(&w, e->ctf, scope);
	while ((found = ctf_walk_next(&w, &v)) != CTF_WALK_END && v.scope == scope) {
		if (field_is_nothing(&w, found, &v)) {
			ctf_walk_next(&w, &v); /* its end */
			continue;
		}
		if (!is_open && v.name && !v.is_hidden && !field_is_left_out(scope, v.name)) {
			out_bytes(o, before, strlen(before));
			out_byte(o, '{');
			is_open = true;
		}
		if (is_open)
			add_field(o, &m, found, &v);
	}
	if (is_open)
		out_byte(o, '}');
	return is_open;
}

static void add_head(struct out *o, const struct trace_event *e)
{
	static const char *const domains[] = { "other", "ust", "kernel" };

	out_room(o);
	out_literal(o, "{\"time\":");
	out_i64(o, e->time_ns);
	if (e->cpu != TRACE_CPU_UNKNOWN) {
		out_literal(o, ",\"cpu\":");
		out_u64(o, e->cpu);
	}
	out_literal(o, ",\"host\":");
	add_string(o, e->stream->source->hostname);
	out_literal(o, ",\"domain\":");
	add_string(o, domains[e->stream->source->domain]);
}

static void add_number(struct out *o, const char *key, int64_t value)
{
	out_literal(o, ",\"");
	out_bytes(o, key, strlen(key));
	out_literal(o, "\":");
	out_i64(o, value);
}

static void add_thread(struct out *o, const struct thread_identity *w)
{
	if (w->size) {
		out_literal(o, ",\"proc\":");
		out_json(o, w->name, w->size);
	}
	if (w->pid >= 0)
		add_number(o, "pid", w->pid);
	if (w->tid >= 0)
		add_number(o, "tid", w->tid);
	if (w->vpid >= 0 && w->vpid != w->pid) { /* in a pid namespace */
		add_number(o, "vpid", w->vpid);
		add_number(o, "vtid", w->vtid);
	}
}

void view_json(struct out *o, const struct trace_event *e, const struct thread_identity *w)
{
	add_head(o, e);
	add_thread(o, w);
	out_literal(o, ",\"event\":");
	add_string(o, e->ctf->class->name);
	add_fields(o, e);
}

void view_call_members(struct out *o, const struct view_call *c)
{
	out_literal(o, "\"function\":");
	add_string(o, c->function);
	out_literal(o, ",\"object\":");
	add_string(o, c->object);
	add_number(o, "depth", c->depth);
	if (c->duration_ns >= 0)
		add_number(o, "duration_ns", c->duration_ns);
	if (*c->mark) {
		out_literal(o, ",\"mark\":");
		add_string(o, c->mark);
	}
}

void view_json_call(struct out *o, const struct trace_event *e, const struct thread_identity *w,
		    const struct view_call *c)
{
	add_head(o, e);
	add_thread(o, w);
	out_literal(o, ",\"event\":");
	add_string(o, c->event);
	out_literal(o, ",\"fields\":{");
	view_call_members(o, c);
	out_literal(o, "}}\n");
}

void view_json_lost(struct out *o, const struct trace_event *e)
{
	add_head(o, e);
	out_literal(o, ",\"lost_events\":");
	out_u64(o, e->lost_events);
	out_literal(o, ",\"lost_packets\":");
	out_u64(o, e->lost_packets);
	out_literal(o, ",\"stream\":");
	add_string(o, e->stream->path);
	out_literal(o, "}\n");
}
