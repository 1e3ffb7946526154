/* SPDX-License-Identifier: MIT */
/*
 * kernel/filter.c - writes the tree of a filter in the kernel's language.
 *
 * The kernel has the same operators, but compares a field with a constant only.
 */
#include "kernel/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "filter/compile_tree.h"
#include "kernel/convert/layout.h"

struct translation {
	const char *system;
	const struct kernel_format *format;
	struct text *out;
	struct diag *d;
};

static bool has_field(const struct kernel_format *f, const char *name)
{
	for (uint32_t i = 0; i < f->n_fields; i++)
		if (!strcmp(f->fields[i].name, name))
			return true;
	return false;
}

/* @shift: the kernel's value minus the recorded one. */
static int field(struct translation *t, const struct script_expr *e, int64_t *shift)
{
	const char *name;

	switch (e->kind) {
	case EXPR_VARIABLE:
		break;
	case EXPR_CONTEXT:
		return filter_fail(t->d, e->place,
				   "the kernel's filters can only compare fields of the event");
	case EXPR_UNARY:
	case EXPR_BINARY:
		return filter_fail(t->d, e->place,
				   "the kernel's filters do not compute: they compare a field with "
				   "a constant");
	default:
		return filter_fail(t->d, e->place, "a field is expected here");
	}
	name = kernel_layout_kernel_name(t->system, e->text);
	if (!has_field(t->format, name))
		return filter_fail(t->d, e->place, "%s:%s has no field `%s'", t->system,
				   t->format->name, e->text);
	*shift = kernel_layout_shift(name);
	text_addf(t->out, "%s", name);
	return 0;
}

static int constant_text(struct translation *t, const struct script_expr *e)
{
	if (memchr(e->text, '"', e->size))
		return filter_fail(t->d, e->place,
				   "the kernel's filters cannot compare with a text that has a "
				   "quotation mark");
	text_addf(t->out, "\"%.*s\"", (int)e->size, e->text);
	return 0;
}

static int constant(struct translation *t, const struct script_expr *e, int64_t shift)
{
	bool is_negative = e->kind == EXPR_UNARY && e->op == SCRIPT_MINUS;
	uint64_t value;

	if (e->kind == EXPR_TEXT)
		return constant_text(t, e);
	if (e->kind == EXPR_REAL)
		return filter_fail(t->d, e->place,
				   "the kernel's filters cannot compare with fractions");
	if (is_negative) {
		e = e->kids[0];
		if (e->kind != EXPR_NUMBER)
			return filter_fail(t->d, e->place, "a number is expected after -");
	}
	if (e->kind != EXPR_NUMBER)
		return filter_fail(t->d, e->place,
				   "the kernel's filters compare a field with a constant");
	value = (uint64_t)e->number;
	if (is_negative || shift)
		text_addf(t->out, "%" PRId64,
			  (int64_t)((is_negative ? 0 - value : value) + (uint64_t)shift));
	else
		text_addf(t->out, "%" PRIu64, value);
	return 0;
}

static bool is_constant(const struct script_expr *e)
{
	return e->kind == EXPR_NUMBER || e->kind == EXPR_REAL || e->kind == EXPR_TEXT ||
	       (e->kind == EXPR_UNARY && e->op == SCRIPT_MINUS && is_constant(e->kids[0]));
}

/* How the kernel writes an operator of one field and one constant; NULL: it has none. */
static const char *word(uint8_t op, bool is_mirrored)
{
	static const char *const words[][2] = {
		[SCRIPT_EQ] = { "==", "==" },	 [SCRIPT_NE] = { "!=", "!=" },
		[SCRIPT_LT] = { "<", ">" },	 [SCRIPT_LE] = { "<=", ">=" },
		[SCRIPT_GT] = { ">", "<" },	 [SCRIPT_GE] = { ">=", "<=" },
		[SCRIPT_AND] = { "&", "&" },	 [SCRIPT_LIKE] = { "~", NULL },
		[SCRIPT_UNLIKE] = { "~", NULL },
	};

	return op < sizeof words / sizeof *words ? words[op][is_mirrored] : NULL;
}

/* f == 1, also 1 == f; f !~ "x" becomes !(f ~ "x"). */
static int comparison(struct translation *t, const struct script_expr *e)
{
	bool is_mirrored = is_constant(e->kids[0]);
	const char *op = word(e->op, is_mirrored);
	int64_t shift = 0;
	int err;

	if (!op)
		return filter_fail(t->d, e->place,
				   "the kernel's filters do not compute: they compare a field with "
				   "a constant");
	text_addf(t->out, "%s", e->op == SCRIPT_UNLIKE ? "(!(" : "");
	err = field(t, e->kids[is_mirrored], &shift);
	text_addf(t->out, "%s", op);
	if (!err)
		err = constant(t, e->kids[!is_mirrored], shift);
	text_addf(t->out, "%s", e->op == SCRIPT_UNLIKE ? "))" : "");
	return err;
}

static int condition(struct translation *t, const struct script_expr *e);

/* An operand of && or ||: the kernel knows that && binds tighter. */
static int operand(struct translation *t, const struct script_expr *e, uint8_t outer)
{
	bool is_inner = e->kind == EXPR_BINARY && e->op != outer &&
			(e->op == SCRIPT_AND_THEN || e->op == SCRIPT_OR_ELSE);
	int err;

	text_addf(t->out, "%s", is_inner ? "(" : "");
	err = condition(t, e);
	text_addf(t->out, "%s", is_inner ? ")" : "");
	return err;
}

/* Recursion follows the height of the tree, which the parser bounds. */
static int condition(struct translation *t, const struct script_expr *e)
{
	int64_t shift;
	int err;

	if (e->kind == EXPR_UNARY && e->op == SCRIPT_NOT) {
		text_addf(t->out, "!(");
		err = condition(t, e->kids[0]);
		text_addf(t->out, ")");
		return err;
	}
	if (e->kind != EXPR_BINARY)
		return field(t, e, &shift);
	if (e->op != SCRIPT_AND_THEN && e->op != SCRIPT_OR_ELSE)
		return comparison(t, e);
	err = operand(t, e->kids[0], e->op);
	text_addf(t->out, e->op == SCRIPT_AND_THEN ? "&&" : "||");
	return err ? err : operand(t, e->kids[1], e->op);
}

int kernel_filter(const char *expression, const char *system, const struct kernel_format *f,
		  struct text *out, struct diag *d)
{
	struct translation t = { .system = system, .format = f, .out = out, .d = d };
	struct filter_tree tree;
	int err;

	if (!expression[strspn(expression, " \t\n")])
		return filter_fail(d, (struct script_place){ 0 }, "the filter is empty");
	err = filter_parse(&tree, expression, d);
	if (err == -E2BIG)
		err = diag_fail(d, -EINVAL, "filter: the expression is nested too deep");
	if (!err)
		err = condition(&t, tree.root);
	if (!err && out->failed)
		err = -ENOMEM;
	filter_tree_fini(&tree);
	return err;
}
