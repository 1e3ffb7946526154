/* SPDX-License-Identifier: MIT */
/*
 * check/survey.c - the value of each site of a probe at one point.
 *
 * Only sites that the point can reach are asked for: `@defined($x) ? $x : 0` does not need $x.
 */
#include "script/check/internal.h"

static void grow(struct check_survey *s)
{
	struct check_fact *facts;

	if (s->n_facts >= s->template->n_sites)
		return;
	facts = check_allocate(s->c, s->template->n_sites * sizeof *facts);
	if (s->n_facts)
		memcpy(facts, s->facts, s->n_facts * sizeof *facts);
	s->facts = facts;
	s->n_facts = s->template->n_sites;
}

static int ask_world(struct check_survey *s, const struct script_expr *e,
		     struct script_world_value *v, struct diag *d)
{
	const struct script_expr *of = e->kind == EXPR_CAST ? e->kids[0] : NULL;
	const struct script_world_ops *world = s->c->world->ops;
	int err = world->value(s->c->world, s->point, e, v, d);
	struct script_expr *member;
	struct diag other;

	if (!err || !of || of->kind != EXPR_CONTEXT || of->n_path || !e->n_path)
		return err;
	/* A recording has no memory, but perhaps $x->member of @cast($x, "type")->member. */
	member = check_allocate(s->c, sizeof *member);
	*member = *of;
	member->path = e->path;
	member->n_path = e->n_path;
	return world->value(s->c->world, s->point, member, v, &other) ? err : 0;
}

static int value_of(struct check_survey *s, const struct script_expr *e,
		    struct script_world_value *v, struct diag *d)
{
	if (s->point->family != FAMILY_WORLD)
		return world_engine_value(s->point, e, v, d);
	return ask_world(s, e, v, d);
}

/* ---- $$vars and its kin ---- */

struct value_name {
	const char *name;
	struct value_name *next;
};

struct values { /* receives the names of a point; nothing leaves the world's function by longjmp */
	struct script_arena *arena;
	struct value_name *first, **last;
	bool has_dollars;
};

static void take_name(void *context, const struct script_world_value *v, const char *name)
{
	struct values *k = context;
	struct value_name *made = script_allocate(k->arena, sizeof *made);
	const char *copy = script_copy(k->arena, name, strlen(name));

	(void)v;
	if (!made || !copy || !strcmp(name, "$return"))
		return;
	made->name = copy;
	*k->last = made;
	k->last = &made->next;
	k->has_dollars |= *name == '$';
}

/* The values of the point: those with a dollar; if there are none, all. */
static struct script_expr **names_of(struct check_survey *s, const struct script_expr *of,
				     uint32_t *n)
{
	struct check *c = s->c;
	struct values k = { .arena = c->arena, .last = &k.first };
	struct script_expr **names = NULL;

	if (!strcmp(of->text, "$return")) {
		check_push(c, &names, n, check_expr(c, EXPR_CONTEXT, of->place, "return", 0));
		return names;
	}
	if (strcmp(of->text, "$locals") && s->point->family == FAMILY_WORLD &&
	    c->world->ops->each_value)
		c->world->ops->each_value(c->world, s->point, take_name, &k);
	if (c->arena->failed)
		longjmp(c->full, 1);
	for (const struct value_name *v = k.first; v; v = v->next)
		if (!k.has_dollars || *v->name == '$')
			check_push(c, &names, n,
				   check_expr(c, k.has_dollars ? EXPR_CONTEXT : EXPR_VARIABLE,
					      of->place, v->name + k.has_dollars, 0));
	return names;
}

/* $$parms$: each value pretty. */
static void add_pretty(const struct script_expr *of, struct script_expr *e)
{
	if (e->kind == EXPR_CONTEXT && of->n_path) {
		e->path = of->path;
		e->n_path = of->n_path;
	}
}

/* "a=%#x b=%s".  Nothing else is allocated meanwhile: the text is outside the arena. */
static const char *format_of(struct check *c, const struct check_fact *f)
{
	struct text t = { 0 };
	const char *copy;

	for (uint32_t i = 0; i < f->n_names; i++)
		text_addf(&t, "%s%s=%s", i ? " " : "", f->names[i]->text,
			  f->names[i]->type == SCRIPT_STRING ? "%s" : "%#x");
	copy = script_copy(c->arena, t.bytes ? t.bytes : "", t.size);
	text_fini(&t);
	if (!copy)
		longjmp(c->full, 1);
	return copy;
}

static void expand(struct check_survey *s, const struct script_expr *e, uint32_t site)
{
	struct check *c = s->c;
	struct check_fact *fact;
	uint32_t n = 0;
	struct script_expr **names = names_of(s, e, &n);

	for (uint32_t i = 0; i < n; i++) {
		add_pretty(e, names[i]);
		names[i]->slot = (int32_t)check_site(c, s->template, names[i], false);
		check_ask(s, names[i]);
	}
	fact = &s->facts[site];
	fact->state = FACT_EXPANDED;
	fact->names = check_allocate(c, (n + 1) * sizeof *fact->names);
	for (uint32_t i = 0; i < n; i++) {
		const struct check_fact *f = &s->facts[names[i]->slot];

		names[i]->type = f->value.type;
		if (f->state == FACT_VALUE)
			fact->names[fact->n_names++] = names[i];
	}
	fact->text = format_of(c, fact);
}

static bool is_expandable(const struct script_expr *e)
{
	static const char *const names[] = { "$vars", "$parms", "$locals", "$return" };

	for (size_t i = 0; e->kind == EXPR_CONTEXT && i < sizeof names / sizeof *names; i++)
		if (!strcmp(e->text, names[i]))
			return true;
	return false;
}

/* ---- facts ---- */

struct check_fact *check_ask(struct check_survey *s, const struct script_expr *e)
{
	uint32_t site = (uint32_t)e->slot;
	const struct check_site *of = s->template->sites[site];
	struct check_fact *f;
	struct diag d = { "" };
	int err;

	grow(s);
	f = &s->facts[site];
	if (f->state != FACT_UNASKED)
		return f;
	err = value_of(s, of->expr, &f->value, &d);
	if (!err) {
		f->state = FACT_VALUE;
		return f;
	}
	f->state = FACT_MISSING;
	f->text = d.text[0] ? check_text(s->c, "%s", d.text) : NULL;
	if (is_expandable(of->expr))
		expand(s, of->expr, site);
	return &s->facts[site];
}

/* Whether all that @e reads of its event is there, and all that it calls. */
static bool is_defined(struct check_survey *s, const struct script_expr *e)
{
	if (!e)
		return true;
	if (e->slot >= 0)
		return check_ask(s, e)->state != FACT_MISSING;
	if (e->kind == EXPR_VARIABLE && !e->variable)
		return check_find_global(s->c, e->text, e->place) != NULL || e->n_path == 0;
	if (e->kind == EXPR_CALL && !check_find_function(s->c, e->text, e->n_kids, e->place) &&
	    !check_find_builtin(e->text, e->n_kids))
		return false;
	if (e->kind == EXPR_ENUM && !check_has_enum(s->c, e))
		return false;
	for (uint32_t i = 0; i < e->n_kids; i++)
		if (!is_defined(s, e->kids[i]))
			return false;
	return true;
}

static bool has_effect(const struct script_expr *e)
{
	if (!e)
		return false;
	if (e->kind == EXPR_ASSIGN || e->kind == EXPR_STEP || e->kind == EXPR_PRINT ||
	    (e->kind == EXPR_CALL && e->slot < 0))
		return true;
	for (uint32_t i = 0; i < e->n_kids; i++)
		if (has_effect(e->kids[i]))
			return true;
	return false;
}

static int known_logic(struct check_survey *s, const struct script_expr *e, int decides)
{
	int a = check_known(s, e->kids[0]), b;

	if (a == decides)
		return decides;
	b = check_known(s, e->kids[1]);
	if (a >= 0)
		return b;
	return b == decides && !has_effect(e->kids[0]) ? decides : -1;
}

int check_known(struct check_survey *s, const struct script_expr *e)
{
	int a;

	switch (e->slot >= 0 ? EXPR_CONTEXT : e->kind) {
	case EXPR_NUMBER:
		return e->number != 0;
	case EXPR_DEFINED:
		return is_defined(s, e->kids[0]);
	case EXPR_UNARY:
		a = e->op == SCRIPT_NOT ? check_known(s, e->kids[0]) : -1;
		return a < 0 ? a : !a;
	case EXPR_BINARY:
		if (e->op == SCRIPT_AND_THEN || e->op == SCRIPT_OR_ELSE)
			return known_logic(s, e, e->op == SCRIPT_OR_ELSE);
		return -1;
	default:
		return -1;
	}
}

/* ---- the walk ---- */

static bool survey_expr(struct check_walk *w, struct script_expr **expr)
{
	struct check_survey *s = w->context;
	struct script_expr *e = *expr;
	struct check_fact *f;
	int known;

	if (check_is_answer(s->point, e))
		return false;
	if (e->slot >= 0) {
		f = check_ask(s, e);
		if (f->state == FACT_MISSING && !s->missing &&
		    !s->template->sites[e->slot]->is_variable) {
			s->missing = s->template->sites[e->slot];
			s->reason = f->text;
		}
		return false;
	}
	switch (e->kind) {
	case EXPR_DEFINED:
		is_defined(s, e->kids[0]);
		return false;
	case EXPR_CHOOSE:
		check_walk_expr(w, &e->kids[is_defined(s, e->kids[0]) ? 0 : 1]);
		return false;
	case EXPR_BINARY:
		return check_known(s, e) < 0;
	case EXPR_CONDITION:
		known = check_known(s, e->kids[0]);
		if (known < 0)
			return true;
		check_walk_expr(w, &e->kids[known ? 1 : 2]);
		return false;
	default:
		return true;
	}
}

static bool survey_stmt(struct check_walk *w, struct script_stmt *stmt)
{
	struct check_survey *s = w->context;
	int known = stmt->kind == STMT_IF && stmt->expr ? check_known(s, stmt->expr) : -1;

	if (known < 0)
		return true;
	if (known ? stmt->n_body > 0 : stmt->n_body > 1)
		check_walk_stmt(w, stmt->body[known ? 0 : 1]);
	return false;
}

bool check_is_answer(const struct script_world_point *p, const struct script_expr *e)
{
	return p->family == FAMILY_PROCFS && p->is_return && e->kind == EXPR_CONTEXT &&
	       !e->n_path && !strcmp(e->text, "value");
}

void check_survey(struct check_survey *s)
{
	struct check_walk w = { .enter = survey_expr, .statement = survey_stmt, .context = s };
	struct check_template *t = s->template;

	s->facts = NULL;
	s->n_facts = 0;
	grow(s);
	check_walk_expr(&w, &t->condition);
	for (uint32_t i = 0; i < t->n_body; i++)
		check_walk_stmt(&w, t->body[i]);
}
