/* SPDX-License-Identifier: MIT */
/*
 * syntax/parse_point.c - probe points: a.b("c").d, with wildcards, braces and conditions.
 *
 * Braces are expanded here: a.{b, c(1)}.d is a.b.d and a.c(1).d.
 */
#include "script/syntax/internal.h"

#include <stdio.h>

enum { POINTS_MAX = 4096, COMPONENTS_MAX = 32 };

/* Points that share the components read so far. */
struct point_list {
	struct script_point *at;
	uint32_t n;
};

static bool is_piece(const struct token *t)
{
	return t->kind == TOKEN_NAME || t->kind == TOKEN_WORD || t->kind == TOKEN_NUMBER ||
	       token_is(t, "*");
}

/* A name of a component: words, digits and stars that touch each other. */
static const char *parse_component_name(struct parser *p)
{
	const struct token *first = p->at, *last = first;
	const char *text;

	if (!is_piece(first) || first->kind == TOKEN_NUMBER) {
		parse_expected(p, "a probe point or a part of one");
		return "";
	}
	if (first->kind == TOKEN_WORD && !token_is(first, "*") && token_is(first, "if"))
		parse_expected(p, "a probe point or a part of one");
	do
		last++;
	while (is_piece(last) && token_touches(last - 1, last));
	if (p->failed)
		return "";
	p->at = last;
	if (last == first + 1)
		return first->text;
	text = p->sources->at[first->place.source].text + first->place.at;
	text = script_copy(p->arena, text,
			   last[-1].place.at + last[-1].place.size - first->place.at);
	if (!text)
		parse_no_memory(p);
	return text ? text : "";
}

/* (5), (-1), ("text") */
static void parse_component_value(struct parser *p, struct script_component *c)
{
	bool is_negative = parse_accept(p, "-");
	uint32_t size;

	if (p->at->kind == TOKEN_NUMBER) {
		c->kind = COMPONENT_NUMBER;
		c->number = parse_take(p)->number;
		if (is_negative)
			c->number = (int64_t)(0 - (uint64_t)c->number);
	} else if (p->at->kind == TOKEN_TEXT && !is_negative) {
		c->kind = COMPONENT_TEXT;
		c->text = parse_text(p, &size);
	} else {
		parse_expected(p, "a number or a text in `%.40s(...)`", c->name);
	}
	parse_expect(p, ")", "behind the value");
}

static void append(struct parser *p, struct script_point *to, const struct script_component *from,
		   uint32_t n)
{
	struct script_component *at = parse_new(p, (to->n + n) * sizeof *at);

	if (!at)
		return;
	if (to->n + n > COMPONENTS_MAX) {
		parse_error(p, p->at, "a probe point has at most %d parts", COMPONENTS_MAX);
		return;
	}
	if (to->n)
		memcpy(at, to->at, to->n * sizeof *at);
	memcpy(at + to->n, from, n * sizeof *at);
	to->at = at;
	to->n += n;
}

static void append_to_all(struct parser *p, struct point_list *l, const struct script_component *c)
{
	for (uint32_t i = 0; i < l->n && !p->failed; i++)
		append(p, &l->at[i], c, 1);
}

/* Each of @l followed by each of @tails. */
static void multiply(struct parser *p, struct point_list *l, const struct point_list *tails)
{
	struct point_list product = { 0 };

	if ((uint64_t)l->n * tails->n > POINTS_MAX) {
		parse_error(p, p->at, "the braces stand for more than %d probe points", POINTS_MAX);
		return;
	}
	for (uint32_t i = 0; i < l->n; i++)
		for (uint32_t j = 0; j < tails->n && !p->failed; j++) {
			struct script_point new = l->at[i];

			append(p, &new, tails->at[j].at, tails->at[j].n);
			parse_add(p, product.at, product.n, new);
		}
	*l = product;
}

static void parse_components(struct parser *p, struct point_list *l);

/* {a, b.c} */
static void parse_braces(struct parser *p, struct point_list *l)
{
	struct point_list all = { 0 };

	parse_take(p);
	parse_enter(p);
	do {
		struct point_list one = { 0 };
		struct script_point empty = { .place = p->at->place };

		parse_add(p, one.at, one.n, empty);
		parse_components(p, &one);
		for (uint32_t i = 0; i < one.n && !p->failed; i++) {
			parse_add(p, all.at, all.n, one.at[i]);
			if (all.n > POINTS_MAX)
				parse_error(p, p->at, "too many probe points in braces");
		}
	} while (parse_accept(p, ","));
	parse_expect(p, "}", "or `,` in the braces of a probe point");
	parse_leave(p);
	multiply(p, l, &all);
}

static void parse_components(struct parser *p, struct point_list *l)
{
	do {
		struct script_component c = { .place = p->at->place };

		if (parse_is(p, "{")) {
			parse_braces(p, l);
			continue;
		}
		c.name = parse_component_name(p);
		if (parse_accept(p, "("))
			parse_component_value(p, &c);
		append_to_all(p, l, &c);
	} while (parse_accept(p, "."));
}

static void set_marks(struct parser *p, struct point_list *l)
{
	bool is_sufficient = parse_accept(p, "!"), is_optional = is_sufficient;
	struct script_expr *condition = NULL;

	if (!is_sufficient)
		is_optional = parse_accept(p, "?");
	if (parse_accept(p, "if")) {
		parse_expect(p, "(", "and a condition behind `if`");
		condition = parse_expression(p);
		parse_expect(p, ")", "behind the condition");
	}
	for (uint32_t i = 0; i < l->n; i++) {
		l->at[i].is_optional = is_optional;
		l->at[i].is_sufficient = is_sufficient;
		l->at[i].condition = condition;
	}
}

void parse_points(struct parser *p, struct script_point **points, uint32_t *n)
{
	struct point_list l = { 0 };
	struct script_point empty = { .place = p->at->place };

	parse_add(p, l.at, l.n, empty);
	parse_components(p, &l);
	set_marks(p, &l);
	for (uint32_t i = 0; i < l.n && !p->failed; i++)
		parse_add(p, *points, *n, l.at[i]);
}
