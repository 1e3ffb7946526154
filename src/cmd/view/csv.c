/* SPDX-License-Identifier: MIT */
/*
 * cmd/view/csv.c - prints events as comma-separated values, one line each.
 *
 * If all wanted events are of one class, each field has a column; else one column has all fields as
 * JSON.  Text is printed as recorded; structures, arrays and variants are JSON.
 */
#include "cmd/view/csv.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "cmd/view/print.h"

static void add_quoted(struct out *o, const char *s, size_t n)
{
	const char *end = s + n, *quote;

	out_byte(o, '"');
	while ((quote = memchr(s, '"', (size_t)(end - s)))) {
		out_data(o, s, (size_t)(quote + 1 - s));
		out_byte(o, '"');
		s = quote + 1;
	}
	out_data(o, s, (size_t)(end - s));
	out_byte(o, '"');
}

static void add_cell(struct out *o, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] == '"' || s[i] == ',' || s[i] == '\n' || s[i] == '\r')
			return add_quoted(o, s, n);
	out_data(o, s, n);
}

static int add_json(struct csv *c, const struct trace_event *e, enum ctf_scope scope)
{
	c->text.size = 0;
	view_json_scope(&c->cell, e, scope, "");
	out_flush(&c->cell);
	if (c->text.failed)
		return -ENOMEM;
	add_cell(c->o, c->text.bytes ? c->text.bytes : "", c->text.size);
	return 0;
}

static void add_number(struct out *o, const struct ctf_value *v)
{
	if (v->is_signed)
		out_i64(o, v->i);
	else
		out_u64(o, v->u);
}

/* Adds a text, or the labels of an enum; @add: as a cell, or as JSON. */
static void add_text(struct out *o, enum ctf_found found, const struct ctf_value *v,
		     void (*add)(struct out *o, const char *text, size_t size))
{
	struct text utf8 = { 0 };
	char labels[1024];
	const char *text;
	size_t size;

	if (found == CTF_TEXT) {
		text = encoding_text(v, &utf8, &size);
	} else {
		text = v->labels ? ctf_enum_labels(v->labels, v->u, labels, sizeof labels)
				 : v->label;
		size = strlen(text);
	}
	add(o, text, size);
	text_fini(&utf8);
}

static void add_plain(struct out *o, enum ctf_found found, const struct ctf_value *v)
{
	if (found == CTF_TEXT || (found == CTF_LABEL && v->label))
		add_text(o, found, v, add_cell);
	else if (found == CTF_REAL && v->real - v->real == 0)
		out_real(o, v->real, v->is_single);
	else if (found == CTF_REAL) /* NaN and infinities */
		out_data(o,
			 v->real != v->real ? "NaN"
			 : v->real < 0	    ? "-Infinity"
					    : "Infinity",
			 v->real != v->real ? 3
			 : v->real < 0	    ? 9
					    : 8);
	else
		add_number(o, v);
}

/* Adds a value inside an array or struct, as JSON. */
static void add_inside(struct out *o, enum ctf_found found, const struct ctf_value *v,
		       bool *needs_comma)
{
	bool opens = found == CTF_OPEN || found == CTF_OPEN_ARRAY;
	bool closes = found == CTF_CLOSE || found == CTF_CLOSE_ARRAY;

	out_room(o);
	if (*needs_comma && !closes)
		out_byte(o, ',');
	if (v->name && !closes) {
		out_json(o, v->name, v->name_size);
		out_byte(o, ':');
	}
	if (opens || closes)
		out_byte(o, found == CTF_OPEN ? '{' : found == CTF_CLOSE ? '}' : opens ? '[' : ']');
	else if (found == CTF_TEXT || (found == CTF_LABEL && v->label))
		add_text(o, found, v, out_json);
	else if (found == CTF_REAL && v->real - v->real != 0)
		out_literal(o, "null");
	else
		add_plain(o, found, v);
	*needs_comma = !opens;
}

/* Adds a cell for each top-level field. */
static int add_columns(struct csv *c, const struct trace_event *e)
{
	struct ctf_walk w;
	struct ctf_value v;
	enum ctf_found found;
	bool needs_comma = false;
	int depth = 0;

	ctf_walk_event(&w, e->ctf, CTF_PAYLOAD);
	while ((found = ctf_walk_next(&w, &v)) != CTF_WALK_END) {
		bool opens = found == CTF_OPEN || found == CTF_OPEN_ARRAY;
		bool closes = found == CTF_CLOSE || found == CTF_CLOSE_ARRAY;

		if (v.is_hidden)
			continue;
		out_room(c->o);
		if (!depth && !opens) {
			out_byte(c->o, ',');
			add_plain(c->o, found, &v);
			continue;
		}
		if (!depth) {
			out_byte(c->o, ',');
			c->text.size = 0;
			needs_comma = false;
			v.name = NULL;
		}
		add_inside(&c->cell, found, &v, &needs_comma);
		depth += opens ? 1 : closes ? -1 : 0;
		if (depth)
			continue;
		out_flush(&c->cell);
		if (c->text.failed)
			return -ENOMEM;
		add_cell(c->o, c->text.bytes, c->text.size);
	}
	return 0;
}

static void add_id(struct out *o, int64_t number)
{
	out_byte(o, ',');
	if (number >= 0)
		out_i64(o, number);
}

static void add_head(struct csv *c, const struct trace_event *e, const struct thread_identity *w,
		     const char *event)
{
	static const char *const domains[] = { ",other", ",ust", ",kernel" };
	const char *host = e->stream->source->hostname,
		   *domain = domains[e->stream->source->domain];

	out_i64(c->o, e->time_ns);
	out_byte(c->o, ',');
	add_cell(c->o, host, strlen(host));
	out_bytes(c->o, domain, strlen(domain));
	add_id(c->o, e->cpu == TRACE_CPU_UNKNOWN ? -1 : (int64_t)e->cpu);
	add_id(c->o, w->pid);
	add_id(c->o, w->tid);
	out_byte(c->o, ',');
	add_cell(c->o, w->name, w->size);
	out_byte(c->o, ',');
	add_cell(c->o, event, strlen(event));
	out_byte(c->o, ',');
}

int csv_event(struct csv *c, const struct trace_event *e, const struct thread_identity *w)
{
	int err;

	assert(!c->class || c->class == e->ctf->class);
	add_head(c, e, w, e->ctf->class->name);
	err = add_json(c, e, CTF_CONTEXT);
	if (!err && c->class)
		err = add_columns(c, e);
	if (!err && !c->class) {
		out_byte(c->o, ',');
		err = add_json(c, e, CTF_PAYLOAD);
	}
	out_byte(c->o, '\n');
	return err;
}

int csv_call(struct csv *c, const struct trace_event *e, const struct thread_identity *w,
	     const struct view_call *call)
{
	assert(!c->class);
	add_head(c, e, w, call->event);
	out_byte(c->o, ',');
	c->text.size = 0;
	out_byte(&c->cell, '{');
	view_call_members(&c->cell, call);
	out_byte(&c->cell, '}');
	out_flush(&c->cell);
	if (c->text.failed)
		return -ENOMEM;
	add_cell(c->o, c->text.bytes, c->text.size);
	out_byte(c->o, '\n');
	return 0;
}

/* Returns the only wanted class; NULL if there are several.  Classes of one name in several traces
 * may differ, so they count as several. */
static const struct ctf_event_class *only_class(const struct trace *t, const bool *is_wanted)
{
	const struct ctf_event_class *only = NULL;

	for (uint32_t i = 0; i < trace_n_sources(t); i++) {
		const struct trace_source *s = trace_source(t, i);

		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next) {
			if (is_wanted && !is_wanted[c->number])
				continue;
			if (only)
				return NULL;
			only = c;
		}
	}
	return only;
}

/* A variant has another shape in each event, so its class gets no columns.  Hidden members are
 * lengths. */
static bool has_columns(const struct ctf_event_class *c)
{
	for (uint32_t i = 0; c->fields && i < c->fields->n_members; i++)
		if (c->fields->members[i].type->kind == CTF_VARIANT)
			return false;
	return c->fields && c->program;
}

static void add_header(struct csv *c)
{
	int depth = 0;

	out_literal(c->o, "time,host,domain,cpu,pid,tid,procname,event,context");
	if (!c->class) {
		out_literal(c->o, ",fields\n");
		return;
	}
	for (const struct ctf_op *op = c->class->program->ops; op->code != OP_END; op++) {
		bool closes = op->code == OP_CLOSE || op->code == OP_CLOSE_ARRAY;
		bool opens = op->code == OP_OPEN || op->code == OP_LOOP;

		if (!depth && !closes && op->scope == CTF_PAYLOAD && !op->is_hidden && op->name) {
			out_byte(c->o, ',');
			add_cell(c->o, op->name, op->name_size);
		}
		depth += opens ? 1 : closes ? -1 : 0;
	}
	out_byte(c->o, '\n');
}

int csv_open(struct csv *c, struct out *o, const struct trace *t, const bool *is_wanted,
	     bool has_calls)
{
	*c = (struct csv){ .o = o };
	if (out_init(&c->cell, -1))
		return -ENOMEM;
	c->cell.text = &c->text;
	if (!trace_may_grow(t) && !has_calls)
		c->class = only_class(t, is_wanted);
	if (c->class && !has_columns(c->class))
		c->class = NULL;
	add_header(c);
	return 0;
}

void csv_close(struct csv *c)
{
	out_fini(&c->cell);
	text_fini(&c->text);
}
