/* SPDX-License-Identifier: MIT */
/*
 * check/symbols.c - declared globals, functions and aliases, found by name.
 *
 * A private name is visible in its own text only.  Texts of the library see the library alone, so
 * that a name of the user's never changes the library's meaning; the user's own names come first.
 */
#include "script/check/internal.h"

bool check_is_library(const struct check *c, struct script_place place)
{
	return place.source < c->sources->n && c->sources->at[place.source].is_library;
}

static bool sees(const struct check *c, const struct check_name *n, struct script_place from)
{
	if (n->is_private)
		return n->source == from.source;
	return n->is_library || !check_is_library(c, from);
}

struct check_name *check_find_global(struct check *c, const char *name, struct script_place from)
{
	struct check_name *found = NULL;

	for (uint32_t i = 0; i < c->n_globals; i++) {
		struct check_name *n = c->globals[i];

		if (!strcmp(n->name, name) && sees(c, n, from) && (!found || found->is_library))
			found = n;
	}
	return found;
}

struct check_name *check_any_function(struct check *c, const char *name, struct script_place from)
{
	for (uint32_t i = 0; i < c->n_functions; i++)
		if (!strcmp(c->functions[i]->name, name) && sees(c, c->functions[i], from))
			return c->functions[i];
	return NULL;
}

static bool goes_before(const struct check_name *a, const struct check_name *b)
{
	if (a->is_library != b->is_library)
		return b->is_library;
	return a->decl->priority < b->decl->priority;
}

struct check_name *check_find_function(struct check *c, const char *name, uint32_t n,
				       struct script_place from)
{
	struct check_name *found = NULL;

	for (uint32_t i = 0; i < c->n_functions; i++) {
		struct check_name *f = c->functions[i];

		if (!strcmp(f->name, name) && f->decl->n_parameters == n && sees(c, f, from) &&
		    (!found || goes_before(f, found)))
			found = f;
	}
	return found;
}

const struct script_builtin *check_find_builtin(const char *name, uint32_t n)
{
	const struct script_builtin *b;

	for (unsigned i = 0; (b = script_builtin_find(name, i)); i++)
		if (strlen(b->signature) == n + 2)
			return b;
	return NULL;
}

/* ---- declarations ---- */

static int64_t constant(const struct script_expr *e, bool *good)
{
	if (e->kind == EXPR_NUMBER)
		return e->number;
	if (e->kind == EXPR_UNARY && e->op == SCRIPT_MINUS && e->kids[0]->kind == EXPR_NUMBER)
		return (int64_t)(0 - (uint64_t)e->kids[0]->number);
	*good = false;
	return 0;
}

enum { MOST_ENTRIES = 1 << 28 };

struct script_variable *check_global(struct check *c, struct check_name *name)
{
	const struct script_global_decl *d = name->global;
	struct check_variable *made;
	bool good = true;

	if (name->variable)
		return name->variable;
	made = check_allocate(c, sizeof *made);
	made->is_library = name->is_library;
	made->v = (struct script_variable){
		.name = d->name,
		.is_global = true,
		.wraps = d->wraps,
		.place = d->place,
		.typed_at = d->place,
	};
	name->variable = &made->v;
	check_push(c, &c->program->globals, &c->program->n_globals, &made->v);
	if (d->capacity) {
		int64_t n = constant(d->capacity, &good);

		if (!good || n <= 0 || n > MOST_ENTRIES)
			semantic(c, d->capacity->place, "an array has a constant size from 1 to %d",
				 MOST_ENTRIES);
		made->v.capacity = (uint32_t)n;
		made->v.is_array = true;
	}
	if (d->wraps)
		made->v.is_array = true;
	if (d->value && d->value->kind == EXPR_TEXT) {
		made->v.value = d->value;
		made->v.type = SCRIPT_STRING;
	} else if (d->value) {
		int64_t n = constant(d->value, &good);

		if (!good)
			semantic(c, d->value->place,
				 "a global begins with a constant: assign this in a begin probe");
		made->v.value = check_number(c, d->value->place, n);
		made->v.type = SCRIPT_LONG;
	}
	if (d->value && made->v.is_array)
		semantic(c, d->place, "array `%s` cannot begin with a value", d->name);
	return name->variable;
}

static void declare_global(struct check *c, const struct script_global_decl *d, uint32_t source,
			   bool is_library)
{
	struct check_name *n = check_allocate(c, sizeof *n);

	for (uint32_t i = 0; i < c->n_globals; i++) {
		const struct check_name *other = c->globals[i];

		if (strcmp(other->name, d->name) || other->is_library != is_library ||
		    ((other->is_private || d->is_private) && other->source != source))
			continue;
		semantic(c, d->place, "global `%s` is declared twice", d->name);
		script_note(c->m, other->global->place, "first declared");
		return;
	}
	*n = (struct check_name){ .name = d->name,
				  .source = source,
				  .is_library = is_library,
				  .is_private = d->is_private,
				  .global = d };
	check_push(c, &c->globals, &c->n_globals, n);
}

static void declare_function(struct check *c, const struct script_function_decl *d, uint32_t source,
			     bool is_library)
{
	struct check_name *n = check_allocate(c, sizeof *n);

	for (uint32_t i = 0; i < d->n_parameters; i++)
		for (uint32_t k = 0; k < i; k++)
			if (!strcmp(d->parameters[i].name, d->parameters[k].name))
				semantic(c, d->parameters[i].place,
					 "function `%s` has two parameters `%s`", d->name,
					 d->parameters[i].name);
	*n = (struct check_name){ .name = d->name,
				  .source = source,
				  .is_library = is_library,
				  .is_private = d->is_private,
				  .decl = d };
	check_push(c, &c->functions, &c->n_functions, n);
}

static void declare_alias(struct check *c, const struct script_probe_decl *d, bool is_library)
{
	for (uint32_t i = 0; i < d->n_names; i++) {
		struct check_alias *a = check_allocate(c, sizeof *a);

		*a = (struct check_alias){ .decl = d,
					   .name = &d->names[i],
					   .is_library = is_library };
		check_push(c, &c->aliases, &c->n_aliases, a);
	}
}

void check_declare(struct check *c, struct script_file *const *files, uint32_t n_files)
{
	for (uint32_t i = 0; i < n_files; i++) {
		const struct script_file *f = files[i];
		bool is_library = f->source < c->sources->n && c->sources->at[f->source].is_library;

		for (uint32_t k = 0; k < f->n_globals; k++)
			declare_global(c, f->globals[k], f->source, is_library);
		for (uint32_t k = 0; k < f->n_functions; k++)
			declare_function(c, f->functions[k], f->source, is_library);
		for (uint32_t k = 0; k < f->n_aliases; k++)
			declare_alias(c, f->aliases[k], is_library);
	}
}

/* ---- messages ---- */

void check_try_others(const struct check *c, struct script_nearest *near)
{
	const char *name;

	for (uint32_t i = 0; c->options->other_names && (name = c->options->other_names(i)); i++)
		script_nearest_try(near, name);
}

static void try_builtins(struct script_nearest *near)
{
	const struct script_builtin *b;

	for (uint32_t i = 0; (b = script_builtin_at(i)); i++)
		script_nearest_try(near, b->name);
}

/* Says how many arguments the functions of that name take: "1 or 2". */
static void report_arity(struct check *c, const struct script_expr *e)
{
	struct text counts = { 0 };
	const struct script_builtin *b;
	const struct check_name *f = check_any_function(c, e->text, e->place);
	unsigned only = 0;

	for (uint32_t i = 0; f && i < c->n_functions; i++)
		if (!strcmp(c->functions[i]->name, e->text) && sees(c, c->functions[i], e->place)) {
			only = c->functions[i]->decl->n_parameters;
			text_addf(&counts, "%s%u", counts.size ? " or " : "", only);
		}
	for (unsigned i = 0; (b = script_builtin_find(e->text, i)); i++) {
		only = (unsigned)strlen(b->signature) - 2;
		text_addf(&counts, "%s%u", counts.size ? " or " : "", only);
	}
	semantic(c, e->place, "`%s` takes %s argument%s, not %u", e->text,
		 counts.size ? counts.bytes : "other", counts.size == 1 && only == 1 ? "" : "s",
		 e->n_kids);
	if (f)
		script_note(c->m, f->decl->place, "declared");
	text_fini(&counts);
}

void check_unknown_function(struct check *c, const struct script_expr *e)
{
	struct script_nearest near = { .wanted = e->text, .wanted_size = strlen(e->text) };
	char text[160];

	if (check_any_function(c, e->text, e->place) || script_builtin_find(e->text, 0)) {
		report_arity(c, e);
		return;
	}
	for (uint32_t i = 0; i < c->n_functions; i++)
		if (sees(c, c->functions[i], e->place))
			script_nearest_try(&near, c->functions[i]->name);
	try_builtins(&near);
	for (unsigned i = 0; script_print_name(i); i++)
		script_nearest_try(&near, script_print_name(i));
	check_try_others(c, &near);
	semantic(c, e->place, "there is no function `%s`%s", e->text,
		 script_nearest_text(&near, text));
}
