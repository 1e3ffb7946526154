/* SPDX-License-Identifier: MIT */
/* check/type_stmt.c - types in statements: foreach, delete, return, catch. */
#include "script/check/internal.h"

/* ---- foreach ---- */

/* In foreach (v = [k] in stats) a statistic of v is one of stats[k]. */
struct standing {		/* for the value variable of a foreach over statistics */
	struct check_walk walk; /* first */
	struct check *c;
	const struct script_foreach *foreach;
};

static bool put_element(struct check_walk *w, struct script_expr **e)
{
	struct standing *s = (struct standing *)w;
	const struct script_foreach *f = s->foreach;
	struct check_copier copy = { .c = s->c };
	struct script_expr *of, *element;

	if ((*e)->kind != EXPR_STATISTIC || !(*e)->n_kids)
		return true;
	of = (*e)->kids[0];
	if (of->kind != EXPR_VARIABLE || of->variable != f->value->variable)
		return true;
	element = check_expr(s->c, EXPR_ELEMENT, of->place, f->array->text, f->n_keys);
	for (uint32_t i = 0; i < f->n_keys; i++)
		element->kids[i] = check_copy_expr(&copy, f->keys[i]);
	element->variable = f->array->variable;
	(*e)->kids[0] = element;
	return true;
}

static void stand_for_element(struct check *c, struct script_stmt *stmt)
{
	struct standing s = { .walk.enter = put_element, .c = c, .foreach = stmt->foreach };

	for (uint32_t i = 0; i < stmt->n_body; i++)
		check_walk_stmt(&s.walk, stmt->body[i]);
	stmt->foreach->value = NULL;
}

static void sort_of(struct check *c, const struct script_foreach *f, const struct script_stmt *stmt,
		    const struct script_variable *v)
{
	static const char *const names[] = { "count", "sum", "min", "max", "avg" };
	bool is_good = !f->sort_statistic;

	if (f->sort && f->sort_key >= (int)f->n_keys)
		semantic(c, stmt->place, "foreach is sorted by a key that it has not");
	for (size_t i = 0; f->sort_statistic && i < sizeof names / sizeof *names; i++)
		is_good |= !strcmp(names[i], f->sort_statistic);
	if (!is_good)
		semantic(c, f->array->place,
			 "foreach sorts by @count, @sum, @min, @max or @avg, not by @%s",
			 f->sort_statistic);
	if (c->is_last && f->sort_statistic && v && v->type != SCRIPT_STATS)
		semantic(c, f->array->place, "`%s` is %s, and @%s reads a statistic", v->name,
			 check_type_name(v->type), f->sort_statistic);
}

static void buckets(struct check *c, struct script_stmt *stmt)
{
	struct script_foreach *f = stmt->foreach;

	check_infer_statistic(c, f->array);
	if (strncmp(f->array->text, "hist_", 5))
		semantic(c, f->array->place,
			 "foreach goes over an array, or the buckets of @hist_log or @hist_linear");
	if (f->n_keys != 1)
		semantic(c, stmt->place, "a bucket has one key, its number");
	for (uint32_t i = 0; i < f->n_keys; i++)
		check_infer(c, f->keys[i], SCRIPT_LONG);
	if (f->value)
		check_infer(c, f->value, SCRIPT_LONG);
}

static void foreach_keys(struct check *c, struct script_foreach *f, struct script_variable *v)
{
	for (uint32_t i = 0; i < f->n_keys; i++) {
		enum script_type type;

		if (v->keys[i])
			check_because(c, v->keys_at[i], "key %u of `%s`", i + 1, v->name);
		type = check_infer(c, f->keys[i], v->keys[i]);
		if (!v->keys[i] && (type == SCRIPT_LONG || type == SCRIPT_STRING)) {
			v->keys[i] = type;
			v->keys_at[i] = f->keys[i]->place;
			c->changed = true;
		}
	}
}

static void foreach (struct check *c, struct script_stmt * stmt)
{
	struct script_foreach *f = stmt->foreach;
	struct script_variable *v = f->array->variable;

	if (f->limit)
		check_infer(c, f->limit, SCRIPT_LONG);
	sort_of(c, f, stmt, v);
	if (f->array->kind == EXPR_STATISTIC) {
		buckets(c, stmt);
		return;
	}
	if (f->array->kind != EXPR_VARIABLE && f->array->kind != EXPR_ELEMENT) {
		semantic(c, f->array->place, "foreach goes over an array");
		return;
	}
	if (!v)
		return;
	if (f->array->kind == EXPR_ELEMENT)
		check_keys(c, v, f->array->kids, f->array->n_kids, f->array->place, true);
	if (!check_is_array(c, v, f->n_keys, f->array->place))
		return;
	foreach_keys(c, f, v);
	if (f->value && v->type == SCRIPT_STATS) {
		stand_for_element(c, stmt);
		c->changed = true;
	} else if (f->value) {
		if (v->type)
			check_because(c, v->typed_at, "an element of `%s`", v->name);
		check_type_variable(c, v, check_infer(c, f->value, v->type), f->value->place);
	}
	f->array->type = v->type;
}

/* ---- the others ---- */

static void return_(struct check *c, struct check_scope *s, struct script_stmt *stmt)
{
	struct script_function *f = &s->own;
	enum script_type type;

	if (!stmt->expr || s->handler)
		return;
	if (f->type)
		check_because(c, f->typed_at, "the value of `%s()`", f->name);
	type = check_infer(c, stmt->expr, f->type);
	if (!f->type && type) {
		f->type = type;
		f->typed_at = stmt->expr->place;
		c->changed = true;
	}
}

static void delete_(struct check *c, struct script_stmt *stmt)
{
	struct script_expr *e = stmt->expr;

	if (!e->variable)
		return;
	if (e->kind == EXPR_ELEMENT)
		check_keys(c, e->variable, e->kids, e->n_kids, e->place, true);
	e->type = e->variable->type;
}

void check_infer_stmt(struct check *c, struct check_scope *s, struct script_stmt *stmt)
{
	if (!stmt)
		return;
	switch (stmt->kind) {
	case STMT_EXPR:
		check_infer(c, stmt->expr, SCRIPT_NOTHING);
		break;
	case STMT_IF:
	case STMT_WHILE:
	case STMT_FOR:
		if (stmt->init)
			check_infer(c, stmt->init, SCRIPT_NOTHING);
		if (stmt->expr)
			check_infer(c, stmt->expr, SCRIPT_LONG);
		if (stmt->step)
			check_infer(c, stmt->step, SCRIPT_NOTHING);
		break;
	case STMT_FOREACH:
		foreach (c, stmt)
			;
		break;
	case STMT_RETURN:
		return_(c, s, stmt);
		break;
	case STMT_DELETE:
		delete_(c, stmt);
		break;
	case STMT_TRY:
		if (stmt->variable)
			check_infer(c, stmt->variable, SCRIPT_STRING);
		break;
	default:
		break;
	}
	for (uint32_t i = 0; i < stmt->n_body; i++)
		check_infer_stmt(c, s, stmt->body[i]);
}
