/* SPDX-License-Identifier: MIT */
/* syntax/parse_statement.c - statements.  A `;` between them may be left out. */
#include "script/syntax/internal.h"

struct script_stmt *parse_stmt_new(struct parser *p, enum script_stmt_kind kind,
				   const struct token *at)
{
	struct script_stmt *s = parse_new(p, sizeof *s);

	if (!s)
		s = &p->spare_stmt;
	*s = (struct script_stmt){ .kind = (uint8_t)kind, .place = at->place };
	return s;
}

static void add(struct parser *p, struct script_stmt *s, struct script_stmt *inner)
{
	parse_add(p, s->body, s->n_body, inner);
}

struct script_stmt *parse_block(struct parser *p, const char *what)
{
	struct script_stmt *s = parse_stmt_new(p, STMT_BLOCK, p->at);
	const struct token *open = p->at, *outer = p->block;

	if (p->at->kind == TOKEN_EMBEDDED) {
		parse_error(p, p->at,
			    "embedded C is not supported: write the body in the script "
			    "language, with functions of the library, $variables or "
			    "@cast(pointer, \"type\")->member");
		return s;
	}
	parse_enter(p);
	if (!parse_accept(p, "{"))
		parse_expected(p, "`{` and %s", what);
	p->block = open;
	while (!parse_is(p, "}") && p->at->kind != TOKEN_END)
		add(p, s, parse_statement(p));
	if (p->at->kind == TOKEN_END && !p->failed)
		parse_error(p, open, "this `{` is not closed by `}`");
	parse_accept(p, "}");
	p->block = outer;
	parse_leave(p);
	return s;
}

static struct script_expr *parse_in_parentheses(struct parser *p, const char *of)
{
	struct script_expr *e;

	if (!parse_accept(p, "("))
		parse_expected(p, "`(` behind `%s`", of);
	e = parse_expression(p);
	parse_expect(p, ")", "behind the condition");
	return e;
}

static void parse_if(struct parser *p, struct script_stmt *s)
{
	s->kind = STMT_IF;
	s->expr = parse_in_parentheses(p, "if");
	add(p, s, parse_statement(p));
	add(p, s, parse_accept(p, "else") ? parse_statement(p) : NULL);
}

static void parse_loop_body(struct parser *p, struct script_stmt *s)
{
	p->n_loops++;
	add(p, s, parse_statement(p));
	if (p->n_loops)
		p->n_loops--;
}

static void parse_while(struct parser *p, struct script_stmt *s)
{
	s->kind = STMT_WHILE;
	s->expr = parse_in_parentheses(p, "while");
	parse_loop_body(p, s);
}

static void parse_for(struct parser *p, struct script_stmt *s)
{
	s->kind = STMT_FOR;
	parse_expect(p, "(", "behind `for`");
	if (!parse_is(p, ";"))
		s->init = parse_expression(p);
	if (s->init && s->init->kind == EXPR_IN && parse_is(p, ")"))
		parse_error(p, p->at, "write `foreach (key in array)` to go over an array");
	parse_expect(p, ";", "behind the beginning of the loop");
	if (!parse_is(p, ";"))
		s->expr = parse_expression(p);
	parse_expect(p, ";", "behind the condition of the loop");
	if (!parse_is(p, ")"))
		s->step = parse_expression(p);
	parse_expect(p, ")", "behind the step of the loop");
	parse_loop_body(p, s);
}

/* + or - behind a key, the value or the array. */
static void parse_sort(struct parser *p, struct script_foreach *f, int key)
{
	bool is_up = parse_is(p, "+"), is_sort = is_up || parse_is(p, "-");

	if (!is_sort)
		return;
	if (f->sort)
		parse_error(p, p->at, "only one `+` or `-` can order a foreach");
	parse_take(p);
	f->sort = is_up ? 1 : -1;
	f->sort_key = key;
}

static void parse_key(struct parser *p, struct script_foreach *f)
{
	parse_add(p, f->keys, f->n_keys, parse_variable(p, "the name of a key"));
	parse_sort(p, f, (int)f->n_keys - 1);
}

static void parse_keys(struct parser *p, struct script_foreach *f)
{
	if (!parse_accept(p, "[")) {
		parse_key(p, f);
		return;
	}
	do
		parse_key(p, f);
	while (parse_accept(p, ","));
	parse_expect(p, "]", "behind the keys");
}

/* `value =`, with a sort mark, which may touch the sign: value-= . */
static bool is_value(const struct parser *p)
{
	const struct token *next = p->at + 1;

	if (p->at->kind != TOKEN_NAME)
		return false;
	if (token_is(next, "+") || token_is(next, "-"))
		next++;
	return token_is(next, "=") || token_is(next, "+=") || token_is(next, "-=");
}

static void parse_value(struct parser *p, struct script_foreach *f)
{
	f->value = parse_variable(p, "the name of the value");
	if (parse_is(p, "+=") || parse_is(p, "-=")) {
		f->sort = token_is(parse_take(p), "+=") ? 1 : -1;
		f->sort_key = -1;
		return;
	}
	parse_sort(p, f, -1);
	parse_expect(p, "=", "behind the name of the value");
}

static bool is_statistic(const char *name)
{
	return !strcmp(name, "count") || !strcmp(name, "sum") || !strcmp(name, "min") ||
	       !strcmp(name, "max") || !strcmp(name, "avg");
}

static void parse_array(struct parser *p, struct script_foreach *f)
{
	if (p->at->kind == TOKEN_OPERATOR) {
		f->array = parse_operator_call(p);
		if (f->array->kind != EXPR_STATISTIC || strncmp(f->array->text, "hist_", 5))
			parse_error(p, p->at,
				    "expected an array, @hist_log(x) or @hist_linear(x, "
				    "low, high, width) behind `in`");
		return;
	}
	f->array = parse_variable(p, "an array behind `in`");
	if (parse_is(p, "[")) {
		f->array->kind = EXPR_ELEMENT;
		parse_index(p, f->array);
	}
	if (p->at->kind != TOKEN_OPERATOR)
		return;
	f->sort_statistic = p->at->text;
	if (!is_statistic(p->at->text))
		parse_error(p, p->at,
			    "arrays of statistics are ordered by @count, @sum, @min, @max "
			    "or @avg, not by @%.40s",
			    p->at->text);
	parse_take(p);
	if (!parse_is(p, "+") && !parse_is(p, "-"))
		parse_expected(p, "`+` or `-` behind `@%s`", f->sort_statistic);
}

struct script_stmt *parse_foreach(struct parser *p)
{
	struct script_stmt *s = parse_stmt_new(p, STMT_FOREACH, parse_take(p));
	struct script_foreach *f = parse_new(p, sizeof *f);

	if (!f)
		return s;
	s->foreach = f;
	f->sort_key = -1;
	parse_expect(p, "(", "behind `foreach`");
	if (is_value(p))
		parse_value(p, f);
	parse_keys(p, f);
	parse_expect(p, "in", "and an array behind the keys");
	parse_array(p, f);
	parse_sort(p, f, -1);
	if (parse_accept(p, "limit"))
		f->limit = parse_expression(p);
	parse_expect(p, ")", "behind the array");
	parse_loop_body(p, s);
	return s;
}

static void parse_return(struct parser *p, struct script_stmt *s)
{
	s->kind = STMT_RETURN;
	if (!p->in_function)
		parse_error(p, p->at - 1, "`return` is for functions: `next` ends a probe");
	if (!parse_is(p, ";") && !parse_is(p, "}"))
		s->expr = parse_expression(p);
}

static void parse_delete(struct parser *p, struct script_stmt *s)
{
	const struct token *at = p->at;

	s->kind = STMT_DELETE;
	s->expr = parse_primary(p);
	if (s->expr->kind != EXPR_VARIABLE && s->expr->kind != EXPR_ELEMENT)
		parse_error(p, at, "expected a variable or an element of an array behind `delete`");
}

static void parse_try(struct parser *p, struct script_stmt *s)
{
	s->kind = STMT_TRY;
	add(p, s, parse_block(p, "statements behind `try`"));
	parse_expect(p, "catch", "behind the block of `try`");
	if (parse_accept(p, "(")) {
		s->variable = parse_variable(p, "the name of a variable for the message");
		parse_expect(p, ")", "behind the variable");
	}
	add(p, s, parse_block(p, "statements behind `catch`"));
}

static void parse_leave_loop(struct parser *p, struct script_stmt *s, const struct token *t)
{
	s->kind = token_is(t, "break") ? STMT_BREAK : STMT_CONTINUE;
	if (!p->n_loops)
		parse_error(p, t, "`%s` stands in no loop", t->text);
}

/* A statement with others inside; false: none is here. */
static bool parse_compound(struct parser *p, struct script_stmt *s)
{
	if (parse_accept(p, "if"))
		parse_if(p, s);
	else if (parse_accept(p, "while"))
		parse_while(p, s);
	else if (parse_accept(p, "for"))
		parse_for(p, s);
	else if (parse_accept(p, "try"))
		parse_try(p, s);
	else
		return false;
	return true;
}

static void refuse_declaration(struct parser *p)
{
	const struct token *t = p->at;

	parse_error(p, t, "`%s` stands inside a body: is a `}` missing before?", t->text);
	script_note(p->m, p->block->place, "the body begins");
}

static void refuse(struct parser *p)
{
	if (parse_is(p, "else"))
		parse_error(p, p->at, "this `else` belongs to no `if`");
	else if (parse_is(p, "catch"))
		parse_error(p, p->at, "this `catch` belongs to no `try`");
	else if (parse_is(p, "global") || parse_is(p, "probe") || parse_is(p, "function"))
		refuse_declaration(p);
	else if (p->at->kind == TOKEN_WORD || p->at->kind == TOKEN_END)
		parse_expected(p, "a statement");
}

static void parse_expression_statement(struct parser *p, struct script_stmt *s)
{
	refuse(p);
	s->kind = STMT_EXPR;
	s->expr = parse_expression(p);
}

static void parse_simple(struct parser *p, struct script_stmt *s)
{
	const struct token *t = p->at;

	if (parse_accept(p, "break") || parse_accept(p, "continue"))
		parse_leave_loop(p, s, t);
	else if (parse_accept(p, "next"))
		s->kind = STMT_NEXT;
	else if (parse_accept(p, "return"))
		parse_return(p, s);
	else if (parse_accept(p, "delete"))
		parse_delete(p, s);
	else
		parse_expression_statement(p, s);
	parse_accept(p, ";");
}

struct script_stmt *parse_statement(struct parser *p)
{
	struct script_stmt *s;

	if (parse_is(p, "{"))
		return parse_block(p, "statements");
	if (parse_is(p, "foreach")) {
		parse_enter(p);
		s = parse_foreach(p);
		parse_leave(p);
		return s;
	}
	s = parse_stmt_new(p, STMT_EMPTY, p->at);
	if (parse_accept(p, ";"))
		return s;
	parse_enter(p);
	if (!parse_compound(p, s))
		parse_simple(p, s);
	parse_leave(p);
	return s;
}
