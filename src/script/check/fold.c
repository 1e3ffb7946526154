/* SPDX-License-Identifier: MIT */
/*
 * check/fold.c - constant expressions are computed.
 *
 * A division by 0 stays, and the one quotient that has no number, because they raise errors when they
 * run; so does a shift by more than the bits.
 */
#include "script/check/internal.h"

static bool is_number(const struct script_expr *e)
{
	return e->kind == EXPR_NUMBER && e->slot < 0;
}

/* Whether a op b can be computed now. */
static bool is_certain(enum script_op op, int64_t a, int64_t b)
{
	if (op == SCRIPT_DIV || op == SCRIPT_MOD)
		return b != 0 && !(a == INT64_MIN && b == -1);
	if (op == SCRIPT_SHL || op == SCRIPT_SHR || op == SCRIPT_SHR_LOGICAL)
		return b >= 0 && b < 64;
	return (op >= SCRIPT_ADD && op <= SCRIPT_OR) || (op >= SCRIPT_EQ && op <= SCRIPT_OR_ELSE);
}

static int64_t compare(enum script_op op, int64_t a, int64_t b)
{
	switch (op) {
	case SCRIPT_EQ:
		return a == b;
	case SCRIPT_NE:
		return a != b;
	case SCRIPT_LT:
		return a < b;
	case SCRIPT_LE:
		return a <= b;
	case SCRIPT_GT:
		return a > b;
	case SCRIPT_GE:
		return a >= b;
	case SCRIPT_AND_THEN:
		return a && b;
	case SCRIPT_OR_ELSE:
		return a || b;
	default:
		return 0;
	}
}

static int64_t compute(enum script_op op, int64_t a, int64_t b)
{
	uint64_t x = (uint64_t)a, y = (uint64_t)b;

	switch (op) {
	case SCRIPT_ADD:
		return (int64_t)(x + y);
	case SCRIPT_SUB:
		return (int64_t)(x - y);
	case SCRIPT_MUL:
		return (int64_t)(x * y);
	case SCRIPT_DIV:
		return a / b;
	case SCRIPT_MOD:
		return a % b;
	case SCRIPT_SHL:
		return (int64_t)(x << b);
	case SCRIPT_SHR:
		return a >> b;
	case SCRIPT_SHR_LOGICAL:
		return (int64_t)(x >> b);
	case SCRIPT_AND:
		return a & b;
	case SCRIPT_XOR:
		return a ^ b;
	case SCRIPT_OR:
		return a | b;
	default:
		return compare(op, a, b);
	}
}

static void become(struct script_expr *e, int64_t number)
{
	*e = (struct script_expr){ .kind = EXPR_NUMBER,
				   .place = e->place,
				   .number = number,
				   .type = SCRIPT_LONG,
				   .slot = -1,
				   .is_elided = e->is_elided };
}

static void fold_texts(struct check *c, struct script_expr *e)
{
	const struct script_expr *a = e->kids[0], *b = e->kids[1];
	uint32_t size = a->size + b->size;
	char *text;

	if (e->op != SCRIPT_CONCAT || size < a->size)
		return;
	text = check_allocate(c, (size_t)size + 1);
	memcpy(text, a->text, a->size);
	memcpy(text + a->size, b->text, b->size);
	*e = (struct script_expr){ .kind = EXPR_TEXT,
				   .place = e->place,
				   .text = text,
				   .size = size,
				   .type = SCRIPT_STRING,
				   .slot = -1,
				   .is_elided = e->is_elided };
}

/* Whether @e is 0 or 1. */
static bool is_truth(const struct script_expr *e)
{
	return e->slot < 0 &&
	       (e->kind == EXPR_IN || e->kind == EXPR_MATCH ||
		(e->kind == EXPR_UNARY && e->op == SCRIPT_NOT) ||
		(e->kind == EXPR_BINARY && ((e->op >= SCRIPT_EQ && e->op <= SCRIPT_GE) ||
					    e->op == SCRIPT_AND_THEN || e->op == SCRIPT_OR_ELSE)));
}

static void fold_binary(struct check *c, struct script_expr *e)
{
	struct script_expr *a = e->kids[0], *b = e->kids[1];

	if (a->kind == EXPR_TEXT && b->kind == EXPR_TEXT) {
		fold_texts(c, e);
	} else if (is_number(a) && is_number(b)) {
		if (is_certain(e->op, a->number, b->number))
			become(e, compute(e->op, a->number, b->number));
	} else if (is_number(a) && ((e->op == SCRIPT_AND_THEN && !a->number) ||
				    (e->op == SCRIPT_OR_ELSE && a->number))) {
		become(e, e->op == SCRIPT_OR_ELSE);
	} else if (is_number(a) && is_truth(b) &&
		   (e->op == SCRIPT_AND_THEN || e->op == SCRIPT_OR_ELSE)) {
		*e = *b;
	}
}

static void fold_unary(struct script_expr *e)
{
	int64_t n = e->kids[0]->number;

	if (!is_number(e->kids[0]))
		return;
	switch (e->op) {
	case SCRIPT_PLUS:
		become(e, n);
		break;
	case SCRIPT_MINUS:
		become(e, (int64_t)(0 - (uint64_t)n));
		break;
	case SCRIPT_NOT:
		become(e, !n);
		break;
	case SCRIPT_INVERT:
		become(e, ~n);
		break;
	}
}

static void fold_expr(struct check *c, struct script_expr **at)
{
	struct script_expr *e = *at;

	if (!e || e->slot >= 0)
		return;
	for (uint32_t i = 0; i < e->n_kids; i++)
		fold_expr(c, &e->kids[i]);
	if (e->kind == EXPR_BINARY)
		fold_binary(c, e);
	else if (e->kind == EXPR_UNARY)
		fold_unary(e);
	else if (e->kind == EXPR_CONDITION && is_number(e->kids[0]))
		*at = e->kids[e->kids[0]->number ? 1 : 2];
}

static bool enter(struct check_walk *w, struct script_expr **e)
{
	fold_expr(w->context, e);
	return false;
}

void check_fold(struct check *c)
{
	struct check_walk w = { .enter = enter, .context = c };

	for (uint32_t i = 0; i < c->n_scopes; i++) {
		fold_expr(c, &c->scopes[i]->condition);
		for (uint32_t k = 0; k < c->scopes[i]->n_body; k++)
			check_walk_stmt(&w, c->scopes[i]->body[k]);
	}
}
