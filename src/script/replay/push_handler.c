/* SPDX-License-Identifier: MIT */
/*
 * replay/push_handler.c - at which events a handler has an effect, as a filter.
 *
 * The statements are gone through with what follows them; an `if` joins the events of both branches.
 * Whatever is not understood counts as an effect at any event.
 */
#include <string.h>

#include "filter/compile.h"
#include "script/replay/push.h"

enum { STEPS_MAX = 200, TEXT_MAX = 2000 };

struct effect {
	enum { NEVER, SOMETIMES, ALWAYS } when;
	struct text text; /* SOMETIMES */
};

/* Statements that are still to come. */
struct rest {
	struct script_stmt **at;
	uint32_t n;
	const struct rest *up;
};

static struct effect effect_of(struct push *p, struct rest r);

static bool is_harmless_kind(const struct script_expr *e)
{
	switch (e->kind) {
	case EXPR_NUMBER:
	case EXPR_TEXT:
	case EXPR_VARIABLE:
	case EXPR_UNARY:
	case EXPR_CONDITION:
	case EXPR_IN:
		return true;
	case EXPR_ELEMENT:
		return e->type != SCRIPT_STATS;
	case EXPR_BINARY:
		return (e->op != SCRIPT_DIV && e->op != SCRIPT_MOD) ||
		       (e->kids[1]->kind == EXPR_NUMBER && e->kids[1]->number != 0 &&
			e->kids[1]->number != -1);
	case EXPR_CALL:
		return e->builtin && e->builtin->is_pure && !e->builtin->may_fail;
	default:
		return false;
	}
}

bool push_is_harmless(struct push *p, const struct script_expr *e)
{
	struct push_field f;

	if (!e || e->is_elided)
		return true;
	if (e->slot >= 0)
		return p->find(p, e, &f) != PUSH_UNSURE;
	if (!is_harmless_kind(e))
		return false;
	for (uint32_t i = 0; i < e->n_kids; i++)
		if (!push_is_harmless(p, e->kids[i]))
			return false;
	return true;
}

/* An assignment to a local only matters for conditions, which then are not pushed. */
static bool sets_local(struct push *p, const struct script_expr *e)
{
	const struct script_variable *v = e->kind == EXPR_ASSIGN ? e->kids[0]->variable : NULL;

	return v && e->kids[0]->kind == EXPR_VARIABLE && e->kids[0]->slot < 0 && !v->is_global &&
	       e->op != SCRIPT_DIV && e->op != SCRIPT_MOD && push_is_harmless(p, e->kids[1]);
}

static void restore(struct text *t, size_t size)
{
	if (t->bytes && t->size > size) {
		t->size = size;
		t->bytes[size] = 0;
	}
}

/* a && b, where a part that is not known is left out, or a || b, where both must be known. */
static bool join_bounds(struct push *p, const struct script_expr *e, bool is_negated,
			struct text *t)
{
	bool is_and = (e->op == SCRIPT_AND_THEN) != is_negated;
	size_t begin = t->size, middle;
	bool left, right;

	text_addf(t, "(");
	left = push_bound(p, e->kids[0], is_negated, t);
	if (left)
		text_addf(t, is_and ? " && " : " || ");
	middle = t->size;
	right = push_bound(p, e->kids[1], is_negated, t);
	if (left && !right)
		restore(t, middle - strlen(" && "));
	if (is_and ? left || right : left && right) {
		text_addf(t, ")");
		return true;
	}
	restore(t, begin);
	return false;
}

bool push_bound(struct push *p, const struct script_expr *e, bool is_negated, struct text *t)
{
	size_t begin = t->size;

	if (is_negated)
		text_addf(t, "!");
	if (push_condition(p, e, t))
		return true;
	restore(t, begin);
	if (e->slot >= 0)
		return false;
	if (e->kind == EXPR_UNARY && e->op == SCRIPT_NOT)
		return push_bound(p, e->kids[0], !is_negated, t);
	if (e->kind != EXPR_BINARY || (e->op != SCRIPT_AND_THEN && e->op != SCRIPT_OR_ELSE))
		return false;
	return join_bounds(p, e, is_negated, t);
}

/* The effect of a branch, with the condition that leads there. */
static struct effect under(struct push *p, const struct script_expr *condition, bool is_negated,
			   struct effect e)
{
	struct text t = { 0 };

	if (e.when == NEVER || !push_bound(p, condition, is_negated, &t)) {
		text_fini(&t);
		return e;
	}
	if (e.when == SOMETIMES) {
		text_addf(&t, " && ");
		text_add(&t, e.text.bytes, e.text.size);
	}
	text_fini(&e.text);
	return (struct effect){ SOMETIMES, t };
}

static struct effect either(struct effect a, struct effect b)
{
	struct effect e = { a.when > b.when ? a.when : b.when, { 0 } };

	if (e.when == SOMETIMES && a.when == b.when)
		text_addf(&e.text, "((%s) || (%s))", a.text.bytes, b.text.bytes);
	else if (e.when == SOMETIMES)
		return a.when == SOMETIMES ? a : b;
	text_fini(&a.text);
	text_fini(&b.text);
	return e;
}

/* Whether @s has no effect, and what follows it runs. */
static bool falls_through(struct push *p, const struct script_stmt *s)
{
	if (!s || s->kind == STMT_EMPTY)
		return true;
	if (s->kind == STMT_EXPR)
		return push_is_harmless(p, s->expr) || sets_local(p, s->expr);
	if (s->kind != STMT_BLOCK && (s->kind != STMT_IF || !push_is_harmless(p, s->expr)))
		return false;
	for (uint32_t i = 0; i < s->n_body; i++)
		if (!falls_through(p, s->body[i]))
			return false;
	return true;
}

static struct effect effect_of_if(struct push *p, const struct script_stmt *s,
				  const struct rest *behind)
{
	struct rest yes = { s->body, 1, behind }, no = { s->body + 1, 1, behind };
	struct effect a, b;

	if (!push_is_harmless(p, s->expr))
		return (struct effect){ .when = ALWAYS };
	a = effect_of(p, yes);
	b = effect_of(p, s->n_body > 1 ? no : *behind);
	if (a.when == ALWAYS && b.when == ALWAYS)
		return a;
	a = under(p, s->expr, false, a);
	return either(a, under(p, s->expr, true, b));
}

/* Statements are nested no deeper than the parser allows, and steps are counted. */
static struct effect effect_of(struct push *p, struct rest r)
{
	const struct script_stmt *s;
	struct rest behind;

	while (!r.n && r.up)
		r = *r.up;
	if (!r.n)
		return (struct effect){ .when = NEVER };
	if (++p->n_steps > STEPS_MAX)
		return (struct effect){ .when = ALWAYS };
	s = r.at[0];
	behind = (struct rest){ r.at + 1, r.n - 1, r.up };
	if (falls_through(p, s))
		return effect_of(p, behind);
	switch (s->kind) {
	case STMT_BLOCK:
		return effect_of(p, (struct rest){ s->body, s->n_body, &behind });
	case STMT_NEXT:
		return (struct effect){ .when = NEVER };
	case STMT_IF:
		return effect_of_if(p, s, &behind);
	default:
		return (struct effect){ .when = ALWAYS };
	}
}

static bool does_compile(const struct effect *e)
{
	struct filter_code code;

	return !e->text.failed && e->text.size <= TEXT_MAX &&
	       !filter_compile(e->text.bytes, &code, NULL);
}

bool push_handler(struct push *p, const struct script_handler *h, struct text *t)
{
	struct effect e = effect_of(p, (struct rest){ h->body, h->n_body, NULL });
	bool is_fine;

	is_fine = push_is_harmless(p, h->condition) && e.when == SOMETIMES && does_compile(&e);
	if (is_fine)
		text_add(t, e.text.bytes, e.text.size);
	text_fini(&e.text);
	return is_fine && !t->failed;
}
