/* SPDX-License-Identifier: MIT */
/*
 * check/use.c - reads and effects; expressions without either are left out.
 *
 * An expression whose value is not used and that changes nothing is left out, and so is an assignment
 * to a local that is never read.  That makes other locals unread, so it goes in rounds.  The
 * values that an alias offers cost nothing this way, unless the probe uses them.
 */
#include "script/check/internal.h"

/* ---- effects ---- */

static bool calls_effect(struct check_walk *w, struct script_expr **e)
{
	bool *found = w->context;

	if ((*e)->kind == EXPR_CALL && (*e)->function)
		*found |= ((struct check_scope *)(*e)->function)->has_effects;
	return true;
}

static void spread_effects(struct check *c)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < c->n_scopes; i++) {
			struct check_scope *s = c->scopes[i];
			bool found = false;
			struct check_walk w = { .enter = calls_effect, .context = &found };

			for (uint32_t k = 0; k < s->n_body && !s->has_effects; k++)
				check_walk_stmt(&w, s->body[k]);
			if (found && !s->has_effects)
				s->has_effects = changed = true;
		}
	}
}

static bool is_pure(const struct script_expr *e)
{
	if (!e || e->slot >= 0)
		return true;
	if (e->kind == EXPR_ASSIGN || e->kind == EXPR_STEP ||
	    (e->kind == EXPR_PRINT && e->text[0] != 's'))
		return false;
	if (e->kind == EXPR_CALL && e->function)
		if (((const struct check_scope *)e->function)->has_effects)
			return false;
	if (e->kind == EXPR_CALL && !e->function && (!e->builtin || !e->builtin->is_pure))
		return false;
	for (uint32_t i = 0; i < e->n_kids; i++)
		if (!is_pure(e->kids[i]))
			return false;
	return true;
}

/* ---- reads ---- */

static void read_expr(struct script_expr *e, bool used);

static void read_kids(struct script_expr *e, uint32_t from)
{
	for (uint32_t i = from; i < e->n_kids; i++)
		read_expr(e->kids[i], true);
}

static void read_name(struct script_expr *e, bool used)
{
	if (used && e->variable)
		e->variable->is_read = true;
}

static void read_expr(struct script_expr *e, bool used)
{
	if (!e || e->is_elided || e->slot >= 0)
		return;
	switch (e->kind) {
	case EXPR_VARIABLE:
		read_name(e, used);
		break;
	case EXPR_ELEMENT:
	case EXPR_IN:
		read_name(e, used);
		read_kids(e, 0);
		break;
	case EXPR_ASSIGN:
		read_name(e->kids[0], used);
		read_kids(e->kids[0], 0);
		read_kids(e, 1);
		break;
	case EXPR_STEP:
		read_name(e->kids[0], used);
		read_kids(e->kids[0], 0);
		break;
	case EXPR_CONDITION:
		read_expr(e->kids[0], true);
		read_expr(e->kids[1], used);
		read_expr(e->kids[2], used);
		break;
	default:
		read_kids(e, 0);
		break;
	}
}

static void read_stmt(const struct script_stmt *s)
{
	if (!s)
		return;
	read_expr(s->init, false);
	read_expr(s->step, false);
	if (s->kind == STMT_DELETE)
		read_kids(s->expr, 0);
	else
		read_expr(s->expr, s->kind != STMT_EXPR);
	if (s->foreach) {
		read_expr(s->foreach->array, true);
		read_expr(s->foreach->limit, true);
	}
	for (uint32_t i = 0; i < s->n_body; i++)
		read_stmt(s->body[i]);
}

static void clear_reads(struct check *c)
{
	for (uint32_t i = 0; i < c->program->n_globals; i++)
		c->program->globals[i]->is_read = false;
	for (uint32_t i = 0; i < c->n_scopes; i++)
		for (uint32_t k = 0; k < c->scopes[i]->n_locals; k++)
			c->scopes[i]->locals[k]->is_read = false;
}

static void count_reads(struct check *c)
{
	clear_reads(c);
	for (uint32_t i = 0; i < c->n_scopes; i++) {
		read_expr(c->scopes[i]->condition, true);
		for (uint32_t k = 0; k < c->scopes[i]->n_body; k++)
			read_stmt(c->scopes[i]->body[k]);
	}
}

/* ---- leaving out ---- */

struct eliding {
	struct check_walk walk; /* first */
	struct check *c;
	bool changed;
};

static bool is_unread_local(const struct script_expr *to)
{
	return to->kind == EXPR_VARIABLE && to->variable && !to->variable->is_global &&
	       !to->variable->is_read;
}

static void elide(struct eliding *e, struct script_expr *x)
{
	bool is_dead = x && (x->kind == EXPR_ASSIGN || x->kind == EXPR_STEP) &&
		       is_unread_local(x->kids[0]) && (x->kind == EXPR_STEP || is_pure(x->kids[1]));

	if (!x || x->is_elided || (!is_dead && !is_pure(x)))
		return;
	x->is_elided = e->changed = true;
	if (!is_dead && x->kind != EXPR_NUMBER && !check_is_library(e->c, x->place))
		script_warning(e->c->m, x->place,
			       "the value of this expression is not used: it is left out");
}

static bool elide_stmt(struct check_walk *w, struct script_stmt *s)
{
	struct eliding *e = (struct eliding *)w;

	if (s->kind == STMT_EXPR)
		elide(e, s->expr);
	elide(e, s->init);
	elide(e, s->step);
	return true;
}

static bool no_expr(struct check_walk *w, struct script_expr **e)
{
	(void)w;
	(void)e;
	return false;
}

static bool elide_all(struct check *c)
{
	struct eliding e = { .walk = { .enter = no_expr, .statement = elide_stmt }, .c = c };

	for (uint32_t i = 0; i < c->n_scopes; i++)
		for (uint32_t k = 0; k < c->scopes[i]->n_body; k++)
			check_walk_stmt(&e.walk, c->scopes[i]->body[k]);
	return e.changed;
}

/* ---- warnings ---- */

static void try_value(void *near, const struct script_world_value *v, const char *name)
{
	(void)v;
	script_nearest_try(near, name);
}

static const char *near_local(struct check *c, const struct check_scope *s, const char *name,
			      char text[160])
{
	struct script_nearest near = { .wanted = name, .wanted_size = strlen(name) };

	for (uint32_t i = 0; i < s->n_locals; i++)
		if (s->locals[i]->is_written)
			script_nearest_try(&near, s->locals[i]->name);
	for (uint32_t i = 0; i < c->n_globals; i++)
		if (!c->globals[i]->is_library)
			script_nearest_try(&near, c->globals[i]->name);
	if (s->point && s->point->family == FAMILY_WORLD && c->world->ops->each_value)
		c->world->ops->each_value(c->world, s->point, try_value, &near);
	return script_nearest_text(&near, text);
}

static bool is_substituted(const struct check_scope *s, const char *name)
{
	const struct check_template *t = s->template;

	for (uint32_t i = 0; t && i < t->n_assigned; i++)
		if (t->assigned[i]->is_substituted && !strcmp(t->assigned[i]->name, name))
			return true;
	return false;
}

static void warn_locals(struct check *c, const struct check_scope *s)
{
	char text[160];

	for (uint32_t i = 0; i < s->n_locals; i++) {
		const struct check_variable *v = (const struct check_variable *)s->locals[i];

		if (!v->in_body || v->is_library || v->is_parameter)
			continue;
		if (v->v.is_read && !v->v.is_written)
			script_warning(c->m, v->v.place,
				       "`%s` is never assigned: it is 0 or \"\"%s", v->v.name,
				       near_local(c, s, v->v.name, text));
		else if (!v->v.is_read && v->v.is_written && !is_substituted(s, v->v.name))
			script_warning(c->m, v->v.place, "`%s` is assigned and never read",
				       v->v.name);
	}
}

static void warn_globals(struct check *c)
{
	for (uint32_t i = 0; i < c->n_globals; i++) {
		const struct check_name *n = c->globals[i];
		struct script_variable *v = n->variable;

		if (n->is_library)
			continue;
		if (!v || (!v->is_read && !v->is_written))
			script_warning(c->m, n->global->place, "global `%s` is not used", n->name);
		else if (!v->is_written && !v->value)
			script_warning(c->m, n->global->place, "global `%s` is never assigned",
				       n->name);
		else if (!v->is_read && v->is_written)
			v->prints_at_end = true;
	}
}

void check_use(struct check *c)
{
	spread_effects(c);
	count_reads(c);
	while (!c->options->keeps_unused && elide_all(c))
		count_reads(c);
	for (uint32_t i = 0; i < c->n_scopes; i++)
		warn_locals(c, c->scopes[i]);
	warn_globals(c);
}
