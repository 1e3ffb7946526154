/* SPDX-License-Identifier: MIT */
/*
 * check/enum.c - @enum("NAME") and @enumname(x, "type"), from the types of the running kernel.
 *
 * A recording does not keep the kernel's types, so for it too they are those of the kernel that runs:
 * enumerations seldom change.  They are read once, when the first script asks.
 */
#include <stdlib.h>

#include "bpf/types.h"
#include "script/check/internal.h"

enum { MOST_NAMES = 4096 };

static bool open_types(struct check *c, struct diag *d)
{
	if (c->types_are == TYPES_CLOSED && c->types)
		c->types_are = btf_types_open(c->types, d) ? TYPES_MISSING : TYPES_OPEN;
	return c->types_are == TYPES_OPEN;
}

/* ---- @enum ---- */

struct wanted {
	const char *name;
	int64_t value;
	struct script_nearest near;
};

static int try_name(void *context, const char *name, int64_t value)
{
	struct wanted *w = context;

	if (strcmp(name, w->name)) {
		if (w->near.wanted)
			script_nearest_try(&w->near, name);
		return 0;
	}
	w->value = value;
	return 1;
}

static bool find_value(struct check *c, struct wanted *w)
{
	for (uint32_t id = 1; id < c->types->n; id++)
		if (btf_each_enumerator(c->types, id, try_name, w))
			return true;
	return false;
}

static struct script_expr *value_of(struct check *c, const struct script_expr *e,
				    const struct script_expr *name)
{
	struct wanted w = { .name = name->text,
			    .near = { .wanted = name->text, .wanted_size = name->size } };
	char text[160];

	if (find_value(c, &w))
		return check_number(c, e->place, w.value);
	semantic(c, name->place, "no enumeration of the kernel has `%s`%s", name->text,
		 script_nearest_text(&w.near, text));
	return check_number(c, e->place, 0);
}

/* ---- @enumname ---- */

struct enumerator {
	const char *name;
	int64_t value;
};

struct names {
	struct check *c;
	struct enumerator *at;
	uint32_t n;
};

static int take_name(void *context, const char *name, int64_t value)
{
	struct names *k = context;

	if (k->n == MOST_NAMES)
		return 1;
	k->at[k->n++] = (struct enumerator){ name, value };
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const struct enumerator *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

static struct script_expr *test(struct check *c, const struct script_expr *x, enum script_op op,
				int64_t value)
{
	struct check_copier copy = { .c = c };
	struct script_expr *e = check_expr(c, EXPR_BINARY, x->place, NULL, 2);

	e->op = op;
	e->kids[0] = check_copy_expr(&copy, x);
	e->kids[1] = check_number(c, x->place, value);
	return e;
}

static struct script_expr *otherwise(struct check *c, const struct script_expr *x)
{
	struct check_copier copy = { .c = c };
	struct script_expr *e = check_expr(c, EXPR_PRINT, x->place, "sprint", 1);

	e->kids[0] = check_copy_expr(&copy, x);
	return e;
}

/* x < middle ? ... : ..., so that the tree stays low. */
static struct script_expr *choose(struct check *c, const struct script_expr *x,
				  const struct enumerator *at, uint32_t n)
{
	struct script_expr *e = check_expr(c, EXPR_CONDITION, x->place, NULL, 3);
	uint32_t half = n / 2;

	if (n == 1) {
		e->kids[0] = test(c, x, SCRIPT_EQ, at->value);
		e->kids[1] = check_expr(c, EXPR_TEXT, x->place, check_text(c, "%s", at->name), 0);
		e->kids[2] = otherwise(c, x);
		return e;
	}
	e->kids[0] = test(c, x, SCRIPT_LT, at[half].value);
	e->kids[1] = choose(c, x, at, half);
	e->kids[2] = choose(c, x, at + half, n - half);
	return e;
}

static uint32_t find_enum(struct check *c, const char *name)
{
	const char *bare = strncmp(name, "enum ", 5) ? name : name + 5;
	uint32_t id = btf_find(c->types, BTF_KIND_ENUM, bare);

	if (!id)
		id = btf_find(c->types, BTF_KIND_ENUM64, bare);
	return id ? id : btf_plain(c->types, btf_find(c->types, BTF_KIND_TYPEDEF, bare));
}

static struct script_expr *name_of(struct check *c, const struct script_expr *e,
				   const struct script_expr *type)
{
	struct names k = { .c = c, .at = check_allocate(c, MOST_NAMES * sizeof *k.at) };
	const struct script_expr *x = e->kids[0];

	btf_each_enumerator(c->types, find_enum(c, type->text), take_name, &k);
	if (!k.n) {
		semantic(c, type->place, "the kernel has no enumeration `%s`", type->text);
		return check_expr(c, EXPR_TEXT, e->place, "", 0);
	}
	if (x->kind != EXPR_NUMBER && x->kind != EXPR_VARIABLE && x->slot < 0)
		semantic(c, x->place, "@enumname takes a variable: put this into one first");
	qsort(k.at, k.n, sizeof *k.at, by_value);
	return choose(c, x, k.at, k.n);
}

/* ---- the doors ---- */

static const struct script_expr *constant(const struct script_expr *e)
{
	const struct script_expr *last = e->n_kids ? e->kids[e->n_kids - 1] : NULL;

	return last && last->kind == EXPR_TEXT ? last : NULL;
}

bool check_has_enum(struct check *c, const struct script_expr *e)
{
	const struct script_expr *name = constant(e);
	struct wanted w = { .name = name ? name->text : "" };

	if (!name || !open_types(c, NULL))
		return false;
	return e->n_kids == 1 ? find_value(c, &w) : find_enum(c, name->text) != 0;
}

struct script_expr *check_enum(struct check *c, const struct script_expr *e)
{
	const struct script_expr *name = constant(e);
	struct diag d = { "the types of the kernel are not at hand" };

	if (!name)
		semantic(c, e->place, "@%s takes its name as a string constant", e->text);
	else if (!open_types(c, &d))
		semantic(c, e->place, "@%s: %s", e->text, d.text);
	else
		return e->n_kids == 1 ? value_of(c, e, name) : name_of(c, e, name);
	return check_number(c, e->place, 0);
}
