/* SPDX-License-Identifier: MIT */
/*
 * check/instance.c - probes of the script, and the tree of each handler.
 *
 * A handler is the copy of a template for one set of facts: @defined is decided, sites
 * have types, $$vars is a format.  Until check_finish() the slot of an expression is its number in
 * the template.
 */
#include "script/check/internal.h"

enum { MOST_PROBES = 100000 };

/* ---- the tree ---- */

static struct script_expr *expanded(struct check *c, const struct script_expr *e,
				    const struct check_fact *f)
{
	struct script_expr *format = check_expr(c, EXPR_TEXT, e->place, f->text, 0), *print;

	if (!f->n_names)
		return format;
	print = check_expr(c, EXPR_PRINT, e->place, "sprintf", f->n_names + 1);
	print->kids[0] = format;
	for (uint32_t i = 0; i < f->n_names; i++)
		print->kids[i + 1] = f->names[i];
	return print;
}

static struct script_expr *site(struct check_copier *k, const struct script_expr *e)
{
	struct check_survey *s = k->context;
	const struct check_fact *f = check_ask(s, e);
	struct script_expr *copy;

	if (f->state == FACT_EXPANDED)
		return expanded(k->c, e, f);
	if (f->state == FACT_MISSING && !s->template->sites[e->slot]->is_variable)
		return check_number(k->c, e->place, 0); /* --skip-badvars */
	copy = check_allocate(k->c, sizeof *copy);
	*copy = *e;
	if (f->state == FACT_VALUE)
		copy->type = f->value.type;
	else
		copy->slot = -1;
	return copy;
}

/* $value of a procfs read: a hidden global, which the engine sends to the reader. */
static struct script_expr *answer(struct check *c, const struct script_expr *e)
{
	struct script_expr *copy = check_expr(c, EXPR_VARIABLE, e->place, "$value", 0);
	struct check_variable *v;

	if (!c->answer) {
		v = check_allocate(c, sizeof *v);
		v->is_hidden = true;
		v->v = (struct script_variable){ .name = "$value",
						 .is_global = true,
						 .type = SCRIPT_STRING,
						 .place = e->place,
						 .typed_at = e->place };
		check_push(c, &c->program->globals, &c->program->n_globals, &v->v);
		c->answer = &v->v;
	}
	copy->variable = c->answer;
	return copy;
}

static struct script_expr *replace_expr(struct check_copier *k, const struct script_expr *e)
{
	struct check_survey *s = k->context;
	int known;

	if (check_is_answer(s->point, e))
		return answer(k->c, e);
	if (e->slot >= 0)
		return site(k, e);
	switch (e->kind) {
	case EXPR_DEFINED:
		return check_number(k->c, e->place, check_known(s, e));
	case EXPR_CHOOSE: {
		const struct script_expr test = {
			.kind = EXPR_DEFINED, .kids = e->kids, .n_kids = 1, .slot = -1
		};

		return check_copy_expr(k, e->kids[check_known(s, &test) ? 0 : 1]);
	}
	case EXPR_BINARY:
		known = check_known(s, e);
		return known < 0 ? NULL : check_number(k->c, e->place, known);
	case EXPR_CONDITION:
		known = check_known(s, e->kids[0]);
		return known < 0 ? NULL : check_copy_expr(k, e->kids[known ? 1 : 2]);
	default:
		return NULL;
	}
}

static struct script_stmt *replace_stmt(struct check_copier *k, const struct script_stmt *stmt)
{
	struct check_survey *s = k->context;
	int known = stmt->kind == STMT_IF && stmt->expr ? check_known(s, stmt->expr) : -1;
	uint32_t branch = known ? 0 : 1;

	if (known < 0)
		return NULL;
	if (branch >= stmt->n_body || !stmt->body[branch])
		return check_stmt(k->c, STMT_EMPTY, stmt->place, NULL);
	return check_copy_stmt(k, stmt->body[branch]);
}

struct check_scope *check_instance(struct check_survey *s)
{
	struct check *c = s->c;
	const struct check_template *t = s->template;
	struct check_copier k = {
		.c = c, .replace = replace_expr, .replace_stmt = replace_stmt, .context = s
	};
	struct check_scope *scope = check_allocate(c, sizeof *scope);

	scope->handler = check_allocate(c, sizeof *scope->handler);
	scope->handler->place = t->decl->place;
	scope->template = t;
	scope->point = s->point;
	scope->is_library = t->is_library;
	scope->condition = check_copy_expr(&k, t->condition);
	scope->n_body = t->n_body;
	scope->body = check_allocate(c, (t->n_body + 1) * sizeof *scope->body);
	for (uint32_t i = 0; i < t->n_body; i++)
		scope->body[i] = check_copy_stmt(&k, t->body[i]);
	check_push(c, &c->scopes, &c->n_scopes, scope);
	check_resolve(c, scope);
	return scope;
}

/* ---- shapes ---- */

static bool same_fact(const struct check_fact *a, const struct check_fact *b)
{
	if (a->state != b->state)
		return false;
	if (a->state == FACT_VALUE)
		return a->value.type == b->value.type;
	return a->state != FACT_EXPANDED || !strcmp(a->text, b->text);
}

static bool same_facts(const struct check_shape *shape, const struct check_survey *s)
{
	static const struct check_fact unasked;
	uint32_t n = shape->n_facts > s->n_facts ? shape->n_facts : s->n_facts;

	for (uint32_t i = 0; i < n; i++)
		if (!same_fact(i < shape->n_facts ? &shape->facts[i] : &unasked,
			       i < s->n_facts ? &s->facts[i] : &unasked))
			return false;
	return true;
}

static struct check_shape *shape_of(struct check_survey *s)
{
	struct check_template *t = s->template;
	struct check_shape *shape;

	for (uint32_t i = 0; i < t->n_shapes; i++)
		if (same_facts(t->shapes[i], s))
			return t->shapes[i];
	shape = check_allocate(s->c, sizeof *shape);
	*shape = (struct check_shape){ .template = t, .facts = s->facts, .n_facts = s->n_facts };
	shape->scope = check_instance(s);
	/* The copy may have asked for more. */
	shape->facts = s->facts;
	shape->n_facts = s->n_facts;
	check_push(s->c, &t->shapes, &t->n_shapes, shape);
	return shape;
}

/* ---- probes ---- */

struct declaring {		/* a sink */
	struct check_sink sink; /* first */
	struct check *c;
	const struct script_probe_decl *decl;
};

static bool is_missing(struct check_survey *s, const struct script_point *of)
{
	const struct script_expr *e;
	const char *at = s->point->text ? s->point->text : "this point";

	if (!s->missing)
		return false;
	if (of->is_optional || of->is_sufficient)
		return true;
	e = s->missing->expr;
	if (s->c->options->skips_bad_values) {
		script_warning(s->c->m, e->place, "`%s` is 0: it does not exist at %s",
			       s->missing->text, at);
		return false;
	}
	if (s->reason)
		semantic(s->c, e->place, "%s", s->reason);
	else
		semantic(s->c, e->place, "`%s` does not exist at %s", s->missing->text, at);
	script_note(s->c->m, of->place, "at the probe point %s", at);
	return true;
}

static void add_surveyed(struct check_survey *s)
{
	struct check *c = s->c;
	struct check_probe *p = check_allocate(c, sizeof *p);

	p->shape = shape_of(s);
	p->facts = s->facts;
	p->n_facts = s->n_facts;
	p->probe = check_allocate(c, sizeof *p->probe);
	p->probe->handler = p->shape->scope->handler;
	p->probe->point = *s->point;
	p->probe->number = c->n_probes;
	check_push(c, &c->probes, &c->n_probes, p);
}

static bool add_entry(struct check *c, struct check_template *t, const struct script_world_point *p,
		      const struct script_point *of)
{
	struct script_world_point *entry = check_allocate(c, sizeof *entry);
	struct check_survey s = { .c = c, .template = t->entry, .point = entry };
	struct diag d = { "" };
	int err = -ENOENT;

	if (p->family == FAMILY_WORLD && c->world->ops->entry)
		err = c->world->ops->entry(c->world, p, entry, &d);
	if (err) {
		if (of->is_optional || of->is_sufficient)
			return false;
		semantic(c, t->entries[0]->expr->place, "%s",
			 d.text[0] ? d.text : "@entry() needs a probe of a return");
		script_note(c->m, of->place, "at the probe point %s", p->text ? p->text : "");
		return false;
	}
	check_survey(&s);
	if (is_missing(&s, of))
		return false;
	add_surveyed(&s);
	return true;
}

static void add_probe(struct check_sink *sink, const struct check_chain *chain,
		      const struct script_world_point *p, const struct script_point *of)
{
	struct declaring *d = (struct declaring *)sink;
	struct check *c = d->c;
	struct check_survey s = { .c = c, .point = p };

	if (c->n_probes >= MOST_PROBES) {
		semantic(c, of->place, "the script has more than %d probes: use a narrower pattern",
			 MOST_PROBES);
		longjmp(c->full, 2);
	}
	s.template = check_template(c, d->decl, chain, p->is_user);
	check_survey(&s);
	if (is_missing(&s, of) || (s.template->entry && !add_entry(c, s.template, p, of)))
		return;
	add_surveyed(&s);
}

static void declare_probe(struct check *c, const struct script_probe_decl *decl)
{
	struct declaring d = { .sink.add = add_probe, .c = c, .decl = decl };

	for (uint32_t i = 0; i < decl->n_points; i++)
		if (check_expand(c, &decl->points[i], NULL, &d.sink) > 0 &&
		    decl->points[i].is_sufficient)
			break;
}

void check_probes(struct check *c, struct script_file *const *files, uint32_t n_files)
{
	for (uint32_t i = 0; i < n_files; i++)
		for (uint32_t k = 0; k < files[i]->n_probes; k++)
			declare_probe(c, files[i]->probes[k]);
}
