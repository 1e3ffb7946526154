/* SPDX-License-Identifier: MIT */
/*
 * check/template.c - prologues, body and epilogues of a probe as one tree.
 *
 * It is a copy, so that its sites can have numbers.  On the way:
 *   (1) a call of a function whose value is an expression with sites becomes that expression:
 *	 check/inline.c
 *   (2) a site reads through a local that is assigned once: t = $next; @cast(t, "task_struct")->pid
 *   (3) @entry(x) becomes a local that is taken out of a hidden array: check/entry.c
 */
#include "script/check/internal.h"

enum { MOST_SITES = 4096, MOST_SUBSTITUTIONS = 8 };

const char *check_expr_text(struct check *c, const struct script_expr *e)
{
	struct text t = { 0 };
	const char *copy;

	script_print_expr(&t, e);
	copy = script_copy(c->arena, t.bytes ? t.bytes : "", t.size);
	text_fini(&t);
	if (!copy)
		longjmp(c->full, 1);
	return copy;
}

/* ---- names that the body assigns ---- */

struct building {
	struct check_copier copier; /* first */
	struct check_template *template;
};

static struct script_expr *build_expr(struct check_copier *k, const struct script_expr *e)
{
	struct building *b = (struct building *)k;

	if (e->kind == EXPR_ENTRY && b->template->is_entry)
		return check_copy_expr(k, e->kids[0]);
	if (e->kind == EXPR_ENTRY)
		return check_entry(k->c, b->template, e);
	return e->kind == EXPR_CALL ? check_inline(k->c, e, k, MOST_SUBSTITUTIONS) : NULL;
}

static void note_assigned(struct check *c, struct check_template *t, const struct script_expr *to,
			  struct script_expr *value)
{
	struct check_assigned *a;

	if (!to || to->kind != EXPR_VARIABLE || check_find_global(c, to->text, to->place))
		return;
	for (uint32_t i = 0; i < t->n_assigned; i++)
		if (!strcmp(t->assigned[i]->name, to->text)) {
			t->assigned[i]->value = NULL;
			return;
		}
	a = check_allocate(c, sizeof *a);
	*a = (struct check_assigned){ .name = to->text, .value = value };
	check_push(c, &t->assigned, &t->n_assigned, a);
}

struct scan {
	struct check_walk walk; /* first */
	struct check *c;
	struct check_template *template;
};

static bool scan_expr(struct check_walk *w, struct script_expr **e)
{
	struct scan *s = (struct scan *)w;

	if ((*e)->kind == EXPR_ASSIGN)
		note_assigned(s->c, s->template, (*e)->kids[0],
			      (*e)->op == SCRIPT_NO_OP ? (*e)->kids[1] : NULL);
	else if ((*e)->kind == EXPR_STEP)
		note_assigned(s->c, s->template, (*e)->kids[0], NULL);
	return true;
}

static bool scan_stmt(struct check_walk *w, struct script_stmt *stmt)
{
	struct scan *s = (struct scan *)w;
	const struct script_foreach *f = stmt->foreach;

	for (uint32_t i = 0; f && i < f->n_keys; i++)
		note_assigned(s->c, s->template, f->keys[i], NULL);
	if (f)
		note_assigned(s->c, s->template, f->value, NULL);
	if (stmt->kind == STMT_TRY)
		note_assigned(s->c, s->template, stmt->variable, NULL);
	if (stmt->kind == STMT_DELETE)
		note_assigned(s->c, s->template, stmt->expr, NULL);
	return true;
}

static struct check_assigned *assigned(const struct check_template *t, const char *name)
{
	for (uint32_t i = 0; i < t->n_assigned; i++)
		if (!strcmp(t->assigned[i]->name, name))
			return t->assigned[i];
	return NULL;
}

/* ---- sites ---- */

uint32_t check_site(struct check *c, struct check_template *t, const struct script_expr *e,
		    bool is_variable)
{
	const char *text = check_expr_text(c, e);
	struct check_site *site;

	for (uint32_t i = 0; i < t->n_sites; i++)
		if (!strcmp(t->sites[i]->text, text))
			return i;
	if (t->n_sites >= MOST_SITES) {
		semantic(c, e->place, "this probe reads more than %d values of its event",
			 MOST_SITES);
		longjmp(c->full, 2);
	}
	site = check_allocate(c, sizeof *site);
	*site = (struct check_site){ .expr = e, .text = text, .is_variable = is_variable };
	check_push(c, &t->sites, &t->n_sites, site);
	return t->n_sites - 1;
}

/* Whether a probe point could evaluate @e: nothing in it is of the script. */
static bool is_of_the_event(struct check *c, const struct check_template *t,
			    const struct script_expr *e)
{
	const struct script_builtin *b = NULL;

	if (e->kind == EXPR_CALL && !check_find_function(c, e->text, e->n_kids, e->place))
		b = check_find_builtin(e->text, e->n_kids);
	if (e->kind == EXPR_VARIABLE) {
		const struct check_assigned *a = assigned(t, e->text);

		return a ? a->value != NULL : !check_find_global(c, e->text, e->place);
	}
	if (e->kind == EXPR_CALL && !(b && (b->is_site || b->standard >= 0)))
		return false;
	if (e->kind != EXPR_CALL && e->kind != EXPR_NUMBER && e->kind != EXPR_TEXT &&
	    e->kind != EXPR_CONTEXT && e->kind != EXPR_CAST && e->kind != EXPR_STATIC &&
	    e->kind != EXPR_UNARY && e->kind != EXPR_BINARY)
		return false;
	for (uint32_t i = 0; i < e->n_kids; i++)
		if (!e->kids[i] || !is_of_the_event(c, t, e->kids[i]))
			return false;
	return true;
}

struct substitution {
	struct check_copier copier; /* first */
	const struct check_template *template;
	unsigned depth;
};

static struct script_expr *put_value(struct check_copier *k, const struct script_expr *e)
{
	struct substitution *s = (struct substitution *)k;
	struct check_assigned *a;
	struct script_expr *value;

	if (e->kind != EXPR_VARIABLE || !s->depth)
		return NULL;
	a = assigned(s->template, e->text);
	if (!a || !a->value || !is_of_the_event(k->c, s->template, a->value))
		return NULL;
	a->is_substituted = true;
	s->depth--;
	value = check_copy_expr(k, a->value);
	s->depth++;
	return e->n_path ? check_go_on(k->c, value, e) : value;
}

static void substitute(struct check *c, const struct check_template *t, struct script_expr **e)
{
	struct substitution s = { .copier = { .c = c, .replace = put_value },
				  .template = t,
				  .depth = MOST_SUBSTITUTIONS };

	*e = check_copy_expr(&s.copier, *e);
}

/* An alias that assigns __tid says whose event it is: tid() in the probe means that. */
static bool is_overridden(struct check *c, const struct check_template *t,
			  const struct script_expr *e)
{
	static const char *const names[] = { "pid", "tid", "execname" };

	for (size_t i = 0; !e->n_kids && i < sizeof names / sizeof *names; i++)
		if (!strcmp(e->text, names[i]))
			return assigned(t, check_text(c, "__%s", names[i])) != NULL;
	return false;
}

static bool number_site(struct check_walk *w, struct script_expr **e)
{
	struct scan *s = (struct scan *)w;
	struct check *c = s->c;

	switch ((*e)->kind) {
	case EXPR_VARIABLE:
		if ((*e)->n_path)
			substitute(c, s->template, e);
		if ((*e)->kind == EXPR_VARIABLE &&
		    (assigned(s->template, (*e)->text) || (*e)->variable ||
		     check_find_global(c, (*e)->text, (*e)->place)))
			return true;
		(*e)->slot = (int32_t)check_site(c, s->template, *e, (*e)->kind == EXPR_VARIABLE);
		return false;
	case EXPR_CALL:
		if (is_overridden(c, s->template, *e)) {
			(*e)->kind = EXPR_VARIABLE;
			(*e)->text = check_text(c, "__%s", (*e)->text);
			return true;
		}
		if (!check_is_site_call(c, *e))
			return true;
		substitute(c, s->template, e);
		break;
	case EXPR_CAST:
		substitute(c, s->template, e);
		break;
	case EXPR_CONTEXT:
	case EXPR_STATIC:
		break;
	case EXPR_ASSIGN: /* a target that cannot be written is reported later */
	case EXPR_STEP:
	default:
		return true;
	}
	(*e)->slot = (int32_t)check_site(c, s->template, *e, false);
	return false;
}

/* ---- putting it together ---- */

static bool same_chain(const struct check_chain *a, const struct check_chain *b)
{
	while (a && b && a->alias == b->alias && a->condition == b->condition) {
		a = a->up;
		b = b->up;
	}
	return !a && !b;
}

static void add_body(struct check *c, struct building *b, const struct script_stmt *s)
{
	if (s)
		check_push(c, &b->template->body, &b->template->n_body,
			   check_copy_stmt(&b->copier, s));
}

static void add_epilogues(struct check *c, struct building *b, const struct check_chain *chain)
{
	/* The chain begins at the innermost alias, whose epilogue is the last. */
	if (!chain)
		return;
	add_epilogues(c, b, chain->up);
	if (chain->alias)
		add_body(c, b, chain->alias->decl->epilogue);
}

static void add_condition(struct check *c, struct building *b, const struct script_expr *e)
{
	struct script_expr *copy = check_copy_expr(&b->copier, e), *both;

	if (!b->template->condition) {
		b->template->condition = copy;
		return;
	}
	both = check_expr(c, EXPR_BINARY, e->place, NULL, 2);
	both->op = SCRIPT_AND_THEN;
	both->kids[0] = b->template->condition;
	both->kids[1] = copy;
	b->template->condition = both;
}

static void number_sites(struct check *c, struct check_template *t)
{
	struct scan scan = { .walk = { .enter = scan_expr, .statement = scan_stmt },
			     .c = c,
			     .template = t };
	struct scan number = { .walk = { .enter = number_site }, .c = c, .template = t };

	for (uint32_t i = 0; i < t->n_body; i++)
		check_walk_stmt(&scan.walk, t->body[i]);
	check_walk_expr(&number.walk, &t->condition);
	for (uint32_t i = 0; i < t->n_body; i++)
		check_walk_stmt(&number.walk, t->body[i]);
}

static struct check_template *entry_template(struct check *c, struct check_template *of)
{
	struct check_template *t = check_allocate(c, sizeof *t);
	struct building b = { .copier = { .c = c, .replace = build_expr }, .template = t };

	*t = (struct check_template){ .decl = of->decl,
				      .chain = of->chain,
				      .is_entry = true,
				      .is_library = true,
				      .is_user = of->is_user,
				      .depth = of->depth };
	for (const struct check_chain *link = of->chain; link; link = link->up)
		if (link->condition)
			add_condition(c, &b, link->condition);
	check_entry_stores(&b.copier, t, of);
	t->own = t->n_body;
	number_sites(c, t);
	return t;
}

struct check_template *check_template(struct check *c, const struct script_probe_decl *decl,
				      const struct check_chain *chain, bool is_user)
{
	struct check_template *t;
	struct building b = { .copier = { .c = c, .replace = build_expr } };

	for (uint32_t i = 0; i < c->n_templates; i++)
		if (c->templates[i]->decl == decl && c->templates[i]->is_user == is_user &&
		    same_chain(c->templates[i]->chain, chain))
			return c->templates[i];
	t = b.template = check_allocate(c, sizeof *t);
	t->decl = decl;
	t->chain = chain;
	t->is_user = is_user;
	t->is_library = check_is_library(c, decl->place);
	for (const struct check_chain *link = chain; link; link = link->up) {
		if (link->alias)
			add_body(c, &b, link->alias->decl->body);
		if (link->condition)
			add_condition(c, &b, link->condition);
	}
	t->own = t->n_body;
	add_body(c, &b, decl->body);
	add_epilogues(c, &b, chain);
	if (t->n_entries) {
		check_entry_loads(c, t);
		t->entry = entry_template(c, t);
	}
	number_sites(c, t);
	check_push(c, &c->templates, &c->n_templates, t);
	return t;
}
