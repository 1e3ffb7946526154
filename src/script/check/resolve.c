/* SPDX-License-Identifier: MIT */
/*
 * check/resolve.c - names of a handler or function become variables, functions and builtins.
 *
 * A name is a parameter, else a global, else a local of the whole handler.  Functions are checked
 * when something calls them, so an unused one costs nothing and reports nothing.
 */
#include "script/check/internal.h"

struct resolving {
	struct check_walk walk; /* first */
	struct check *c;
	struct check_scope *scope;
};

/* ---- variables ---- */

static struct script_variable *find_local(const struct check_scope *s, const char *name)
{
	for (uint32_t i = 0; i < s->n_locals; i++)
		if (!strcmp(s->locals[i]->name, name))
			return s->locals[i];
	return NULL;
}

static struct check_variable *add_local(struct check *c, struct check_scope *s, const char *name,
					struct script_place place)
{
	struct check_variable *v = check_allocate(c, sizeof *v);

	v->v = (struct script_variable){
		.name = name, .place = place, .typed_at = place, .index = s->n_locals
	};
	v->is_library = check_is_library(c, place);
	check_push(c, &s->locals, &s->n_locals, &v->v);
	return v;
}

static struct script_variable *variable(struct resolving *r, const struct script_expr *e)
{
	struct script_variable *v = find_local(r->scope, e->text);
	bool is_parameter = v && ((struct check_variable *)v)->is_parameter;
	struct check_name *global =
		is_parameter ? NULL : check_find_global(r->c, e->text, e->place);

	if (global)
		return check_global(r->c, global);
	return v ? v : &add_local(r->c, r->scope, e->text, e->place)->v;
}

static void array_unknown(struct resolving *r, const struct script_expr *e)
{
	struct check *c = r->c;
	struct script_nearest near = { .wanted = e->text, .wanted_size = strlen(e->text) };
	char text[160];

	for (uint32_t i = 0; i < c->n_globals; i++)
		if (!c->globals[i]->is_library)
			script_nearest_try(&near, c->globals[i]->name);
	semantic(c, e->place, "there is no array `%s`%s: declare it with `global %s`", e->text,
		 script_nearest_text(&near, text), e->text);
}

static void array(struct resolving *r, struct script_expr *e)
{
	struct check_name *global;

	if (e->variable)
		return;
	global = check_find_global(r->c, e->text, e->place);
	if (global)
		e->variable = check_global(r->c, global);
	else
		array_unknown(r, e);
}

static void write_to(struct resolving *r, struct script_expr *e)
{
	struct check *c = r->c;

	if (e->slot >= 0 || e->kind == EXPR_CONTEXT || e->kind == EXPR_CAST ||
	    e->kind == EXPR_STATIC) {
		semantic(c, e->place,
			 "`%s` belongs to what is observed, and a script cannot change that",
			 check_expr_text(c, e));
		return;
	}
	if (e->kind != EXPR_VARIABLE && e->kind != EXPR_ELEMENT) {
		semantic(c, e->place, "only a variable or an element of an array can be assigned");
		return;
	}
	if (e->kind == EXPR_VARIABLE)
		e->variable = e->variable ? e->variable : variable(r, e);
	else
		array(r, e);
	if (!e->variable)
		return;
	e->variable->is_written = true;
	if (e->variable->is_global)
		r->scope->has_effects = true;
	for (uint32_t i = 0; i < r->scope->n_iterated; i++)
		if (r->scope->iterated[i] == e->variable)
			semantic(c, e->place, "`%s` cannot change while foreach goes over it",
				 e->variable->name);
}

/* ---- functions ---- */

static void add_parameters(struct check *c, struct check_scope *s)
{
	struct script_function *f = s->function;
	const struct script_function_decl *d = f->decl;

	f->n_parameters = d->n_parameters;
	f->parameters = check_allocate(c, (d->n_parameters + 1) * sizeof *f->parameters);
	for (uint32_t i = 0; i < d->n_parameters; i++) {
		struct check_variable *v =
			add_local(c, s, d->parameters[i].name, d->parameters[i].place);

		v->is_parameter = true;
		v->v.type = d->parameters[i].type;
		v->v.is_written = true;
		f->parameters[i] = &v->v;
	}
}

static struct script_function *make_function(struct check *c, struct check_name *name)
{
	struct check_scope *s = check_allocate(c, sizeof *s);
	struct script_function *f = &s->own;
	struct check_copier k = { .c = c };

	name->scope = s;
	*f = (struct script_function){ .name = name->name,
				       .decl = name->decl,
				       .type = name->decl->type,
				       .typed_at = name->decl->place,
				       .is_used = true };
	s->function = f;
	s->is_library = name->is_library;
	add_parameters(c, s);
	s->n_body = 1;
	s->body = check_allocate(c, sizeof *s->body);
	s->body[0] = check_copy_stmt(&k, name->decl->body);
	if (!s->body[0])
		s->body[0] = check_stmt(c, STMT_EMPTY, name->decl->place, NULL);
	check_push(c, &c->scopes, &c->n_scopes, s);
	return f;
}

/* The overloads of @name with its number of parameters, in the order in which they are tried. */
static bool follows(const struct check_name *a, const struct check_name *b)
{
	return a->is_library == b->is_library && !strcmp(a->name, b->name) &&
	       a->decl->n_parameters == b->decl->n_parameters &&
	       (!a->is_private || a->source == b->source) &&
	       (!b->is_private || a->source == b->source);
}

struct script_function *check_function(struct check *c, struct check_name *name)
{
	struct script_function *f;
	struct check_name *next = NULL;
	bool passed = false;

	if (name->scope)
		return name->scope->function;
	f = make_function(c, name);
	for (uint32_t i = 0; i < c->n_functions; i++) {
		struct check_name *n = c->functions[i];

		passed |= n == name;
		if (n == name || !follows(name, n) || n->decl->priority < name->decl->priority ||
		    (n->decl->priority == name->decl->priority && !passed))
			continue;
		if (!next || n->decl->priority < next->decl->priority)
			next = n;
	}
	if (next)
		f->next = check_function(c, next);
	return f;
}

static void call(struct resolving *r, struct script_expr *e)
{
	struct check *c = r->c;
	struct check_name *f = check_find_function(c, e->text, e->n_kids, e->place);

	if (f) {
		e->function = check_function(c, f);
		return;
	}
	e->builtin = check_find_builtin(e->text, e->n_kids);
	if (!e->builtin) {
		check_unknown_function(c, e);
		return;
	}
	if (e->builtin->is_site)
		semantic(
			c, e->place,
			"`%s()` reads where the event happens, which a function cannot: call it in "
			"the probe and pass the result",
			e->text);
	if (!e->builtin->is_pure)
		r->scope->has_effects = true;
}

/* ---- expressions ---- */

static bool is_table(const struct script_expr *e)
{
	return e->kind == EXPR_CALL && (!strcmp(e->text, "table") || !strcmp(e->text, "plot"));
}

/* table(array, "columns", limit) names an array: it is no value. */
static void table(struct resolving *r, struct script_expr *e)
{
	r->scope->has_effects = true;
	if (e->n_kids < 2 || e->n_kids > 3 || !e->kids[0] ||
	    (e->kids[0]->kind != EXPR_VARIABLE && e->kids[0]->kind != EXPR_ELEMENT)) {
		semantic(r->c, e->place,
			 "%s() takes an array, the names of its columns, and "
			 "perhaps a number of rows",
			 e->text);
		return;
	}
	array(r, e->kids[0]);
	for (uint32_t i = 0; i < e->kids[0]->n_kids; i++)
		check_walk_expr(&r->walk, &e->kids[0]->kids[i]);
	for (uint32_t i = 1; i < e->n_kids; i++)
		check_walk_expr(&r->walk, &e->kids[i]);
}

static void site_in_function(struct resolving *r, const struct script_expr *e)
{
	semantic(r->c, e->place,
		 "`%s` is of the event, which a function has not: read it in the probe and pass it",
		 check_expr_text(r->c, e));
}

static bool enter_expr(struct check_walk *w, struct script_expr **expr)
{
	struct resolving *r = (struct resolving *)w;
	struct script_expr *e = *expr;

	if (e->slot >= 0)
		return false;
	switch (e->kind) {
	case EXPR_VARIABLE:
		if (!e->variable)
			e->variable = variable(r, e);
		if (e->n_path)
			semantic(r->c, e->place,
				 "the type of `%s` is not known here: use @cast(%s, "
				 "\"struct\")->member",
				 e->text, e->text);
		return false;
	case EXPR_ELEMENT:
		array(r, e);
		return true;
	case EXPR_IN:
		array(r, e);
		return true;
	case EXPR_ASSIGN:
		write_to(r, e->kids[0]);
		for (uint32_t i = 0; i < e->kids[0]->n_kids; i++)
			check_walk_expr(w, &e->kids[0]->kids[i]);
		check_walk_expr(w, &e->kids[1]);
		return false;
	case EXPR_STEP:
		write_to(r, e->kids[0]);
		for (uint32_t i = 0; i < e->kids[0]->n_kids; i++)
			check_walk_expr(w, &e->kids[0]->kids[i]);
		return false;
	case EXPR_CALL:
		if (is_table(e) && !check_find_function(r->c, e->text, e->n_kids, e->place)) {
			table(r, e);
			return false;
		}
		call(r, e);
		return true;
	case EXPR_ENUM:
		*expr = check_enum(r->c, e);
		if ((*expr)->kind != EXPR_ENUM)
			check_walk_expr(w, expr);
		return false;
	case EXPR_PRINT:
		if (e->text[0] != 's')
			r->scope->has_effects = true;
		return true;
	case EXPR_CONTEXT:
	case EXPR_CAST:
	case EXPR_STATIC:
	case EXPR_DEFINED:
	case EXPR_CHOOSE:
	case EXPR_ENTRY:
		site_in_function(r, e);
		return false;
	default:
		return true;
	}
}

/* ---- statements ---- */

static void go_into(struct resolving *r, struct script_stmt *stmt)
{
	for (uint32_t i = 0; i < stmt->n_body; i++)
		check_walk_stmt(&r->walk, stmt->body[i]);
}

static void foreach (struct resolving *r, struct script_stmt * stmt)
{
	struct script_foreach *f = stmt->foreach;
	struct check_scope *s = r->scope;
	struct script_expr *a = f->array;

	if (a->kind == EXPR_STATISTIC) {
		check_walk_expr(&r->walk, &f->array);
	} else if (a->kind == EXPR_VARIABLE || a->kind == EXPR_ELEMENT) {
		a->slot = -1;
		array(r, a);
		for (uint32_t i = 0; i < a->n_kids; i++)
			check_walk_expr(&r->walk, &a->kids[i]);
	}
	check_walk_expr(&r->walk, &f->limit);
	for (uint32_t i = 0; i < f->n_keys; i++)
		write_to(r, f->keys[i]);
	if (f->value)
		write_to(r, f->value);
	if (a->variable && s->n_iterated < sizeof s->iterated / sizeof *s->iterated)
		s->iterated[s->n_iterated++] = a->variable;
	else
		a = NULL;
	s->n_loops++;
	go_into(r, stmt);
	s->n_loops--;
	s->n_iterated -= a != NULL;
}

static void delete_(struct resolving *r, struct script_stmt *stmt)
{
	struct script_expr *e = stmt->expr;

	if (e->kind == EXPR_VARIABLE)
		e->slot = -1;
	write_to(r, e);
	for (uint32_t i = 0; i < e->n_kids; i++)
		check_walk_expr(&r->walk, &e->kids[i]);
}

static bool enter_stmt(struct check_walk *w, struct script_stmt *stmt)
{
	struct resolving *r = (struct resolving *)w;
	struct check_scope *s = r->scope;

	switch (stmt->kind) {
	case STMT_WHILE:
	case STMT_FOR:
		check_walk_expr(w, &stmt->init);
		check_walk_expr(w, &stmt->expr);
		check_walk_expr(w, &stmt->step);
		s->n_loops++;
		go_into(r, stmt);
		s->n_loops--;
		return false;
	case STMT_FOREACH:
		foreach (r, stmt)
			;
		return false;
	case STMT_BREAK:
	case STMT_CONTINUE:
		if (!s->n_loops)
			semantic(r->c, stmt->place, "%s is outside of a loop",
				 stmt->kind == STMT_BREAK ? "break" : "continue");
		return false;
	case STMT_RETURN:
		if (s->handler)
			semantic(r->c, stmt->place,
				 "return is outside of a function: a probe ends with next");
		s->returns_value |= stmt->expr != NULL;
		return true;
	case STMT_NEXT:
		if (s->function)
			s->has_effects = true;
		return false;
	case STMT_DELETE:
		delete_(r, stmt);
		return false;
	case STMT_TRY:
		if (stmt->variable)
			write_to(r, stmt->variable);
		go_into(r, stmt);
		return false;
	default:
		return true;
	}
}

void check_resolve(struct check *c, struct check_scope *s)
{
	struct resolving r = { .walk = { .enter = enter_expr, .statement = enter_stmt },
			       .c = c,
			       .scope = s };

	check_walk_expr(&r.walk, &s->condition);
	for (uint32_t i = 0; i < s->n_body; i++) {
		uint32_t n = s->n_locals;

		check_walk_stmt(&r.walk, s->body[i]);
		for (; s->handler && i == s->template->own && n < s->n_locals; n++)
			((struct check_variable *)s->locals[n])->in_body = true;
	}
	for (uint32_t i = 0; s->function && i < s->n_locals; i++)
		((struct check_variable *)s->locals[i])->in_body = true;
}
