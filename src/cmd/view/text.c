/* SPDX-License-Identifier: MIT */
/*
 * cmd/view/text.c - prints events for people.
 *
 * The text of a second is formatted once, and a class with a template needs no walk: most lines are
 * a few copies.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/atomic.h"
#include "cmd/cmd.h"
#include "cmd/view/print.h"
#include "cmd/view/symbols.h"

bool view_is_shown_elsewhere(const char *name)
{
	static const char *const names[] = { "vpid", "vtid", "procname", "pid", "tid", NULL };

	if (*name != 'v' && *name != 'p' && *name != 't')
		return false;
	for (const char *const *t = names; *t; t++)
		if (!strcmp(name, *t))
			return true;
	return false;
}

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
	for (size_t i = 0; i < w->size; i++)
		out_byte(o, (unsigned char)w->name[i] < 0x20 ? '?' : w->name[i]);
	if (!w->size)
		out_byte(o, '?');
	if (w->tid >= 0) {
		out_byte(o, ':');
		out_i64(o, w->tid);
	}
	out_byte(o, ' ');
}

static void add_integer(struct out *o, const struct ctf_value *v)
{
	uint64_t mask = v->size_bits < 64 ? (1ull << v->size_bits) - 1 : UINT64_MAX;

	if (v->base != 10)
		out_base(o, v->u & mask, v->base);
	else if (v->is_signed)
		out_i64(o, v->i);
	else
		out_u64(o, v->u);
}

static void add_real(struct out *o, const struct ctf_value *v)
{
	if (isnan(v->real))
		out_literal(o, "nan");
	else if (isinf(v->real))
		out_bytes(o, v->real < 0 ? "-inf" : "+inf", 4);
	else
		out_real(o, v->real, v->is_single);
}

/* Quotes a label that could be mistaken for other syntax. */
static void add_label(struct out *o, const struct ctf_value *v)
{
	static const char word[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.+/";
	size_t n = v->label ? strlen(v->label) : 0;

	if (!v->label)
		out_byte(o, '?');
	else if (n && strspn(v->label, word) == n)
		out_text(o, v->label, n);
	else
		out_quoted(o, v->label, n);
	out_literal(o, ": ");
	add_integer(o, v);
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
		return out_quoted(o, v->text, v->size);
	case CTF_LABEL:
		return add_label(o, v);
	case CTF_OPEN:
		return out_literal(o, "{");
	case CTF_OPEN_ARRAY:
		return out_literal(o, "[");
	case CTF_CLOSE:
		return out_literal(o, " }");
	case CTF_CLOSE_ARRAY:
		return out_literal(o, " ]");
	case CTF_WALK_END:
		return;
	}
}

static bool is_opening(enum ctf_found f)
{
	return f == CTF_OPEN || f == CTF_OPEN_ARRAY;
}

static bool is_closing(enum ctf_found f)
{
	return f == CTF_CLOSE || f == CTF_CLOSE_ARRAY;
}

bool view_is_left_out(int scope, const char *name)
{
	return scope == CTF_CONTEXT && name &&
	       (view_is_shown_elsewhere(name) || !strcmp(name, "flags") ||
		!strcmp(name, "preempt"));
}

static bool is_left_out(const struct ctf_value *v)
{
	return v->is_hidden || view_is_left_out(v->scope, v->name);
}

/* Contexts come first, in braces of their own. */
static void add_fields(struct out *o, const struct view_texts *t, const struct trace_event *e,
		       const struct thread_identity *who)
{
	enum view_address_kind address = VIEW_ADDRESS_NONE;
	struct ctf_value v;
	struct ctf_walk w;
	enum ctf_found found;
	int depth = 0, skip_depth = -1, scope = -1;
	const char *before = "";

	ctf_walk_event(&w, e->ctf, CTF_CONTEXT);
	while ((found = ctf_walk_next(&w, &v)) != CTF_WALK_END) {
		out_room(o);
		if (is_closing(found) && --depth == skip_depth) {
			skip_depth = -1;
			continue;
		}
		if (skip_depth < 0 && !is_closing(found) && is_left_out(&v) && is_opening(found))
			skip_depth = depth;
		if (skip_depth >= 0 || (!is_closing(found) && is_left_out(&v))) {
			depth += is_opening(found);
			continue;
		}
		if (v.scope != scope) {
			out_text(o, scope < 0 ? "{" : " }, {", scope < 0 ? 1 : 5);
			scope = v.scope;
			before = " ";
		}
		if (!is_closing(found))
			out_bytes(o, before, strlen(before));
		if (v.name && !is_closing(found)) {
			out_text(o, v.name, v.name_size);
			out_literal(o, " = ");
		}
		add_value(o, found, &v);
		if (v.name)
			address = view_address_kind_of(v.name, v.name_size, v.scope == CTF_CONTEXT,
						       e->stream->source->domain == TRACE_KERNEL);
		if (address && (found == CTF_UINT || found == CTF_INT))
			view_symbols_add(o, t->symbols, who->pid < 0 ? who->tid : who->pid,
					 e->clock, v.u, address);
		depth += is_opening(found);
		before = is_opening(found) ? " " : ", ";
	}
	out_room(o);
	if (scope != CTF_PAYLOAD)
		out_text(o, scope < 0 ? "{" : " }, {", scope < 0 ? 1 : 5);
	out_literal(o, " }\n");
}

/* Numbers that are not plain decimal integers. */
static void add_other(struct out *o, const struct ctf_op *op, const struct ctf_column *cell)
{
	struct ctf_value v = {
		.u = cell->u,
		.base = op->type->base,
		.is_signed = op->is_signed,
		.size_bits = (uint8_t)op->size_bits,
	};

	if (op->type->kind == CTF_FLOAT) {
		v.is_single = op->size_bits == 32;
		v.real = cell->real;
		add_real(o, &v);
	} else if (op->type->kind == CTF_ENUM) {
		v.label = ctf_enum_label(op->type, v.u);
		add_label(o, &v);
	} else {
		add_integer(o, &v);
	}
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
			add_other(o, e->class->program->columns[p->cell], c);
			break;
		case VIEW_END:
			return true;
		}
	}
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
		   add_by_template(o, template, e->ctf)))
		return;
	add_text(o, t->style.name);
	out_text(o, name, strlen(name));
	add_text(o, t->style.plain);
	if (t->style.columns & VIEW_COLUMN_FIELDS) {
		out_byte(o, ' ');
		add_fields(o, t, e, w);
	} else {
		out_byte(o, '\n');
	}
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
