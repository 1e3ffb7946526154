/* SPDX-License-Identifier: MIT */
/*
 * check/types.c - the types of variables and expressions.
 *
 * Types flow in both directions: from an expression to the variable it is assigned to, and from what
 * wants a value to the variable that has it.  All handlers and functions are gone through until
 * nothing new becomes known; a type never changes once it is known, so this ends.  A conflict names
 * both places.
 */
#include "script/check/internal.h"

#include <stdarg.h>
#include <stdio.h>

void check_because(struct check *c, struct script_place at, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	c->why = check_text(c, "%s", text);
	c->why_at = at;
}

static struct check_variable *of(struct script_variable *v)
{
	return (struct check_variable *)v;
}

void check_type_variable(struct check *c, struct script_variable *v, enum script_type type,
			 struct script_place place)
{
	if (type == SCRIPT_UNKNOWN || type == SCRIPT_NOTHING || v->type == type)
		return;
	if (v->type == SCRIPT_UNKNOWN) {
		v->type = type;
		v->typed_at = place;
		c->changed = true;
		return;
	}
	semantic(c, place, "`%s` is %s here, and %s elsewhere", v->name, check_type_name(type),
		 check_type_name(v->type));
	script_note(c->m, v->typed_at, "first used as %s", check_type_name(v->type));
}

/* ---- scalars and arrays ---- */

static bool is_scalar(struct check *c, struct script_variable *v, struct script_place place)
{
	if (v->is_array) {
		semantic(c, place, "`%s` is an array: a value of it needs keys", v->name);
		script_note(c->m, v->n_keys ? v->keys_at[0] : v->place, "first used as an array");
		return false;
	}
	if (!of(v)->is_scalar) {
		of(v)->is_scalar = true;
		of(v)->scalar_at = place;
	}
	return true;
}

bool check_is_array(struct check *c, struct script_variable *v, uint32_t n_keys,
		    struct script_place place)
{
	if (of(v)->is_scalar || (!v->is_array && v->value)) {
		semantic(c, place, "`%s` is an array here, and a single value elsewhere", v->name);
		script_note(c->m, of(v)->is_scalar ? of(v)->scalar_at : v->place,
			    "first used without keys");
		return false;
	}
	if (n_keys > SCRIPT_KEYS_MAX) {
		semantic(c, place, "an array has at most %d keys", SCRIPT_KEYS_MAX);
		return false;
	}
	v->is_array = true;
	if (!v->n_keys) {
		v->n_keys = n_keys;
		for (uint32_t i = 0; i < n_keys; i++)
			v->keys_at[i] = place;
		c->changed = true;
	}
	if (v->n_keys == n_keys)
		return true;
	semantic(c, place, "`%s` has %u key%s here, and %u elsewhere", v->name, n_keys,
		 n_keys == 1 ? "" : "s", v->n_keys);
	script_note(c->m, v->keys_at[0], "first used with %u", v->n_keys);
	return false;
}

void check_keys(struct check *c, struct script_variable *v, struct script_expr **keys, uint32_t n,
		struct script_place place, bool wild)
{
	bool good = check_is_array(c, v, n, place);

	for (uint32_t i = 0; i < n; i++) {
		enum script_type type;

		if (!keys[i] && !wild)
			semantic(c, place, "a key `*` is only for delete, in and foreach");
		if (!keys[i])
			continue;
		if (good && v->keys[i])
			check_because(c, v->keys_at[i], "key %u of `%s`", i + 1, v->name);
		type = check_infer(c, keys[i], good ? v->keys[i] : SCRIPT_UNKNOWN);
		if (good && !v->keys[i] && (type == SCRIPT_LONG || type == SCRIPT_STRING)) {
			v->keys[i] = type;
			v->keys_at[i] = keys[i]->place;
			c->changed = true;
		}
	}
}

/* ---- expressions ---- */

static void mismatch(struct check *c, const struct script_expr *e, enum script_type wanted,
		     enum script_type type, const char *why, struct script_place at)
{
	if (type == SCRIPT_NOTHING && (e->kind == EXPR_CALL || e->kind == EXPR_PRINT)) {
		semantic(c, e->place, "`%s()` has no value", e->text);
		return;
	}
	if (type == SCRIPT_STATS) {
		semantic(c, e->place,
			 "`%s` is a statistic: read it with @count, @sum, @min, @max, "
			 "@avg or @hist_log",
			 e->text);
		return;
	}
	if (!why) {
		semantic(c, e->place, "%s is needed here, and this is %s", check_type_name(wanted),
			 check_type_name(type));
		return;
	}
	semantic(c, e->place, "%s is %s, and this is %s", why, check_type_name(wanted),
		 check_type_name(type));
	script_note(c->m, at, "it is %s here", check_type_name(wanted));
}

static void unresolved(struct check *c, const struct script_expr *e)
{
	struct check_variable *v = e->variable ? of(e->variable) : NULL;

	if (!c->is_last || e->is_elided || (v && v->is_warned))
		return;
	if (v)
		v->is_warned = true;
	semantic(c, e->place,
		 "the type of `%s` is not known: nothing says whether it is a number or "
		 "a string",
		 e->text ? e->text : check_expr_text(c, e));
}

static enum script_type infer_variable(struct check *c, struct script_expr *e,
				       enum script_type wanted, const char *why,
				       struct script_place at)
{
	struct script_variable *v = e->variable;

	if (!v)
		return e->slot >= 0 ? e->type : SCRIPT_UNKNOWN;
	if (e->kind == EXPR_ELEMENT)
		check_keys(c, v, e->kids, e->n_kids, e->place, false);
	else if (!is_scalar(c, v, e->place))
		return SCRIPT_UNKNOWN;
	if (v->type == SCRIPT_STATS && wanted != SCRIPT_STATS) {
		if (wanted != SCRIPT_NOTHING)
			mismatch(c, e, wanted, SCRIPT_STATS, NULL, e->place);
		return SCRIPT_UNKNOWN;
	}
	if (wanted != v->type && v->type && wanted != SCRIPT_UNKNOWN && wanted != SCRIPT_NOTHING &&
	    why) {
		semantic(c, e->place, "%s is %s, and `%s` is %s", why, check_type_name(wanted),
			 v->name, check_type_name(v->type));
		script_note(c->m, at, "it is %s here", check_type_name(wanted));
		script_note(c->m, v->typed_at, "`%s` is %s here", v->name,
			    check_type_name(v->type));
		return SCRIPT_UNKNOWN;
	}
	check_type_variable(c, v, wanted, e->place);
	if (!v->type)
		unresolved(c, e);
	return wanted == SCRIPT_UNKNOWN || wanted == SCRIPT_NOTHING || wanted == v->type
		       ? v->type
		       : SCRIPT_UNKNOWN;
}

/* Two expressions of one type, whichever it is. */
static enum script_type infer_both(struct check *c, struct script_expr *a, struct script_expr *b,
				   enum script_type wanted)
{
	enum script_type type = check_infer(c, a, wanted), known = type;

	if (type && a->kind == EXPR_VARIABLE && a->variable)
		check_because(c, a->variable->typed_at, "`%s`", a->text);
	else if (type && a->kind == EXPR_ELEMENT && a->variable)
		check_because(c, a->variable->typed_at, "an element of `%s`", a->text);
	else if (type)
		check_because(c, a->place, "the left side");
	type = check_infer(c, b, type ? type : wanted);
	/* Only if it is news: a second look at each level would double the work of each. */
	return known || !type ? known : check_infer(c, a, type);
}

static enum script_type infer_binary(struct check *c, struct script_expr *e)
{
	switch (e->op) {
	case SCRIPT_CONCAT:
		check_infer(c, e->kids[0], SCRIPT_STRING);
		check_infer(c, e->kids[1], SCRIPT_STRING);
		return SCRIPT_STRING;
	case SCRIPT_EQ:
	case SCRIPT_NE:
	case SCRIPT_LT:
	case SCRIPT_LE:
	case SCRIPT_GT:
	case SCRIPT_GE:
		infer_both(c, e->kids[0], e->kids[1], SCRIPT_UNKNOWN);
		return SCRIPT_LONG;
	default:
		check_infer(c, e->kids[0], SCRIPT_LONG);
		check_infer(c, e->kids[1], SCRIPT_LONG);
		return SCRIPT_LONG;
	}
}

static enum script_type infer_assign(struct check *c, struct script_expr *e,
				     enum script_type wanted)
{
	struct script_expr *to = e->kids[0], *value = e->kids[1];

	if (e->op == SCRIPT_COLLECT) {
		if (to->variable && to->kind == EXPR_VARIABLE && !to->variable->is_global)
			semantic(c, to->place,
				 "`%s` must be global to be a statistic: declare `global %s`",
				 to->text, to->text);
		check_infer(c, to, SCRIPT_STATS);
		check_infer(c, value, SCRIPT_LONG);
		return SCRIPT_LONG;
	}
	if (to->variable && to->variable->type == SCRIPT_STATS) {
		semantic(c, to->place, "`%s` is a statistic: it takes values by <<<", to->text);
		script_note(c->m, to->variable->typed_at, "first used as a statistic");
		return SCRIPT_UNKNOWN;
	}
	if (e->op == SCRIPT_NO_OP)
		return infer_both(c, to, value, wanted == SCRIPT_NOTHING ? SCRIPT_UNKNOWN : wanted);
	wanted = e->op == SCRIPT_CONCAT ? SCRIPT_STRING : SCRIPT_LONG;
	check_infer(c, to, wanted);
	check_infer(c, value, wanted);
	return wanted;
}

static enum script_type infer_kind(struct check *c, struct script_expr *e, enum script_type wanted)
{
	switch (e->kind) {
	case EXPR_NUMBER:
		return SCRIPT_LONG;
	case EXPR_TEXT:
		return SCRIPT_STRING;
	case EXPR_UNARY:
		check_infer(c, e->kids[0], SCRIPT_LONG);
		return SCRIPT_LONG;
	case EXPR_BINARY:
		return infer_binary(c, e);
	case EXPR_CONDITION:
		check_infer(c, e->kids[0], SCRIPT_LONG);
		return infer_both(c, e->kids[1], e->kids[2],
				  wanted == SCRIPT_NOTHING ? SCRIPT_UNKNOWN : wanted);
	case EXPR_ASSIGN:
		return infer_assign(c, e, wanted);
	case EXPR_STEP:
		check_infer(c, e->kids[0], SCRIPT_LONG);
		return SCRIPT_LONG;
	case EXPR_CALL:
		return check_infer_call(c, e, wanted);
	case EXPR_IN:
		if (e->variable)
			check_keys(c, e->variable, e->kids, e->n_kids, e->place, true);
		return SCRIPT_LONG;
	case EXPR_MATCH:
		check_infer(c, e->kids[0], SCRIPT_STRING);
		return SCRIPT_LONG;
	case EXPR_STATISTIC:
		check_infer_statistic(c, e);
		return !strncmp(e->text, "hist_", 5) ? SCRIPT_STRING : SCRIPT_LONG;
	case EXPR_BUCKET:
		check_infer_statistic(c, e->kids[0]);
		check_infer(c, e->kids[1], SCRIPT_LONG);
		return SCRIPT_LONG;
	case EXPR_PRINT:
		check_infer_print(c, e);
		return e->text[0] == 's' ? SCRIPT_STRING : SCRIPT_NOTHING;
	default:
		return SCRIPT_UNKNOWN;
	}
}

static bool fits(enum script_type type, enum script_type wanted)
{
	return wanted == SCRIPT_NOTHING || type == SCRIPT_UNKNOWN || type == wanted ||
	       (wanted == SCRIPT_UNKNOWN && type != SCRIPT_NOTHING);
}

enum script_type check_infer(struct check *c, struct script_expr *e, enum script_type wanted)
{
	const char *why = c->why;
	struct script_place at = c->why_at;
	enum script_type type;

	c->why = NULL;
	if (!e)
		return SCRIPT_UNKNOWN;
	if (e->slot >= 0)
		type = e->type;
	else if (e->kind == EXPR_VARIABLE || e->kind == EXPR_ELEMENT)
		return e->type = infer_variable(c, e, wanted, why, at);
	else
		type = infer_kind(c, e, wanted);
	c->why = NULL;
	if (!fits(type, wanted)) {
		mismatch(c, e, wanted, type, why, at);
		type = SCRIPT_UNKNOWN;
	}
	if (type)
		e->type = type;
	return type == SCRIPT_NOTHING ? SCRIPT_UNKNOWN : type;
}

/* ---- the fixpoint ---- */

static void go_through(struct check *c)
{
	for (uint32_t i = 0; i < c->n_scopes; i++) {
		struct check_scope *s = c->scopes[i];

		if (s->condition)
			check_infer(c, s->condition, SCRIPT_LONG);
		if (s->function && !s->returns_value && !s->own.type)
			s->own.type = SCRIPT_NOTHING;
		for (uint32_t k = 0; k < s->n_body; k++)
			check_infer_stmt(c, s, s->body[k]);
	}
}

void check_types(struct check *c)
{
	uint32_t errors = c->m->n_errors;

	do {
		c->changed = false;
		go_through(c);
	} while (c->changed && c->m->n_errors == errors);
	if (c->m->n_errors != errors)
		return;
	c->is_last = true;
	go_through(c);
}
