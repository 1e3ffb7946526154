/* SPDX-License-Identifier: MIT */
/*
 * check/walk.c - trees walked, copied and made.
 *
 * Into a site (an expression with a slot) nothing walks: the probe point evaluates it whole.
 */
#include "script/check/internal.h"

#include <stdarg.h>
#include <stdio.h>

void *check_allocate(struct check *c, size_t size)
{
	void *p = script_allocate(c->arena, size ? size : 1);

	if (!p)
		longjmp(c->full, 1);
	return p;
}

const char *check_text(struct check *c, const char *format, ...)
{
	char bytes[1024];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(bytes, sizeof bytes, format, args);
	va_end(args);
	if (n < 0)
		return "";
	return check_copy_text(c, bytes, (size_t)n < sizeof bytes ? (size_t)n : sizeof bytes - 1);
}

const char *check_copy_text(struct check *c, const char *bytes, size_t size)
{
	char *copy = check_allocate(c, size + 1);

	if (size)
		memcpy(copy, bytes, size);
	return copy;
}

void check_push_(struct check *c, void ***list, uint32_t *n, void *item)
{
	if (!*n || (*n >= 4 && !(*n & (*n - 1)))) {
		void **grown = check_allocate(c, (*n ? *n * 2 : 4) * sizeof *grown);

		if (*n)
			memcpy(grown, *list, *n * sizeof *grown);
		*list = grown;
	}
	(*list)[(*n)++] = item;
}

const char *check_type_name(enum script_type t)
{
	static const char *const names[] = {
		[SCRIPT_UNKNOWN] = "of unknown type", [SCRIPT_LONG] = "a number",
		[SCRIPT_STRING] = "a string",	      [SCRIPT_STATS] = "a statistic",
		[SCRIPT_NOTHING] = "without a value",
	};

	return names[t];
}

/* ---- walking ---- */

void check_walk_expr(struct check_walk *w, struct script_expr **e)
{
	if (!*e || (w->enter && !w->enter(w, e)) || (*e)->slot >= 0)
		return;
	for (uint32_t i = 0; i < (*e)->n_kids; i++)
		check_walk_expr(w, &(*e)->kids[i]);
}

static void walk_foreach(struct check_walk *w, struct script_foreach *f)
{
	check_walk_expr(w, &f->array);
	check_walk_expr(w, &f->limit);
	for (uint32_t i = 0; i < f->n_keys; i++)
		check_walk_expr(w, &f->keys[i]);
	check_walk_expr(w, &f->value);
}

void check_walk_stmt(struct check_walk *w, struct script_stmt *s)
{
	if (!s || (w->statement && !w->statement(w, s)))
		return;
	check_walk_expr(w, &s->init);
	check_walk_expr(w, &s->expr);
	check_walk_expr(w, &s->step);
	check_walk_expr(w, &s->variable);
	if (s->foreach)
		walk_foreach(w, s->foreach);
	for (uint32_t i = 0; i < s->n_body; i++)
		check_walk_stmt(w, s->body[i]);
}

/* ---- copying ---- */

static struct script_expr **copy_list(struct check_copier *k, struct script_expr *const *list,
				      uint32_t n)
{
	struct script_expr **copy;

	if (!n)
		return NULL;
	copy = check_allocate(k->c, n * sizeof *copy);
	for (uint32_t i = 0; i < n; i++)
		copy[i] = check_copy_expr(k, list[i]);
	return copy;
}

enum { HEIGHT_MAX = 3 * SCRIPT_HEIGHT_MAX };

/* Expressions that replace names and calls make trees higher than the parser's. */
static void set_height(struct check *c, struct script_expr *e)
{
	unsigned height = 0;

	for (uint32_t i = 0; i < e->n_kids; i++)
		if (e->kids[i] && e->kids[i]->height > height)
			height = e->kids[i]->height;
	e->height = (uint16_t)(height + 1);
	if (height < HEIGHT_MAX)
		return;
	semantic(c, e->place,
		 "with the functions and locals that it uses, this expression is nested "
		 "more than %d deep",
		 HEIGHT_MAX);
	longjmp(c->full, 2);
}

struct script_expr *check_copy_expr(struct check_copier *k, const struct script_expr *e)
{
	struct script_expr *copy = e && k->replace ? k->replace(k, e) : NULL;

	if (!e || copy)
		return copy;
	copy = check_allocate(k->c, sizeof *copy);
	*copy = *e;
	copy->kids = copy_list(k, e->kids, e->n_kids);
	set_height(k->c, copy);
	return copy;
}

static struct script_foreach *copy_foreach(struct check_copier *k, const struct script_foreach *f)
{
	struct script_foreach *copy;

	if (!f)
		return NULL;
	copy = check_allocate(k->c, sizeof *copy);
	*copy = *f;
	copy->keys = copy_list(k, f->keys, f->n_keys);
	copy->value = check_copy_expr(k, f->value);
	copy->array = check_copy_expr(k, f->array);
	copy->limit = check_copy_expr(k, f->limit);
	return copy;
}

struct script_stmt *check_copy_stmt(struct check_copier *k, const struct script_stmt *s)
{
	struct script_stmt *copy = s && k->replace_stmt ? k->replace_stmt(k, s) : NULL;

	if (!s || copy)
		return copy;
	copy = check_allocate(k->c, sizeof *copy);
	*copy = *s;
	copy->expr = check_copy_expr(k, s->expr);
	copy->init = check_copy_expr(k, s->init);
	copy->step = check_copy_expr(k, s->step);
	copy->variable = check_copy_expr(k, s->variable);
	copy->foreach = copy_foreach(k, s->foreach);
	if (s->n_body)
		copy->body = check_allocate(k->c, s->n_body * sizeof *copy->body);
	for (uint32_t i = 0; i < copy->n_body; i++)
		copy->body[i] = check_copy_stmt(k, s->body[i]);
	return copy;
}

/* ---- making ---- */

struct script_expr *check_expr(struct check *c, enum script_expr_kind kind,
			       struct script_place place, const char *text, uint32_t n_kids)
{
	struct script_expr *e = check_allocate(c, sizeof *e);

	*e = (struct script_expr){ .kind = kind, .place = place, .slot = -1 };
	if (text) {
		e->text = text;
		e->size = (uint32_t)strlen(text);
	}
	if (n_kids) {
		e->kids = check_allocate(c, n_kids * sizeof *e->kids);
		e->n_kids = n_kids;
	}
	return e;
}

struct script_expr *check_number(struct check *c, struct script_place place, int64_t number)
{
	struct script_expr *e = check_expr(c, EXPR_NUMBER, place, NULL, 0);

	e->number = number;
	e->type = SCRIPT_LONG;
	return e;
}

struct script_stmt *check_stmt(struct check *c, enum script_stmt_kind kind,
			       struct script_place place, struct script_expr *e)
{
	struct script_stmt *s = check_allocate(c, sizeof *s);

	*s = (struct script_stmt){ .kind = kind, .place = place, .expr = e };
	return s;
}
