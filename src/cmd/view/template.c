/* SPDX-License-Identifier: MIT */
/*
 * cmd/view/template.c - builds the fragments of an event class.
 *
 * The text of all fragments of a class is one allocation behind the fragments, padded so that
 * out_padded() may copy whole blocks.
 */
#include "cmd/view/template.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "abi/capture.h"
#include "cmd/view/print.h"
#include "trace/text/public.h"

enum { TEXT_MAX = 16384, BEFORE_MAX = 512 };

struct builder {
	char text[TEXT_MAX];
	size_t size;
	size_t begin; /* of the fragment being built */
	struct view_fragment fragments[CTF_COLUMNS_MAX + 1];
	size_t offsets[CTF_COLUMNS_MAX + 1];
	uint32_t n;
	bool is_too_long;
};

static void add(struct builder *b, const char *text, size_t size)
{
	if (size > BEFORE_MAX || b->size + size - b->begin > BEFORE_MAX ||
	    b->size + size > TEXT_MAX) {
		b->is_too_long = true;
		return;
	}
	memcpy(b->text + b->size, text, size);
	b->size += size;
}

/* Names are escaped here, once for each class. */
static void add_name(struct builder *b, const char *name, size_t size)
{
	struct text shown = { 0 };

	text_add_printable(&shown, name, size);
	b->is_too_long |= shown.failed;
	add(b, shown.bytes ? shown.bytes : "", shown.size);
	text_fini(&shown);
}

static enum view_format format_of(const struct ctf_op *op)
{
	if (op->code != OP_NUMBER)
		return VIEW_TEXT;
	if (op->type->kind != CTF_INTEGER || op->type->base != 10)
		return VIEW_OTHER;
	return op->is_signed ? VIEW_SIGNED : VIEW_UNSIGNED;
}

static void end_fragment(struct builder *b, enum view_format format, uint32_t cell)
{
	assert(b->n <= CTF_COLUMNS_MAX);
	assert(b->begin <= b->size && b->size - b->begin <= BEFORE_MAX);
	b->offsets[b->n] = b->begin;
	b->fragments[b->n++] = (struct view_fragment){
		.size = (uint16_t)(b->size - b->begin),
		.format = (uint8_t)format,
		.cell = (uint8_t)cell,
	};
	b->begin = b->size;
}

static void begin(struct builder *b, const struct view_templates *ts,
		  const struct ctf_event_class *class)
{
	add(b, ts->before_name, strlen(ts->before_name));
	add_name(b, class->name, strlen(class->name));
	add(b, ts->behind_name, strlen(ts->behind_name));
	add(b, " ", 1);
}

/* The text before the value of @op; @scope: of the field before, -1: none. */
static void add_before(struct builder *b, const struct ctf_op *op, int *scope)
{
	if (op->scope != *scope)
		add(b, *scope < 0 ? "{ " : " }, { ", *scope < 0 ? 2 : 6);
	else
		add(b, ", ", 2);
	*scope = op->scope;
	if (op->name) {
		add_name(b, op->name, op->name_size);
		add(b, " = ", 3);
	}
}

static void end(struct builder *b, int scope)
{
	if (scope != CTF_PAYLOAD)
		add(b, scope < 0 ? "{" : " }, {", scope < 0 ? 1 : 5);
	add(b, " }\n", 3);
	end_fragment(b, VIEW_END, 0);
}

static void build(struct builder *b, const struct ctf_program *p)
{
	int scope = -1;

	for (uint32_t i = 0; i < p->n_columns; i++) {
		const struct ctf_op *op = p->columns[i];

		if (field_is_left_out(op->scope, op->name))
			continue;
		add_before(b, op, &scope);
		end_fragment(b, format_of(op), i);
	}
	end(b, scope);
}

static bool gives_value(const struct ctf_op *op)
{
	return op->code != OP_RUN && op->code != OP_SAVE && op->code != OP_END;
}

/* The text before a field that is left out belongs to the next one. */
static void build_walked(struct builder *b, const struct ctf_program *p)
{
	int scope = -1;

	for (uint32_t i = 0; i + 1 < p->n_ops; i++) {
		const struct ctf_op *op = &p->ops[i];
		bool is_shown = gives_value(op) && !op->is_hidden &&
				!field_is_left_out(op->scope, op->name);
		size_t begin = b->begin;

		if (is_shown)
			add_before(b, op, &scope);
		end_fragment(b, is_shown ? VIEW_OTHER : VIEW_SKIPPED, 0);
		if (!is_shown) {
			b->begin = begin;
			b->fragments[b->n - 1].size = 0;
		}
	}
	end(b, scope);
}

/* Whether the fields of all events come in one order, each with the same text before it. */
static bool is_straight(const struct ctf_program *p)
{
	uint32_t i = 0;

	for (; i < p->n_ops && p->ops[i].code != OP_END; i++) {
		const struct ctf_op *op = &p->ops[i];

		if (op->code == OP_LOOP || op->code == OP_AGAIN || op->code == OP_CHOICE ||
		    op->code == OP_JUMP || op->code == OP_OPEN || op->code == OP_CLOSE ||
		    op->code == OP_CLOSE_ARRAY)
			return false;
		/* left out where they are empty: field_is_nothing() */
		if (op->name && (!strcmp(op->name, ABI_CAPTURE_LATE) ||
				 !strcmp(op->name, ABI_CAPTURE_LATE_OLD)))
			return false;
	}
	return i + 1 == p->n_ops && i < CTF_COLUMNS_MAX;
}

static bool has_addresses(const struct ctf_program *p)
{
	for (uint32_t i = 0; i < p->n_ops; i++) {
		const struct ctf_op *op = &p->ops[i];

		if (op->name && gives_value(op) &&
		    address_kind_of(op->name, op->name_size, op->scope == CTF_CONTEXT, true))
			return true;
	}
	return false;
}

static struct view_template *keep(const struct builder *b, bool is_walked)
{
	struct view_template *t =
		malloc(sizeof *t + b->n * sizeof *t->fragments + b->size + OUT_PAD);
	char *text;

	if (!t)
		return NULL;
	t->is_walked = is_walked;
	t->n_fragments = b->n;
	text = (char *)&t->fragments[b->n];
	memcpy(text, b->text, b->size);
	memset(text + b->size, 0, OUT_PAD);
	for (uint32_t i = 0; i < b->n; i++) {
		t->fragments[i] = b->fragments[i];
		t->fragments[i].before = text + b->offsets[i];
	}
	return t;
}

static struct view_template *make(const struct view_templates *ts,
				  const struct ctf_event_class *class)
{
	const struct ctf_program *p = class->program;
	struct builder b = { .n = 0 };

	/* addresses are followed by names */
	if (!p || (!p->n_columns && !is_straight(p)) || has_addresses(p))
		return NULL;
	begin(&b, ts, class);
	if (p->n_columns)
		build(&b, p);
	else
		build_walked(&b, p);
	return b.is_too_long ? NULL : keep(&b, !p->n_columns);
}

int view_templates_open(struct view_templates *ts, uint32_t n_classes, const char *before_name,
			const char *behind_name)
{
	ts->before_name = before_name;
	ts->behind_name = behind_name;
	return view_templates_grow(ts, n_classes);
}

int view_templates_grow(struct view_templates *ts, uint32_t n_classes)
{
	size_t n = n_classes + (size_t)1, added = n - ts->n;
	struct view_template **of_class =
		reallocarray(ts->of_class, n, sizeof(struct view_template *));
	bool *is_made;

	if (of_class)
		ts->of_class = of_class;
	is_made = of_class ? realloc(ts->is_made, n * sizeof *is_made) : NULL;
	if (!is_made) {
		view_templates_close(ts);
		return -1;
	}
	ts->is_made = is_made;
	memset(of_class + ts->n, 0, added * sizeof(struct view_template *));
	memset(is_made + ts->n, 0, added * sizeof *is_made);
	ts->n = n_classes;
	return 0;
}

void view_templates_close(struct view_templates *ts)
{
	for (uint32_t i = 0; i < ts->n && ts->of_class; i++)
		free(ts->of_class[i]);
	free(ts->of_class);
	free(ts->is_made);
	*ts = (struct view_templates){ 0 };
}

const struct view_template *view_template_make(struct view_templates *ts,
					       const struct trace_event *e)
{
	uint32_t i = trace_class_number(e);

	assert(i < ts->n);
	if (!ts->is_made[i]) {
		ts->is_made[i] = true;
		ts->of_class[i] = make(ts, e->ctf->class);
	}
	return ts->of_class[i];
}
