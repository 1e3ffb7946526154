/* SPDX-License-Identifier: MIT */
/*
 * syntax/parse_filter.c - expressions of filters: duet-filter(7).
 *
 * They share tokens and tree with scripts.  Their operators are fewer, & ^ | bind tighter than
 * comparisons, and comparisons do not chain.  A field with its members and elements is one
 * EXPR_VARIABLE, in canonical form: a.b[3].
 */
#include "script/syntax/internal.h"

#include <errno.h>

static const struct filter_operator {
	char text[3];
	uint8_t op, strength;
} operators[] = {
	{ "||", SCRIPT_OR_ELSE, 1 }, { "&&", SCRIPT_AND_THEN, 2 }, { "==", SCRIPT_EQ, 3 },
	{ "!=", SCRIPT_NE, 3 },	     { "<", SCRIPT_LT, 3 },	   { "<=", SCRIPT_LE, 3 },
	{ ">", SCRIPT_GT, 3 },	     { ">=", SCRIPT_GE, 3 },	   { "~", SCRIPT_LIKE, 3 },
	{ "!~", SCRIPT_UNLIKE, 3 },  { "|", SCRIPT_OR, 4 },	   { "^", SCRIPT_XOR, 5 },
	{ "&", SCRIPT_AND, 6 },	     { "<<", SCRIPT_SHL, 7 },	   { ">>", SCRIPT_SHR, 7 },
	{ "+", SCRIPT_ADD, 8 },	     { "-", SCRIPT_SUB, 8 },	   { "*", SCRIPT_MUL, 9 },
	{ "/", SCRIPT_DIV, 9 },	     { "%", SCRIPT_MOD, 9 },
};
enum { STRENGTH_COMPARISON = 3 };

static struct script_expr *filter_binary(struct parser *p, int least);

static const struct filter_operator *next_operator(const struct parser *p)
{
	for (size_t i = 0; p->at->kind == TOKEN_MARK && i < sizeof operators / sizeof *operators;
	     i++)
		if (p->at->code == token_code(operators[i].text))
			return &operators[i];
	return NULL;
}

/* [3] */
static void filter_index(struct parser *p, struct text *name)
{
	const struct token *open = parse_take(p), *number = p->at;

	if (number->kind != TOKEN_NUMBER || (uint64_t)number->number >= UINT32_MAX) {
		parse_error(p, number, "an element has a number, as in a[3]");
		return;
	}
	parse_take(p);
	text_addf(name, "[%llu]", (unsigned long long)number->number);
	if (!parse_accept(p, "]"))
		parse_error(p, open, "this [ is not closed");
}

/* .b, of which no part stands apart */
static void filter_member(struct parser *p, struct text *name)
{
	const struct token *dot = parse_take(p);
	struct token behind = { .kind = TOKEN_END, .place = dot->place };

	if (p->at->kind == TOKEN_NAME && token_touches(dot, p->at)) {
		text_addf(name, ".%s", parse_take(p)->text);
		return;
	}
	behind.place.at++;
	parse_error(p, &behind, "a name is expected here: letters, digits and _");
}

/* a, a.b, a[3], a[3].b, and the same of a context */
static struct script_expr *filter_name(struct parser *p)
{
	const struct token *first = parse_take(p);
	struct script_expr *e =
		parse_expr_new(p, first->kind == TOKEN_NAME ? EXPR_VARIABLE : EXPR_CONTEXT, first);
	struct text name = { 0 };

	text_addf(&name, "%s", first->text);
	while (!p->failed && token_touches(p->at - 1, p->at)) {
		if (parse_is(p, "["))
			filter_index(p, &name);
		else if (parse_is(p, "."))
			filter_member(p, &name);
		else
			break;
	}
	e->text = name.failed ? NULL : script_copy(p->arena, name.bytes, name.size);
	e->size = (uint32_t)name.size;
	text_fini(&name);
	if (!e->text) {
		e->text = "";
		parse_no_memory(p);
	}
	return e;
}

static struct script_expr *filter_parentheses(struct parser *p)
{
	const struct token *open = parse_take(p);
	struct script_expr *e = filter_binary(p, 1);

	if (p->at->kind == TOKEN_END)
		parse_error(p, open, "this ( is not closed");
	else if (!parse_accept(p, ")"))
		parse_error(p, p->at, "an operator or ) is expected here");
	return e;
}

static struct script_expr *filter_literal(struct parser *p)
{
	const struct token *t = parse_take(p);
	struct script_expr *e = parse_expr_new(p,
					       t->kind == TOKEN_NUMBER ? EXPR_NUMBER
					       : t->kind == TOKEN_REAL ? EXPR_REAL
								       : EXPR_TEXT,
					       t);

	if (e->kind == EXPR_REAL)
		e->real = t->real;
	else if (e->kind == EXPR_NUMBER)
		e->number = t->number;
	if (t->kind != TOKEN_TEXT)
		return e;
	e->text = t->text;
	e->size = t->size;
	return e;
}

static struct script_expr *filter_primary(struct parser *p)
{
	switch (p->at->kind) {
	case TOKEN_NUMBER:
	case TOKEN_REAL:
	case TOKEN_TEXT:
		return filter_literal(p);
	case TOKEN_NAME:
	case TOKEN_CONTEXT:
		return filter_name(p);
	case TOKEN_END:
		parse_error(p, p->at,
			    p->at->place.at
				    ? "a field, a number or a text is missing here"
				    : "the expression is empty; write one, as in size > 4096");
		break;
	default:
		if (parse_is(p, "("))
			return filter_parentheses(p);
		parse_error(p, p->at, "a field, a number, a text or ( is expected here");
	}
	return parse_expr_new(p, EXPR_NUMBER, p->at);
}

static struct script_expr *filter_unary(struct parser *p)
{
	bool is_operator = parse_is(p, "!") || parse_is(p, "-");
	struct script_expr *e;

	parse_enter(p);
	if (is_operator) {
		e = parse_expr_new(p, EXPR_UNARY, p->at);
		e->op = token_is(parse_take(p), "!") ? SCRIPT_NOT : SCRIPT_MINUS;
		parse_expr_kid(p, e, filter_unary(p));
	} else {
		e = filter_primary(p);
	}
	parse_leave(p);
	return e;
}

static struct script_expr *filter_binary(struct parser *p, int least)
{
	struct script_expr *left = filter_unary(p), *e;
	const struct filter_operator *o;

	while ((o = next_operator(p)) && o->strength >= least) {
		e = parse_expr_new(p, EXPR_BINARY, parse_take(p));
		e->op = o->op;
		parse_expr_kid(p, e, left);
		parse_expr_kid(p, e, filter_binary(p, o->strength + 1));
		left = e;
		if (o->strength != STRENGTH_COMPARISON)
			continue;
		o = next_operator(p);
		if (o && o->strength == STRENGTH_COMPARISON)
			parse_error(p, p->at,
				    "comparisons do not chain; write a < b && b < c, or use "
				    "parentheses");
	}
	return left;
}

static void check_end(struct parser *p)
{
	const struct token *t = p->at;

	if (t->kind == TOKEN_END)
		return;
	if (parse_is(p, ")"))
		parse_error(p, t, "there is no ( for this )");
	else if (t->kind == TOKEN_NAME && !strcmp(t->text, "and"))
		parse_error(p, t, "write && for and");
	else if (t->kind == TOKEN_NAME && !strcmp(t->text, "or"))
		parse_error(p, t, "write || for or");
	else
		parse_error(p, t, "an operator is expected here, as == or &&");
}

struct script_expr *parse_filter(struct parser *p)
{
	struct script_expr *e = filter_binary(p, 1);

	check_end(p);
	return e;
}
