/* SPDX-License-Identifier: MIT */
/* syntax/parse_primary.c - literals, variables, calls; $ and @ are in parse_context.c. */
#include "script/syntax/internal.h"

#include <stdio.h>

const char *parse_text(struct parser *p, uint32_t *size)
{
	const struct token *first = p->at, *last = first;
	uint32_t sum = 0;
	char *text;

	for (; last->kind == TOKEN_TEXT; last++)
		sum += last->size;
	p->at = last;
	*size = sum;
	if (last == first) {
		parse_expected(p, "a text");
		*size = 0;
		return "";
	}
	if (last == first + 1)
		return first->text;
	text = parse_new(p, (size_t)sum + 1);
	if (!text)
		return "";
	for (char *end = text; first < last; first++) {
		memcpy(end, first->text, first->size);
		end += first->size;
	}
	return text;
}

void parse_index(struct parser *p, struct script_expr *e)
{
	parse_expect(p, "[", "before the keys");
	do {
		bool is_any =
			parse_is(p, "*") && (token_is(p->at + 1, ",") || token_is(p->at + 1, "]"));

		if (is_any)
			parse_take(p);
		parse_expr_kid(p, e, is_any ? NULL : parse_expression(p));
	} while (parse_accept(p, ","));
	parse_expect(p, "]", "behind the keys");
}

void parse_arguments(struct parser *p, struct script_expr *e)
{
	parse_expect(p, "(", "before the arguments");
	if (parse_accept(p, ")"))
		return;
	do
		parse_expr_kid(p, e, parse_expression(p));
	while (parse_accept(p, ","));
	parse_expect(p, ")", "or `,` behind an argument");
}

struct script_expr *parse_variable(struct parser *p, const char *what)
{
	struct script_expr *e = parse_expr_new(p, EXPR_VARIABLE, p->at);

	e->text = parse_name(p, what)->text;
	e->size = (uint32_t)strlen(e->text);
	return e;
}

const char *script_print_name(unsigned i)
{
	static const char *const names[] = {
		"print",  "println",  "printd",	 "printdln",  "printf",
		"sprint", "sprintln", "sprintd", "sprintdln", "sprintf"
	};

	return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static bool is_print(const char *name)
{
	for (unsigned i = 0; script_print_name(i); i++)
		if (!strcmp(script_print_name(i), name))
			return true;
	return false;
}

/* x, x[...], x(...), print(...) */
static struct script_expr *parse_symbol(struct parser *p)
{
	struct script_expr *e = parse_variable(p, "a name");

	if (is_print(e->text)) {
		e->kind = EXPR_PRINT;
		if (!parse_is(p, "("))
			parse_expected(p, "`(` behind `%s`", e->text);
		parse_arguments(p, e);
	} else if (parse_is(p, "(")) {
		e->kind = EXPR_CALL;
		parse_arguments(p, e);
	} else if (parse_is(p, "[")) {
		e->kind = EXPR_ELEMENT;
		parse_index(p, e);
	} else if (parse_is(p, "->")) { /* the structure that x was assigned */
		parse_path(p, e);
	}
	return e;
}

/* [a, *] in array */
static struct script_expr *parse_keys_in(struct parser *p)
{
	struct script_expr *e = parse_expr_new(p, EXPR_IN, p->at);

	parse_index(p, e);
	parse_expect(p, "in", "behind the keys, as in [a, b] in array");
	e->text = parse_name(p, "the name of an array behind `in`")->text;
	return e;
}

static struct script_expr *parse_parentheses(struct parser *p)
{
	struct script_expr *e;

	parse_take(p);
	e = parse_expression(p);
	parse_expect(p, ")", "behind the expression");
	return e;
}

/* &$x->y, &@cast(...)->y, &@var(...) */
static struct script_expr *parse_address(struct parser *p)
{
	struct script_expr *e;

	parse_take(p);
	if (p->at->kind == TOKEN_CONTEXT)
		e = parse_context(p);
	else if (p->at->kind == TOKEN_OPERATOR)
		e = parse_operator_call(p);
	else
		e = parse_expr_new(p, EXPR_NUMBER, p->at);
	if (e->kind != EXPR_CONTEXT && e->kind != EXPR_CAST && e->kind != EXPR_STATIC)
		parse_expected(p, "a $variable, @cast or @var behind `&`");
	e->is_address = true;
	return e;
}

static struct script_expr *parse_literal(struct parser *p)
{
	struct script_expr *e;

	if (p->at->kind == TOKEN_NUMBER) {
		e = parse_expr_new(p, EXPR_NUMBER, p->at);
		e->number = parse_take(p)->number;
		return e;
	}
	e = parse_expr_new(p, EXPR_TEXT, p->at);
	e->text = parse_text(p, &e->size);
	return e;
}

struct script_expr *parse_primary(struct parser *p)
{
	switch (p->at->kind) {
	case TOKEN_NUMBER:
	case TOKEN_TEXT:
		return parse_literal(p);
	case TOKEN_NAME:
		return parse_symbol(p);
	case TOKEN_CONTEXT:
		return parse_context(p);
	case TOKEN_OPERATOR:
		return parse_operator_call(p);
	case TOKEN_EMBEDDED:
		parse_error(p, p->at,
			    "embedded C is not supported: use functions of the library, "
			    "$variables or @cast(pointer, \"type\")->member");
		break;
	default:
		if (parse_is(p, "("))
			return parse_parentheses(p);
		if (parse_is(p, "["))
			return parse_keys_in(p);
		if (parse_is(p, "&"))
			return parse_address(p);
		parse_expected(p, "an expression");
	}
	return parse_expr_new(p, EXPR_NUMBER, p->at);
}
