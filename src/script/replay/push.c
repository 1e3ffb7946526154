/* SPDX-License-Identifier: MIT */
/*
 * replay/push.c - a condition of a script as a filter.
 *
 * Integers of scripts wrap at 64 bits, those of filters do not: so the bounds of each result are
 * computed along (interval arithmetic: Moore, Interval Analysis, 1966), and a result that may leave
 * 64 bits is refused.
 */
#include "script/replay/push.h"

#include <inttypes.h>
#include <string.h>

struct bounds {
	__int128 low, high;
};

static bool number(struct push *p, const struct script_expr *e, struct text *t, struct bounds *b);
static bool truth(struct push *p, const struct script_expr *e, struct text *t);

static void cut(struct text *t, size_t size)
{
	if (t->bytes && t->size > size) {
		t->size = size;
		t->bytes[size] = 0;
	}
}

static bool fits(const struct bounds *b)
{
	return b->low >= INT64_MIN && b->high <= INT64_MAX;
}

static bool constant(struct text *t, int64_t value, struct bounds *b)
{
	*b = (struct bounds){ value, value };
	text_addf(t, value < 0 ? "(%" PRId64 ")" : "%" PRId64, value);
	return true;
}

/* A variable that no handler writes keeps its first value. */
static bool variable(struct push *p, const struct script_expr *e, struct text *t, struct bounds *b)
{
	const struct script_variable *v = e->variable;

	if (!p->global || !v || !v->is_global || v->is_array || v->is_written)
		return false;
	return constant(t, p->global(p, v), b);
}

static bool field_number(struct push *p, const struct script_expr *e, struct text *t,
			 struct bounds *b)
{
	struct push_field f;

	if (p->find(p, e, &f) != PUSH_NUMBER)
		return false;
	*b = (struct bounds){ f.low, f.high };
	text_addf(t, "%s", f.name);
	return true;
}

static bool unary(struct push *p, const struct script_expr *e, struct text *t, struct bounds *b)
{
	struct bounds of;

	if (e->op == SCRIPT_PLUS)
		return number(p, e->kids[0], t, b);
	text_addf(t, e->op == SCRIPT_INVERT ? "(-1 - " : "(0 - ");
	if ((e->op != SCRIPT_MINUS && e->op != SCRIPT_INVERT) || !number(p, e->kids[0], t, &of))
		return false;
	text_addf(t, ")");
	*b = (struct bounds){ -of.high - (e->op == SCRIPT_INVERT),
			      -of.low - (e->op == SCRIPT_INVERT) };
	return fits(b);
}

static struct bounds products(const struct bounds *x, const struct bounds *y)
{
	const __int128 all[] = { x->low * y->low, x->low * y->high, x->high * y->low,
				 x->high * y->high };
	struct bounds b = { all[0], all[0] };

	for (int i = 1; i < 4; i++) {
		if (all[i] < b.low)
			b.low = all[i];
		if (all[i] > b.high)
			b.high = all[i];
	}
	return b;
}

/* By a constant that is not 0.  -2^63 / -1 does not fit. */
static bool divide(enum script_op op, const struct bounds *x, const struct bounds *y,
		   struct bounds *b)
{
	__int128 by = y->low < 0 ? -y->low : y->low;

	if (y->low != y->high || !y->low)
		return false;
	if (op == SCRIPT_MOD) {
		*b = (struct bounds){ x->low < 0 ? 1 - by : 0, x->high > 0 ? by - 1 : 0 };
		return y->low != -1;
	}
	*b = y->low > 0 ? (struct bounds){ x->low / by, x->high / by }
			: (struct bounds){ -(x->high / by), -(x->low / by) };
	return true;
}

/* By a constant from 0 to 63. */
static bool shift(enum script_op op, const struct bounds *x, const struct bounds *y,
		  struct bounds *b)
{
	if (y->low != y->high || y->low < 0 || y->low > 63)
		return false;
	*b = op == SCRIPT_SHL ? (struct bounds){ x->low * ((__int128)1 << (int)y->low),
						 x->high * ((__int128)1 << (int)y->low) }
			      : (struct bounds){ x->low >> (int)y->low, x->high >> (int)y->low };
	return true;
}

static struct bounds bits(enum script_op op, const struct bounds *x, const struct bounds *y)
{
	__int128 high = 1;

	if (op == SCRIPT_AND && (x->low >= 0 || y->low >= 0))
		return (struct bounds){ 0, x->low < 0	       ? y->high
					   : y->low < 0	       ? x->high
					   : x->high < y->high ? x->high
							       : y->high };
	if (op == SCRIPT_AND || x->low < 0 || y->low < 0)
		return (struct bounds){ INT64_MIN, INT64_MAX };
	while (high <= x->high || high <= y->high)
		high *= 2;
	return (struct bounds){ 0, high - 1 };
}

static bool compute(enum script_op op, const struct bounds *x, const struct bounds *y,
		    struct bounds *b)
{
	switch (op) {
	case SCRIPT_ADD:
		*b = (struct bounds){ x->low + y->low, x->high + y->high };
		return true;
	case SCRIPT_SUB:
		*b = (struct bounds){ x->low - y->high, x->high - y->low };
		return true;
	case SCRIPT_MUL:
		*b = products(x, y);
		return true;
	case SCRIPT_DIV:
	case SCRIPT_MOD:
		return divide(op, x, y, b);
	case SCRIPT_SHL:
	case SCRIPT_SHR:
		return shift(op, x, y, b);
	case SCRIPT_AND:
	case SCRIPT_OR:
	case SCRIPT_XOR:
		*b = bits(op, x, y);
		return true;
	default:
		return false;
	}
}

static const char *word(uint8_t op)
{
	static const char *const words[] = {
		[SCRIPT_ADD] = "+", [SCRIPT_SUB] = "-",	 [SCRIPT_MUL] = "*",  [SCRIPT_DIV] = "/",
		[SCRIPT_MOD] = "%", [SCRIPT_SHL] = "<<", [SCRIPT_SHR] = ">>", [SCRIPT_AND] = "&",
		[SCRIPT_XOR] = "^", [SCRIPT_OR] = "|",	 [SCRIPT_EQ] = "==",  [SCRIPT_NE] = "!=",
		[SCRIPT_LT] = "<",  [SCRIPT_LE] = "<=",	 [SCRIPT_GT] = ">",   [SCRIPT_GE] = ">=",
	};

	return op < sizeof words / sizeof *words ? words[op] : NULL;
}

static bool is_comparison(uint8_t op)
{
	return op >= SCRIPT_EQ && op <= SCRIPT_GE;
}

static bool arithmetic(struct push *p, const struct script_expr *e, struct text *t,
		       struct bounds *b)
{
	struct bounds x, y;

	text_addf(t, "(");
	if (!word(e->op) || !number(p, e->kids[0], t, &x))
		return false;
	text_addf(t, " %s ", word(e->op));
	if (!number(p, e->kids[1], t, &y) || !compute((enum script_op)e->op, &x, &y, b))
		return false;
	text_addf(t, ")");
	return fits(b);
}

/* Recursion follows the height of the tree, which the parser bounds. */
static bool number(struct push *p, const struct script_expr *e, struct text *t, struct bounds *b)
{
	if (e->type != SCRIPT_LONG)
		return false;
	if (e->slot >= 0)
		return field_number(p, e, t, b);
	if (e->kind == EXPR_NUMBER)
		return constant(t, e->number, b);
	if (e->kind == EXPR_VARIABLE)
		return variable(p, e, t, b);
	if (e->kind == EXPR_UNARY && e->op != SCRIPT_NOT)
		return unary(p, e, t, b);
	if (e->kind == EXPR_BINARY && !is_comparison(e->op) && e->op != SCRIPT_AND_THEN &&
	    e->op != SCRIPT_OR_ELSE)
		return arithmetic(p, e, t, b);
	*b = (struct bounds){ 0, 1 };
	return (e->kind == EXPR_UNARY || e->kind == EXPR_BINARY) && truth(p, e, t);
}

/* A field and a text that is no longer than any string: whatever is cut of the field differs. */
static bool compare_texts(struct push *p, const struct script_expr *e, struct text *t)
{
	bool is_mirrored = e->kids[0]->kind == EXPR_TEXT && e->kids[0]->slot < 0;
	const struct script_expr *field = e->kids[is_mirrored], *text = e->kids[!is_mirrored];
	struct push_field f;

	if ((e->op != SCRIPT_EQ && e->op != SCRIPT_NE) || field->slot < 0 || text->slot >= 0 ||
	    text->kind != EXPR_TEXT || text->size + 1 >= p->string_bytes ||
	    memchr(text->text, 0, text->size) || p->find(p, field, &f) != PUSH_TEXT)
		return false;
	text_addf(t, "(%s %s ", f.name, word(e->op));
	script_print_expr(t, text);
	text_addf(t, ")");
	return true;
}

static enum script_op mirrored(uint8_t op)
{
	return op == SCRIPT_LT	 ? SCRIPT_GT
	       : op == SCRIPT_LE ? SCRIPT_GE
	       : op == SCRIPT_GT ? SCRIPT_LT
	       : op == SCRIPT_GE ? SCRIPT_LE
				 : (enum script_op)op;
}

/* A field of unsigned 64 bits and a constant that is not negative: values from 2^63 on are less than
 * that in scripts. */
static bool compare_wide(struct push *p, const struct script_expr *e, struct text *t)
{
	struct push_field f = { NULL, 0, 0 };
	bool is_mirrored = e->kids[0]->slot < 0;
	const struct script_expr *field = e->kids[is_mirrored];
	enum script_op op = is_mirrored ? mirrored(e->op) : (enum script_op)e->op;
	struct text value = { 0 };
	struct bounds b = { -1, -1 };
	bool is_fine = field->slot >= 0 && p->find(p, field, &f) == PUSH_WIDE &&
		       number(p, e->kids[!is_mirrored], &value, &b) && b.low == b.high &&
		       b.low >= 0;

	if (is_fine && (op == SCRIPT_EQ || op == SCRIPT_NE))
		text_addf(t, "(%s %s %s)", f.name, word((uint8_t)op), value.bytes);
	else if (is_fine && (op == SCRIPT_GT || op == SCRIPT_GE))
		text_addf(t, "(%s %s %s && %s <= %" PRId64 ")", f.name, word((uint8_t)op),
			  value.bytes, f.name, INT64_MAX);
	else if (is_fine)
		text_addf(t, "(%s %s %s || %s > %" PRId64 ")", f.name, word((uint8_t)op),
			  value.bytes, f.name, INT64_MAX);
	text_fini(&value);
	return is_fine;
}

static bool compare(struct push *p, const struct script_expr *e, struct text *t)
{
	struct bounds x, y;
	size_t size = t->size;

	if (e->kids[0]->type == SCRIPT_STRING)
		return compare_texts(p, e, t);
	text_addf(t, "(");
	if (number(p, e->kids[0], t, &x)) {
		text_addf(t, " %s ", word(e->op));
		if (number(p, e->kids[1], t, &y)) {
			text_addf(t, ")");
			return true;
		}
	}
	cut(t, size);
	return compare_wide(p, e, t);
}

static bool joined(struct push *p, const struct script_expr *a, const char *op,
		   const struct script_expr *b, struct text *t)
{
	text_addf(t, "(");
	if (!truth(p, a, t))
		return false;
	text_addf(t, " %s ", op);
	if (!truth(p, b, t))
		return false;
	text_addf(t, ")");
	return true;
}

/* May leave part of a text. */
static bool truth(struct push *p, const struct script_expr *e, struct text *t)
{
	struct bounds b;

	if (e->slot < 0 && e->kind == EXPR_UNARY && e->op == SCRIPT_NOT) {
		text_addf(t, "!");
		return truth(p, e->kids[0], t);
	}
	if (e->slot < 0 && e->kind == EXPR_BINARY && is_comparison(e->op))
		return compare(p, e, t);
	if (e->slot < 0 && e->kind == EXPR_BINARY && e->op == SCRIPT_AND_THEN)
		return joined(p, e->kids[0], "&&", e->kids[1], t);
	if (e->slot < 0 && e->kind == EXPR_BINARY && e->op == SCRIPT_OR_ELSE)
		return joined(p, e->kids[0], "||", e->kids[1], t);
	text_addf(t, "(");
	if (!number(p, e, t, &b))
		return false;
	text_addf(t, " != 0)");
	return true;
}

bool push_condition(struct push *p, const struct script_expr *e, struct text *t)
{
	size_t size = t->size;

	if (truth(p, e, t) && !t->failed)
		return true;
	cut(t, size);
	return false;
}
