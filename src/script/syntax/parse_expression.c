/* SPDX-License-Identifier: MIT */
/*
 * syntax/parse_expression.c - operators of scripts, by precedence climbing.
 *
 * From weak to strong: assignments, ? :, ||, &&, |, ^, &, in, comparisons (all of one strength),
 * shifts, the dot, + -, * / %, the unary ones, ++ --.
 */
#include "script/syntax/internal.h"

#include "script/syntax/print.h"

static const struct binary {
	uint64_t code;
	char text[5];
	uint8_t op, strength;
} binaries[] = {
#define MARK1(a) (uint64_t)(a)
#define MARK2(a, b) (MARK1(a) | (uint64_t)(b) << 8)
#define MARK3(a, b, c) (MARK2(a, b) | (uint64_t)(c) << 16)
	{ MARK2('|', '|'), "||", SCRIPT_OR_ELSE, 1 },
	{ MARK2('&', '&'), "&&", SCRIPT_AND_THEN, 2 },
	{ MARK1('|'), "|", SCRIPT_OR, 3 },
	{ MARK1('^'), "^", SCRIPT_XOR, 4 },
	{ MARK1('&'), "&", SCRIPT_AND, 5 },
	{ MARK2('=', '='), "==", SCRIPT_EQ, 7 },
	{ MARK2('!', '='), "!=", SCRIPT_NE, 7 },
	{ MARK1('<'), "<", SCRIPT_LT, 7 },
	{ MARK2('<', '='), "<=", SCRIPT_LE, 7 },
	{ MARK1('>'), ">", SCRIPT_GT, 7 },
	{ MARK2('>', '='), ">=", SCRIPT_GE, 7 },
	{ MARK2('<', '<'), "<<", SCRIPT_SHL, 8 },
	{ MARK2('>', '>'), ">>", SCRIPT_SHR, 8 },
	{ MARK3('>', '>', '>'), ">>>", SCRIPT_SHR_LOGICAL, 8 },
	{ MARK1('.'), ".", SCRIPT_CONCAT, 9 },
	{ MARK1('+'), "+", SCRIPT_ADD, 10 },
	{ MARK1('-'), "-", SCRIPT_SUB, 10 },
	{ MARK1('*'), "*", SCRIPT_MUL, 11 },
	{ MARK1('/'), "/", SCRIPT_DIV, 11 },
	{ MARK1('%'), "%", SCRIPT_MOD, 11 },
	{ MARK3('<', '<', '<'), "<<<", SCRIPT_COLLECT, 0 },
};
enum { STRENGTH_IN = 6, STRENGTH_MATCH = 7 };

const char *print_op(enum script_op op)
{
	for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
		if (binaries[i].op == op)
			return binaries[i].text;
	return op == SCRIPT_PLUS     ? "+"
	       : op == SCRIPT_MINUS  ? "-"
	       : op == SCRIPT_NOT    ? "!"
	       : op == SCRIPT_INVERT ? "~"
	       : op == SCRIPT_LIKE   ? "~"
	       : op == SCRIPT_UNLIKE ? "!~"
				     : "=";
}

static const struct binary *find_binary(uint64_t code)
{
	for (size_t i = 0; code && i < sizeof binaries / sizeof *binaries; i++)
		if (binaries[i].code == code)
			return &binaries[i];
	return NULL;
}

struct script_expr *parse_expr_new(struct parser *p, enum script_expr_kind kind,
				   const struct token *at)
{
	struct script_expr *e = parse_new(p, sizeof *e);

	if (!e)
		e = &p->spare_expr;
	*e = (struct script_expr){
		.kind = (uint8_t)kind, .place = at->place, .height = 1, .slot = -1, .text = ""
	};
	return e;
}

static void grow_height(struct parser *p, struct script_expr *e, const struct script_expr *kid)
{
	if (e->height <= kid->height)
		e->height = (uint16_t)(kid->height + 1);
	if (e->height > SCRIPT_HEIGHT_MAX)
		parse_too_deep(p, SCRIPT_HEIGHT_MAX, "compute a part of it before");
}

void parse_expr_kid(struct parser *p, struct script_expr *e, struct script_expr *kid)
{
	parse_add(p, e->kids, e->n_kids, kid);
	if (kid)
		grow_height(p, e, kid);
}

static bool is_assignable(const struct script_expr *e)
{
	return e->kind == EXPR_VARIABLE || e->kind == EXPR_ELEMENT || e->kind == EXPR_CONTEXT ||
	       e->kind == EXPR_CAST || e->kind == EXPR_STATIC;
}

/* Elements that are used have all keys: a `*` is for slices only. */
static void check_slice(struct parser *p, const struct script_expr *e, const struct token *at)
{
	for (uint32_t i = 0; e->kind == EXPR_ELEMENT && i < e->n_kids; i++)
		if (!e->kids[i])
			parse_error(p, at, "`*` as a key is for `in`, delete and foreach only");
}

static struct script_expr *parse_step(struct parser *p, struct script_expr *e,
				      const struct token *at, bool is_prefix)
{
	struct script_expr *step = parse_expr_new(p, EXPR_STEP, at);

	if (!is_assignable(e))
		parse_error(p, at, "`%s` needs a variable", at->text);
	step->op = token_is(at, "++") ? SCRIPT_ADD : SCRIPT_SUB;
	step->is_prefix = is_prefix;
	parse_expr_kid(p, step, e);
	return step;
}

static struct script_expr *parse_postfix(struct parser *p)
{
	const struct token *at = p->at;
	struct script_expr *e = parse_primary(p);

	check_slice(p, e, at);
	if (e->kind == EXPR_ELEMENT && parse_is(p, "[") && token_touches(p->at - 1, p->at))
		parse_error(p, p->at, "elements have no elements: several keys are a[x, y]");
	if (parse_is(p, "++") || parse_is(p, "--")) {
		at = parse_take(p);
		e = parse_step(p, e, at, false);
	}
	return e;
}

static enum script_op unary_op(const struct parser *p)
{
	return parse_is(p, "+")	  ? SCRIPT_PLUS
	       : parse_is(p, "-") ? SCRIPT_MINUS
	       : parse_is(p, "!") ? SCRIPT_NOT
	       : parse_is(p, "~") ? SCRIPT_INVERT
				  : SCRIPT_NO_OP;
}

static struct script_expr *parse_unary(struct parser *p)
{
	enum script_op op = unary_op(p);
	const struct token *at = p->at;
	struct script_expr *e;

	if (parse_accept(p, "++") || parse_accept(p, "--"))
		return parse_step(p, parse_postfix(p), at, true);
	if (!op)
		return parse_postfix(p);
	parse_enter(p);
	parse_take(p);
	e = parse_expr_new(p, EXPR_UNARY, at);
	e->op = (uint8_t)op;
	parse_expr_kid(p, e, parse_unary(p));
	parse_leave(p);
	return e;
}

/* The array behind `in`. */
static struct script_expr *parse_in(struct parser *p, struct script_expr *left)
{
	struct script_expr *e = parse_expr_new(p, EXPR_IN, parse_take(p));

	parse_expr_kid(p, e, left);
	e->text = parse_name(p, "the name of an array behind `in`")->text;
	return e;
}

static struct script_expr *parse_match(struct parser *p, struct script_expr *left)
{
	const struct token *at = parse_take(p), *text = p->at;
	struct script_expr *e = parse_expr_new(p, EXPR_MATCH, at), *pattern;

	e->is_negated = token_is(at, "!~");
	pattern = parse_expr_new(p, EXPR_TEXT, text);
	if (text->kind != TOKEN_TEXT)
		parse_expected(p, "a regular expression as a text behind `%s`", at->text);
	pattern->text = parse_text(p, &pattern->size);
	parse_expr_kid(p, e, left);
	parse_expr_kid(p, e, pattern);
	return e;
}

static struct script_expr *parse_operator(struct parser *p, struct script_expr *left,
					  const struct binary *b)
{
	struct script_expr *e = parse_expr_new(p, EXPR_BINARY, parse_take(p));

	e->op = b->op;
	parse_expr_kid(p, e, left);
	parse_expr_kid(p, e, parse_binary(p, b->strength + 1));
	return e;
}

struct script_expr *parse_binary(struct parser *p, int least)
{
	struct script_expr *e = parse_unary(p);

	for (;;) {
		const struct binary *b = find_binary(p->at->code);

		if (b && b->strength && b->strength >= least)
			e = parse_operator(p, e, b);
		else if (STRENGTH_IN >= least && parse_is(p, "in"))
			e = parse_in(p, e);
		else if (STRENGTH_MATCH >= least && (parse_is(p, "=~") || parse_is(p, "!~")))
			e = parse_match(p, e);
		else
			return e;
	}
}

static struct script_expr *parse_condition(struct parser *p)
{
	struct script_expr *first = parse_binary(p, 1), *e;

	if (!parse_is(p, "?"))
		return first;
	e = parse_expr_new(p, EXPR_CONDITION, parse_take(p));
	parse_expr_kid(p, e, first);
	parse_expr_kid(p, e, parse_expression(p));
	parse_expect(p, ":", "between the two values of `? :`");
	parse_expr_kid(p, e, parse_expression(p));
	return e;
}

/* The operator of = += ... <<<; false: none. */
static bool is_assignment(const struct token *t, enum script_op *op)
{
	const struct binary *b;

	*op = SCRIPT_NO_OP;
	if (t->kind != TOKEN_MARK)
		return false;
	if (token_is(t, "="))
		return true;
	if (token_is(t, "<<<")) {
		*op = SCRIPT_COLLECT;
		return true;
	}
	if (t->size < 2 || t->text[t->size - 1] != '=')
		return false;
	b = find_binary(t->code & ~(0xffULL << (8 * (t->size - 1))));
	if (!b || b->strength == STRENGTH_MATCH || find_binary(t->code))
		return false;
	*op = b->op;
	return true;
}

struct script_expr *parse_expression(struct parser *p)
{
	struct script_expr *left, *e;
	const struct token *at;
	enum script_op op;

	parse_enter(p);
	left = parse_condition(p);
	if (is_assignment(p->at, &op)) {
		at = parse_take(p);
		if (!is_assignable(left))
			parse_error(p, at, "only a variable can stand on the left of `%s`%s",
				    at->text, token_is(at, "=") ? " (`==` compares)" : "");
		e = parse_expr_new(p, EXPR_ASSIGN, at);
		e->op = (uint8_t)op;
		parse_expr_kid(p, e, left);
		parse_expr_kid(p, e, parse_expression(p));
		left = e;
	}
	parse_leave(p);
	return left;
}
