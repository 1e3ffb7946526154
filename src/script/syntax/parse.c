/* SPDX-License-Identifier: MIT */
/*
 * syntax/parse.c - the parser's hold on tokens and mistakes, and the functions of parse.h.
 *
 * Recursive descent.  The next one or two tokens decide which rule applies.
 */
#include "script/syntax/internal.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "script/syntax/preprocess.h"

const struct token *parse_take(struct parser *p)
{
	const struct token *t = p->at;

	if (t->kind != TOKEN_END)
		p->at++;
	return t;
}

static void stop(struct parser *p, int err)
{
	p->failed = true;
	p->err = err;
	p->failed_at = p->at;
	p->end = (struct token){ .kind = TOKEN_END, .place = p->at->place, .text = "" };
	p->at = &p->end;
}

void parse_no_memory(struct parser *p)
{
	if (p->failed)
		p->err = -ENOMEM;
	else
		stop(p, -ENOMEM);
}

static void note_expansions(struct parser *p, const struct token *t)
{
	unsigned n = 0;

	for (const struct expansion *e = t->from; e && n < 4; e = e->outer, n++)
		script_note(p->m, e->place, "in %s, used", e->what);
}

void parse_error(struct parser *p, const struct token *t, const char *format, ...)
{
	char what[512];
	va_list ap;

	if (p->failed)
		return;
	va_start(ap, format);
	vsnprintf(what, sizeof what, format, ap);
	va_end(ap);
	script_error(p->m, t->place, "parse error", "%s", t->kind == TOKEN_BAD ? t->text : what);
	note_expansions(p, t);
	stop(p, -EINVAL);
}

/* A token as messages name it. */
static void describe(const struct token *t, char text[64])
{
	switch (t->kind) {
	case TOKEN_END:
		snprintf(text, 64, "the end of the text");
		return;
	case TOKEN_NUMBER:
		snprintf(text, 64, "the number %lld", (long long)t->number);
		return;
	case TOKEN_TEXT:
		snprintf(text, 64, "the text \"%.24s\"%s", t->text, t->size > 24 ? "..." : "");
		for (char *c = text; *c; c++)
			if ((unsigned char)*c < ' ' || *c == 127)
				*c = ' ';
		return;
	case TOKEN_WORD:
		snprintf(text, 64, "the reserved word `%s`", t->text);
		return;
	case TOKEN_NAME:
		snprintf(text, 64, "`%.40s`%s", t->text,
			 !strcmp(t->text, "and")  ? " (write `&&`)"
			 : !strcmp(t->text, "or") ? " (write `||`)"
						  : "");
		return;
	default:
		snprintf(text, 64, "`%s%.40s`",
			 t->kind == TOKEN_CONTEXT    ? "$"
			 : t->kind == TOKEN_OPERATOR ? "@"
						     : "",
			 t->text);
	}
}

void parse_expected(struct parser *p, const char *format, ...)
{
	char what[256], found[64];
	va_list ap;

	if (p->failed)
		return;
	va_start(ap, format);
	vsnprintf(what, sizeof what, format, ap);
	va_end(ap);
	describe(p->at, found);
	parse_error(p, p->at, "expected %s, found %s", what, found);
}

void parse_expect(struct parser *p, const char *spelling, const char *where)
{
	if (p->at->code == token_code(spelling))
		parse_take(p);
	else
		parse_expected(p, "`%s` %s", spelling, where);
}

void parse_too_deep(struct parser *p, int most, const char *remedy)
{
	if (p->failed)
		return;
	parse_error(p, p->at, "this is nested more than %d deep: %s", most, remedy);
	p->err = -E2BIG;
}

void parse_enter(struct parser *p)
{
	int most = p->is_filter ? SCRIPT_FILTER_DEPTH_MAX : SCRIPT_HEIGHT_MAX;

	if (++p->depth > (uint32_t)most)
		parse_too_deep(p, most, "put a part into a function");
}

void parse_leave(struct parser *p)
{
	assert(p->depth);
	p->depth--;
}

void *parse_new(struct parser *p, size_t size)
{
	void *bytes = script_allocate(p->arena, size);

	if (!bytes)
		parse_no_memory(p);
	return bytes;
}

void *parse_room(struct parser *p, void *at, uint32_t n, size_t size)
{
	void *new;

	if (n && (n & (n - 1)))
		return at;
	new = parse_new(p, (n ? 2 * (size_t)n : 1) * size);
	if (new &&n)
		memcpy(new, at, n * size);
	return new;
}

const struct token *parse_name(struct parser *p, const char *what)
{
	if (p->at->kind == TOKEN_NAME)
		return parse_take(p);
	parse_expected(p, "%s", what);
	return p->at;
}

/* Goes to the next declaration behind the mistake. */
static void recover(struct parser *p)
{
	const struct token *t = p->failed_at;

	for (; t->kind != TOKEN_END; t++) {
		bool is_inside = t > p->failed_at && (token_is(t - 1, ".") || token_is(t - 1, ","));

		if (t == p->failed_at && !token_is(t, "probe") && !token_is(t, "global"))
			continue;
		if (!is_inside &&
		    (token_is(t, "probe") || token_is(t, "global") || token_is(t, "private")))
			break;
		if (!is_inside && token_is(t, "function") && t[1].kind == TOKEN_NAME)
			break;
	}
	p->at = t;
	p->failed = false;
	p->depth = p->n_loops = 0;
	p->in_function = p->in_probe = false;
}

static void parse_file(struct parser *p, struct script_file *file)
{
	int err = 0;

	while (p->at->kind != TOKEN_END && err != -ENOMEM) {
		const struct token *before = p->at;

		if (err && parse_accept(p, "}")) /* left over by a mistake */
			continue;
		parse_declaration(p, file);
		if (!p->failed)
			continue;
		err = p->err;
		recover(p);
		if (p->at == before && p->at->kind != TOKEN_END)
			p->at++;
	}
	p->err = err;
}

/* An -E2BIG of the tokens has no message yet. */
static int report_size(struct script_messages *m, uint32_t source, int err)
{
	if (err != -E2BIG)
		return err;
	return script_error(
		m, (struct script_place){ .source = source }, "parse error",
		"the script is too long, with its macros: it has more than 1048576 words "
		"and signs");
}

int script_parse(struct script_file **file, struct script_sources *sources, uint32_t source,
		 const struct script_parse_options *o, struct script_macros *macros,
		 struct script_messages *m)
{
	struct parser p = { .sources = sources, .arena = sources->arena, .m = m };
	struct token_list list = { 0 };
	int err;

	*file = script_allocate(p.arena, sizeof **file);
	p.macros = macros ? macros : script_macros_new(p.arena);
	if (!*file || !p.macros)
		return -ENOMEM;
	(*file)->source = source;
	err = report_size(m, source, preprocess(&list, sources, source, o, p.macros));
	if (!err) {
		p.at = list.at;
		parse_file(&p, *file);
		err = p.err == -E2BIG ? -EINVAL : p.err;
	}
	token_list_fini(&list);
	return err;
}

/* Parses with @what all of a source; returns its result or NULL. */
static void *parse_alone(struct parser *p, uint32_t source, void *(*what)(struct parser *p),
			 int *err)
{
	struct token_list list = { 0 };
	void *result = NULL;

	p->macros = script_macros_new(p->arena);
	if (!p->macros)
		*err = -ENOMEM;
	else if (p->is_filter)
		*err = lex(&list, p->sources, source, true);
	else
		*err = preprocess(&list, p->sources, source, NULL, p->macros);
	*err = report_size(p->m, source, *err);
	if (!*err) {
		p->at = list.at;
		result = what(p);
		*err = p->err;
	}
	token_list_fini(&list);
	return result;
}

static void *point_alone(struct parser *p)
{
	struct script_point *points = NULL;
	uint32_t n = 0;

	parse_points(p, &points, &n);
	if (p->at->kind != TOKEN_END)
		parse_expected(p, "the end of the probe point");
	else if (n != 1)
		parse_error(p, p->at, "expected one probe point, without braces");
	return points;
}

int script_parse_point(struct script_point **point, struct script_sources *sources, uint32_t source,
		       struct script_messages *m)
{
	struct parser p = { .sources = sources, .arena = sources->arena, .m = m };
	int err;

	*point = parse_alone(&p, source, point_alone, &err);
	return err;
}

static void *expression_alone(struct parser *p)
{
	struct script_expr *e = p->is_filter ? parse_filter(p) : parse_expression(p);

	if (!p->is_filter && p->at->kind != TOKEN_END)
		parse_expected(p, "an operator or the end of the expression");
	return e;
}

int script_parse_expression(struct script_expr **e, struct script_sources *sources, uint32_t source,
			    bool is_filter, struct script_messages *m)
{
	struct parser p = {
		.sources = sources, .arena = sources->arena, .m = m, .is_filter = is_filter
	};
	int err;

	*e = parse_alone(&p, source, expression_alone, &err);
	return err;
}
