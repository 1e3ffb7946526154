/* SPDX-License-Identifier: MIT */
/*
 * check/prune.c - elided expressions leave the trees.
 *
 * So nothing behind the checker meets an elided expression, a block within a block of one statement,
 * or a local that nothing reads or writes any more.
 */
#include "script/check/internal.h"

static bool is_empty(const struct script_stmt *s)
{
	return !s || s->kind == STMT_EMPTY || (s->kind == STMT_BLOCK && !s->n_body);
}

static struct script_expr *kept(struct script_expr *e)
{
	return e && e->is_elided ? NULL : e;
}

static void prune(struct script_stmt *s)
{
	uint32_t n = 0;

	if (!s)
		return;
	for (uint32_t i = 0; i < s->n_body; i++)
		prune(s->body[i]);
	s->init = kept(s->init);
	s->step = kept(s->step);
	if (s->kind == STMT_EXPR && s->expr->is_elided) {
		s->kind = STMT_EMPTY;
		s->expr = NULL;
	}
	if (s->kind != STMT_BLOCK)
		return;
	for (uint32_t i = 0; i < s->n_body; i++)
		if (!is_empty(s->body[i]))
			s->body[n++] = s->body[i];
	s->n_body = n;
}

/* ---- locals ---- */

static bool note_local(struct check_walk *w, struct script_expr **e)
{
	(void)w;
	if ((*e)->variable && !(*e)->variable->is_global)
		((struct check_variable *)(*e)->variable)->is_left = true;
	return true;
}

static void prune_locals(struct check_scope *s)
{
	struct check_walk w = { .enter = note_local };
	uint32_t n = 0;

	check_walk_expr(&w, &s->condition);
	for (uint32_t i = 0; i < s->n_body; i++)
		check_walk_stmt(&w, s->body[i]);
	for (uint32_t i = 0; i < s->n_locals; i++) {
		struct check_variable *v = (struct check_variable *)s->locals[i];

		if (v->is_left || v->is_parameter)
			s->locals[n++] = s->locals[i];
	}
	s->n_locals = n;
}

void check_prune(struct check *c)
{
	for (uint32_t i = 0; i < c->n_scopes; i++) {
		struct check_scope *s = c->scopes[i];
		uint32_t n = 0;

		for (uint32_t k = 0; k < s->n_body; k++) {
			prune(s->body[k]);
			if (!is_empty(s->body[k]) || s->function)
				s->body[n++] = s->body[k];
		}
		s->n_body = n;
		prune_locals(s);
	}
}
