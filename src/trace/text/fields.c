/* SPDX-License-Identifier: MIT */
/*
 * trace/text/fields.c - the fields of an event are walked, and each value is written by its type: see
 * fields.h.
 */
#include "trace/text/fields.h"

#include <math.h>
#include <string.h>

#include "abi/capture.h"
#include "base/atomic.h"

bool field_is_shown_elsewhere(const char *name)
{
	static const char *const names[] = { "vpid", "vtid", "procname", "pid", "tid", NULL };

	if (*name != 'v' && *name != 'p' && *name != 't')
		return false;
	for (const char *const *t = names; *t; t++)
		if (!strcmp(name, *t))
			return true;
	return false;
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
static void add_one_label(struct out *o, const char *label)
{
	static const char word[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.+/";
	size_t n = strlen(label);

	if (n && strspn(label, word) == n)
		out_text(o, label, n);
	else
		out_quoted(o, label, n);
}

static void add_label(struct out *o, const struct ctf_value *v)
{
	const char *label;
	uint32_t i = 0, n = 0;

	if (!v->label)
		out_byte(o, '?');
	else if (!v->labels)
		add_one_label(o, v->label);
	while (v->labels && (label = ctf_enum_next(v->labels, v->u, &i))) {
		out_room(o);
		if (n)
			out_byte(o, '|');
		if (++n > FIELD_LABELS_MAX) {
			out_literal(o, "...");
			break;
		}
		add_one_label(o, label);
	}
	out_room(o);
	out_literal(o, ": ");
	add_integer(o, v);
}

static void add_text(struct out *o, const struct ctf_value *v)
{
	struct text utf8 = { 0 };
	const char *text;
	size_t size;

	if (v->encoding == CTF_UTF8)
		return out_quoted(o, v->text, v->size);
	text = encoding_text(v, &utf8, &size);
	out_quoted(o, text, size);
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

enum { NUMBERS = 28, NUMBER_TEXT = 72 };
_Static_assert(NUMBERS *NUMBER_TEXT <= OUT_SLACK / 2, "out_room() once for all of them");

static inline char *put_decimal(char *at, uint64_t v, bool is_signed)
{
	if (is_signed && (int64_t)v < 0) {
		*at++ = '-';
		v = -v;
	}
	return out_put_u64(at, v);
}

/* The first of an array has no comma before it. */
static void add_decimals(struct out *o, const uint64_t *numbers, uint32_t n, bool is_signed,
			 bool is_first)
{
	char *at = o->at;
	uint32_t i = 0;

	if (is_first) {
		*at++ = ' ';
		at = put_decimal(at, numbers[i++], is_signed);
	}
	for (; i < n; i++) {
		memcpy(at, ", ", 2);
		at = put_decimal(at + 2, numbers[i], is_signed);
	}
	o->at = at;
}

/* Adds the elements of an array that has just been opened, if they are integers.  Returns whether
 * there were any. */
static bool add_numbers(struct out *o, struct ctf_walk *w)
{
	uint64_t numbers[NUMBERS];
	struct ctf_value v;
	bool is_first = true;
	uint32_t n;

	while ((n = ctf_walk_numbers(w, &v, numbers, NUMBERS))) {
		out_room(o);
		if (likely(v.base == 10)) {
			add_decimals(o, numbers, n, v.is_signed, is_first);
			is_first = false;
			continue;
		}
		for (uint32_t i = 0; i < n; i++, is_first = false) {
			out_bytes(o, is_first ? " " : ", ", is_first ? 1 : 2);
			v.u = numbers[i];
			add_integer(o, &v);
		}
	}
	return !is_first;
}

static bool is_opening(enum ctf_found f)
{
	return f == CTF_OPEN || f == CTF_OPEN_ARRAY;
}

static bool is_closing(enum ctf_found f)
{
	return f == CTF_CLOSE || f == CTF_CLOSE_ARRAY;
}

void fields_add_one(struct out *o, struct ctf_walk *w, enum ctf_found found,
		    const struct ctf_value *v)
{
	struct ctf_value element;
	bool is_first;

	add_value(o, found, v);
	if (found != CTF_OPEN_ARRAY)
		return;
	is_first = !add_numbers(o, w);
	while ((found = ctf_walk_next(w, &element)) != CTF_CLOSE_ARRAY && found != CTF_WALK_END) {
		out_room(o);
		out_bytes(o, is_first ? " " : ", ", is_first ? 1 : 2);
		is_first = false;
		add_value(o, found, &element);
	}
	out_room(o);
	out_literal(o, " ]");
}

void field_skip_one(struct ctf_walk *w, enum ctf_found found)
{
	struct ctf_value v;

	while (found != CTF_WALK_END && w->is_in_array)
		found = ctf_walk_next(w, &v);
}

bool field_is_left_out(int scope, const char *name)
{
	return scope == CTF_CONTEXT && name &&
	       (field_is_shown_elsewhere(name) || !strcmp(name, "flags") ||
		!strcmp(name, "preempt"));
}

bool field_is_nothing(const struct ctf_walk *w, enum ctf_found found, const struct ctf_value *v)
{
	return found == CTF_OPEN_ARRAY && !w->left && v->name &&
	       (!strcmp(v->name, ABI_CAPTURE_LATE) || !strcmp(v->name, ABI_CAPTURE_LATE_OLD));
}

static bool is_left_out(const struct ctf_walk *w, enum ctf_found found, const struct ctf_value *v)
{
	return v->is_hidden || field_is_nothing(w, found, v) ||
	       field_is_left_out(v->scope, v->name);
}

void fields_add(struct out *o, struct addresses *addresses, const struct trace_event *e,
		int64_t pid)
{
	enum address_kind address = ADDRESS_NONE;
	struct ctf_value v;
	struct ctf_walk w;
	enum ctf_found found;
	int depth = 0, skip_depth = -1, scope = -1;
	const char *before = "";
	bool is_end, is_skipped;

	ctf_walk_event(&w, e->ctf, CTF_CONTEXT);
	while ((found = ctf_walk_next(&w, &v)) != CTF_WALK_END) {
		out_room(o);
		is_end = is_closing(found);
		if (is_end && --depth == skip_depth) {
			skip_depth = -1;
			continue;
		}
		is_skipped = !is_end && is_left_out(&w, found, &v);
		if (skip_depth < 0 && is_skipped && is_opening(found))
			skip_depth = depth;
		if (skip_depth >= 0 || is_skipped) {
			depth += is_opening(found);
			continue;
		}
		if (v.scope != scope) {
			out_data(o, scope < 0 ? "{" : " }, {", scope < 0 ? 1 : 5);
			scope = v.scope;
			before = " ";
		}
		if (!is_end)
			out_bytes(o, before, strlen(before));
		if (v.name && !is_end) {
			out_text(o, v.name, v.name_size);
			out_literal(o, " = ");
		}
		add_value(o, found, &v);
		if (v.name)
			address = address_kind_of(v.name, v.name_size, v.scope == CTF_CONTEXT,
						  e->stream->source->domain == TRACE_KERNEL);
		if (address && (found == CTF_UINT || found == CTF_INT))
			addresses_add(o, addresses, pid, e->clock, v.u, address);
		depth += is_opening(found);
		before = is_opening(found) ? " " : ", ";
		if (found == CTF_OPEN_ARRAY && !address && add_numbers(o, &w))
			before = ", ";
	}
	out_room(o);
	if (scope != CTF_PAYLOAD)
		out_data(o, scope < 0 ? "{" : " }, {", scope < 0 ? 1 : 5);
	out_literal(o, " }");
}

bool fields_have_addresses(const struct trace_event *e)
{
	bool is_kernel = e->stream->source->domain == TRACE_KERNEL;
	struct ctf_value v;
	struct ctf_walk w;

	ctf_walk_event(&w, e->ctf, CTF_CONTEXT);
	while (ctf_walk_next(&w, &v) != CTF_WALK_END)
		if (v.name &&
		    address_kind_of(v.name, v.name_size, v.scope == CTF_CONTEXT, is_kernel))
			return true;
	return false;
}

void column_add(struct out *o, const struct ctf_op *op, const struct ctf_column *cell)
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
		v.labels = op->type->has_several ? op->type : NULL;
		add_label(o, &v);
	} else {
		add_integer(o, &v);
	}
}
