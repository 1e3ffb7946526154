/* SPDX-License-Identifier: MIT */
/* syntax/parse_context.c - $variables with their paths, and the operators @name(...). */
#include "script/syntax/internal.h"

#include <stdio.h>

static void parse_path_member(struct parser *p, struct script_path *step)
{
	step->kind = PATH_MEMBER;
	if (p->at->kind != TOKEN_NAME && p->at->kind != TOKEN_WORD)
		parse_expected(p, "the name of a member behind `->`");
	step->name = parse_take(p)->text;
}

static void parse_path_index(struct parser *p, struct script_expr *e, struct script_path *step)
{
	step->kind = PATH_INDEX;
	step->index = parse_expression(p);
	parse_expect(p, "]", "behind the index");
	if (e->height <= step->index->height)
		e->height = (uint16_t)(step->index->height + 1);
}

/* ->member [index] $ $$ */
void parse_path(struct parser *p, struct script_expr *e)
{
	bool is_last = false;

	while (!is_last) {
		struct script_path step = { .place = p->at->place };

		if (parse_accept(p, "->")) {
			parse_path_member(p, &step);
		} else if (parse_accept(p, "[")) {
			parse_path_index(p, e, &step);
		} else if (parse_is(p, "$") || parse_is(p, "$$")) {
			step.kind = parse_is(p, "$") ? PATH_PRETTY : PATH_PRETTY_DEEP;
			parse_take(p);
			is_last = true;
		} else {
			return;
		}
		parse_add(p, e->path, e->n_path, step);
	}
}

struct script_expr *parse_context(struct parser *p)
{
	struct script_expr *e = parse_expr_new(p, EXPR_CONTEXT, p->at);
	const struct token *t = parse_take(p);

	e->text = t->text;
	e->size = t->size;
	parse_path(p, e);
	return e;
}

/* , "text" - or NULL. */
static const char *parse_more_text(struct parser *p)
{
	uint32_t size;

	return parse_accept(p, ",") ? parse_text(p, &size) : NULL;
}

static void parse_cast(struct parser *p, struct script_expr *e)
{
	e->kind = EXPR_CAST;
	parse_expr_kid(p, e, parse_expression(p));
	e->type_name = parse_more_text(p);
	if (!e->type_name)
		parse_expected(p, "`,` and the name of a type, as in @cast(p, \"task_struct\")");
	e->module = parse_more_text(p);
}

static void parse_var(struct parser *p, struct script_expr *e)
{
	e->kind = EXPR_STATIC;
	e->text = parse_text(p, &e->size);
	e->module = parse_more_text(p);
}

static void parse_kids(struct parser *p, struct script_expr *e)
{
	do
		parse_expr_kid(p, e, parse_expression(p));
	while (parse_accept(p, ","));
}

static const struct at_operator {
	const char *name;
	uint8_t kind, least, most; /* arguments */
	bool has_path;
} operators[] = {
	{ "count", EXPR_STATISTIC, 1, 1, false },
	{ "sum", EXPR_STATISTIC, 1, 1, false },
	{ "min", EXPR_STATISTIC, 1, 1, false },
	{ "max", EXPR_STATISTIC, 1, 1, false },
	{ "avg", EXPR_STATISTIC, 1, 1, false },
	{ "variance", EXPR_STATISTIC, 1, 2, false },
	{ "quantile", EXPR_STATISTIC, 2, 2, false },
	{ "hist_log", EXPR_STATISTIC, 1, 1, false },
	{ "hist_linear", EXPR_STATISTIC, 4, 4, false },
	{ "cast", EXPR_CAST, 1, 1, true },
	{ "var", EXPR_STATIC, 0, 0, true },
	{ "defined", EXPR_DEFINED, 1, 1, false },
	{ "choose_defined", EXPR_CHOOSE, 2, 2, false },
	{ "entry", EXPR_ENTRY, 1, 1, false },
	{ "enum", EXPR_ENUM, 1, 1, false },
	{ "enumname", EXPR_ENUM, 2, 2, false },
};

static void try_macro(void *nearest, const char *name)
{
	script_nearest_try(nearest, name);
}

static void unknown_operator(struct parser *p, const struct token *t)
{
	struct script_nearest nearest = { .wanted = t->text };
	char text[160], *tick;

	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
		script_nearest_try(&nearest, operators[i].name);
	script_macros_each(p->macros, try_macro, &nearest);
	script_nearest_text(&nearest, text);
	tick = strchr(text, '`');
	if (tick && strlen(text) + 2 < sizeof text) {
		memmove(tick + 2, tick + 1, strlen(tick + 1) + 1);
		tick[1] = '@';
	}
	parse_error(p, t, "there is no operator and no macro `@%.40s`%s", t->text, text);
}

static void parse_operands(struct parser *p, struct script_expr *e, const struct at_operator *o)
{
	parse_expect(p, "(", "before the operands");
	if (o->kind == EXPR_CAST)
		parse_cast(p, e);
	else if (o->kind == EXPR_STATIC)
		parse_var(p, e);
	else
		parse_kids(p, e);
	if (e->n_kids < o->least || e->n_kids > o->most)
		parse_error(p, p->at, "`@%s` takes %d operand%s, not %u", o->name,
			    e->n_kids < o->least ? o->least : o->most,
			    (e->n_kids < o->least ? o->least : o->most) == 1 ? "" : "s", e->n_kids);
	parse_expect(p, ")", "behind the operands");
}

struct script_expr *parse_operator_call(struct parser *p)
{
	const struct token *t = parse_take(p);
	const struct at_operator *o = operators, *end = o + sizeof operators / sizeof *operators;
	struct script_expr *e, *bucket;

	while (o < end && strcmp(o->name, t->text))
		o++;
	e = parse_expr_new(p, o < end ? (enum script_expr_kind)o->kind : EXPR_NUMBER, t);
	if (o == end) {
		unknown_operator(p, t);
		return e;
	}
	e->text = t->text;
	e->size = t->size;
	parse_operands(p, e, o);
	if (o->has_path)
		parse_path(p, e);
	if (strncmp(o->name, "hist_", 5) || !parse_is(p, "["))
		return e;
	bucket = parse_expr_new(p, EXPR_BUCKET, parse_take(p));
	parse_expr_kid(p, bucket, e);
	parse_expr_kid(p, bucket, parse_expression(p));
	parse_expect(p, "]", "behind the number of the bucket");
	return bucket;
}
