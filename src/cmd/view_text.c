/* SPDX-License-Identifier: MIT */
/* cmd/view_text.c - events for people.  See view_print.h. */
#include <math.h>
#include <time.h>

#include "cmd/view_print.h"

bool view_is_told_elsewhere(const char *name)
{
	static const char *const told[] = { "vpid", "vtid", "procname", "pid", "tid", NULL };

	if (*name != 'v' && *name != 'p' && *name != 't')
		return false;
	for (const char *const *t = told; *t; t++)
		if (!strcmp(name, *t))
			return true;
	return false;
}

static void add_time(struct out *o, struct view_clock *c, int64_t time_ns)
{
	int64_t second = time_ns / 1000000000, ns = time_ns % 1000000000;

	if (ns < 0) {
		ns += 1000000000;
		second--;
	}
	if (second != c->second || !c->has_second) {
		time_t t = (time_t)second;
		struct tm tm = { 0 };

		localtime_r(&t, &tm);
		strftime(c->text, sizeof c->text, "%H:%M:%S", &tm);
		c->second = second;
		c->has_second = true;
	}
	out_bytes(o, c->text, 8);
	out_byte(o, '.');
	out_digits9(o, (uint32_t)ns);
}

static void add_delta(struct out *o, struct view_clock *c, int64_t time_ns)
{
	bool is_back = c->has_last && time_ns < c->last_ns;
	uint64_t delta = c->has_last ? (uint64_t)time_ns - (uint64_t)c->last_ns : 0;

	if (is_back)
		delta = -delta;
	out_bytes(o, is_back ? " (-" : " (+", 3);
	out_u64(o, delta / 1000000000);
	out_byte(o, '.');
	out_digits9(o, (uint32_t)(delta % 1000000000));
	out_literal(o, ") ");
	c->last_ns = time_ns;
	c->has_last = true;
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

static void add_who(struct out *o, const struct who *w)
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

/* A label that could be taken for something else is quoted. */
static void add_label(struct out *o, const struct ctf_value *v)
{
	static const char word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.+/";
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

/* Contexts that only the tracer needs, or that stand elsewhere in the line. */
static bool is_left_out(const struct ctf_value *v)
{
	if (v->is_hidden)
		return true;
	return v->scope == CTF_CONTEXT && v->name &&
	       (view_is_told_elsewhere(v->name) || !strcmp(v->name, "flags") || !strcmp(v->name, "preempt"));
}

/* Contexts in braces of their own, before the fields. */
static void add_fields(struct out *o, const struct trace_event *e)
{
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
		depth += is_opening(found);
		before = is_opening(found) ? " " : ", ";
	}
	out_room(o);
	if (scope != CTF_PAYLOAD)
		out_text(o, scope < 0 ? "{" : " }, {", scope < 0 ? 1 : 5);
	out_literal(o, " }\n");
}

void view_text(struct out *o, struct view_clock *c, const struct trace_event *e, const struct who *w,
	       bool shows_host)
{
	const char *name = e->ctf->class->name, *host = e->stream->source->hostname;

	out_room(o);
	add_time(o, c, e->time_ns);
	add_delta(o, c, e->time_ns);
	if (shows_host) {
		out_text(o, host, strlen(host));
		out_byte(o, ' ');
	}
	add_cpu(o, e->cpu);
	add_who(o, w);
	out_text(o, name, strlen(name));
	out_byte(o, ' ');
	add_fields(o, e);
}

void view_text_lost(struct out *o, const struct trace_event *e)
{
	out_room(o);
	out_literal(o, "[lost ");
	if (e->lost_events) {
		out_u64(o, e->lost_events);
		out_literal(o, " events");
	}
	if (e->lost_packets) {
		if (e->lost_events)
			out_literal(o, " and ");
		out_u64(o, e->lost_packets);
		out_literal(o, " packets");
	}
	out_literal(o, ", stream ");
	out_text(o, e->stream->path, strlen(e->stream->path));
	out_literal(o, "]\n");
}
