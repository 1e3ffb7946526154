/* SPDX-License-Identifier: MIT */
/*
 * check/points.c - a probe point as written becomes concrete points.
 *
 * The engine's own families come first, then aliases, then what the world has.  What
 * follows an alias's name is passed on to the points that the alias means.  A pattern collects from
 * aliases and the world; a name without wildcard that is an alias is only that.
 */
#include "script/check/internal.h"

#include <fnmatch.h>
#include <stdio.h>

enum { MOST_DEPTH = 16 };

bool check_glob(const char *pattern, const char *name)
{
	return !fnmatch(pattern, name, 0);
}

static bool is_pattern(const char *name)
{
	return strpbrk(name, "*?[") != NULL;
}

static bool point_is_pattern(const struct script_point *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (is_pattern(p->at[i].name))
			return true;
	return false;
}

static const char *point_text(struct check *c, const struct script_point *p)
{
	struct text t = { 0 };
	const char *copy;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct script_component *at = &p->at[i];

		text_addf(&t, "%s%s", i ? "." : "", at->name);
		if (at->kind == COMPONENT_TEXT)
			text_addf(&t, "(\"%s\")", at->text);
		else if (at->kind == COMPONENT_NUMBER)
			text_addf(&t, "(%lld)", (long long)at->number);
	}
	copy = script_copy(c->arena, t.bytes ? t.bytes : "", t.size);
	text_fini(&t);
	if (!copy)
		longjmp(c->full, 1);
	return copy;
}

/* ---- aliases ---- */

static bool same_argument(const struct script_component *p, const struct script_component *a)
{
	if (p->kind != a->kind)
		return false;
	if (p->kind == COMPONENT_NUMBER)
		return p->number == a->number;
	return p->kind == COMPONENT_PLAIN || check_glob(p->text, a->text);
}

static const char *dotted(struct check *c, const struct script_point *p, uint32_t n)
{
	struct script_point part = *p;

	part.n = n;
	return point_text(c, &part);
}

/* The components of @p that @alias takes, or 0. */
static uint32_t alias_takes(struct check *c, const struct script_point *p,
			    const struct script_point *alias)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (strstr(p->at[i].name, "**"))
			return check_glob(dotted(c, p, p->n), dotted(c, alias, alias->n)) ? p->n
											  : 0;
	if (!alias->n || alias->n > p->n)
		return 0;
	for (uint32_t i = 0; i < alias->n; i++)
		if (!check_glob(p->at[i].name, alias->at[i].name) ||
		    !same_argument(&p->at[i], &alias->at[i]))
			return 0;
	return alias->n;
}

static struct script_point *with_suffix(struct check *c, const struct script_point *target,
					const struct script_point *p, uint32_t taken)
{
	struct script_point *made = check_allocate(c, sizeof *made);

	*made = *target;
	made->n = target->n + p->n - taken;
	made->at = check_allocate(c, made->n * sizeof *made->at);
	memcpy(made->at, target->at, target->n * sizeof *made->at);
	memcpy(made->at + target->n, p->at + taken, (p->n - taken) * sizeof *made->at);
	made->is_optional |= p->is_optional || p->is_sufficient;
	return made;
}

static const struct check_chain *link_to(struct check *c, const struct check_chain *up,
					 struct check_alias *alias, struct script_expr *condition)
{
	struct check_chain *link = check_allocate(c, sizeof *link);

	*link = (struct check_chain){ .alias = alias, .condition = condition, .up = up };
	return link;
}

static int expand_alias(struct check *c, struct check_alias *a, const struct script_point *p,
			uint32_t taken, const struct check_chain *chain, struct check_sink *s)
{
	uint32_t errors = c->m->n_errors;
	int total = 0;

	if (c->depth >= MOST_DEPTH)
		return semantic(c, a->name->place, "aliases are nested more than %d deep",
				MOST_DEPTH);
	a->is_open = true;
	c->depth++;
	for (uint32_t i = 0; i < a->decl->n_points && total >= 0; i++) {
		const struct script_point *target = &a->decl->points[i];
		int n = check_expand(c, with_suffix(c, target, p, taken),
				     link_to(c, chain, a, NULL), s);

		total = n < 0 ? n : total + n;
		if (n > 0 && target->is_sufficient)
			break;
	}
	c->depth--;
	a->is_open = false;
	if (c->m->n_errors > errors && c->depth == 0)
		script_note(c->m, p->place, "used");
	return total;
}

/* ---- the world ---- */

struct found_point {
	struct script_world_point point;
	struct found_point *next;
};

/* Collects first: nothing may leave the world's function by longjmp. */
struct collector {
	struct script_found found; /* first */
	struct script_arena *arena;
	struct found_point *first, **last;
};

static void add_point(struct script_found *f, const struct script_world_point *p)
{
	struct collector *k = (struct collector *)f;
	struct found_point *made = script_allocate(k->arena, sizeof *made);

	if (!made)
		return; /* the arena remembers */
	made->point = *p;
	*k->last = made;
	k->last = &made->next;
}

static int use_points(struct check *c, const struct collector *k, const struct check_chain *chain,
		      const struct script_point *of, struct check_sink *s)
{
	int n = 0;

	if (c->arena->failed)
		longjmp(c->full, 1);
	for (const struct found_point *f = k->first; f; f = f->next, n++)
		s->add(s, chain, &f->point, of);
	return n;
}

/* Whether aliases begin with the first component of @wanted, which has @size bytes. */
static bool is_family_of_aliases(struct check *c, const char *wanted, size_t size)
{
	for (uint32_t i = 0; i < c->n_aliases; i++) {
		const char *name = dotted(c, c->aliases[i]->name, c->aliases[i]->name->n);

		if (!strncmp(name, wanted, size) && name[size] == '.')
			return true;
	}
	return false;
}

static const char *nearest_alias(struct check *c, const char *wanted, char text[160])
{
	struct script_nearest near = { .wanted = wanted, .wanted_size = strlen(wanted) };
	static const char *const engine[] = { "begin",	  "end",      "error",	  "never",
					      "oneshot",  "init",     "timer.s",  "timer.ms",
					      "timer.us", "timer.ns", "timer.hz", "timer.jiffies" };
	static const char *const families[] = { "kernel", "syscall", "nd_syscall", "syscall_any",
						"app",	  "process", "timer",	   "event" };
	size_t family = strcspn(wanted, ".(");
	bool has_aliases = is_family_of_aliases(c, wanted, family), knows_family = has_aliases;
	char other[256];

	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		knows_family |=
			strlen(families[i]) == family && !strncmp(families[i], wanted, family);
	for (size_t i = 0; i < sizeof engine / sizeof *engine; i++)
		script_nearest_try(&near, engine[i]);
	/* The family may be mistyped; if it is not, what stands behind it is to blame. */
	for (size_t i = 0; i < sizeof families / sizeof *families && !knows_family; i++) {
		snprintf(other, sizeof other, "%s%s", families[i], strchrnul(wanted, '.'));
		if (strcmp(other, wanted) != 0)
			script_nearest_try(&near, other);
	}
	for (uint32_t i = 0; i < c->n_aliases; i++)
		script_nearest_try(&near, dotted(c, c->aliases[i]->name, c->aliases[i]->name->n));
	check_try_others(c, &near);
	script_nearest_text(&near, text);
	if (!text[0] && has_aliases && family < 100)
		snprintf(text, 160, "\n  duet script -l '%.*s.*' lists those that there are",
			 (int)family, wanted);
	return text;
}

/* @err: of the world.  Without a right, for example, another name would not help. */
static int no_point(struct check *c, const struct script_point *p, int err, const struct diag *d)
{
	const char *name = point_text(c, p);
	char text[160] = "";

	for (uint32_t i = 0; i < c->n_aliases; i++)
		if (c->aliases[i]->is_open && alias_takes(c, p, c->aliases[i]->name))
			return semantic(c, p->place, "alias `%s` expands into itself", name);
	if ((!err || err == -ENOENT || err == -ENOTSUP) && !strstr(d->text, "did you mean"))
		nearest_alias(c, name, text);
	if (d->text[0]) /* its first line states the error; the name goes there */
		return semantic(c, p->place, "%.*s%s%s", (int)strcspn(d->text, "\n"), d->text, text,
				strchrnul(d->text, '\n'));
	return semantic(c, p->place, "%s has no probe point `%s`%s", c->world->ops->name, name,
			text);
}

static uint32_t alias_here(struct check *c, const struct check_alias *a,
			   const struct script_point *p)
{
	if (a->is_open || (!a->is_library && check_is_library(c, p->place)))
		return 0;
	return alias_takes(c, p, a->name);
}

static int expand_one(struct check *c, const struct script_point *p,
		      const struct check_chain *chain, struct check_sink *s)
{
	struct collector k = { .found.add = add_point, .arena = c->arena, .last = &k.first };
	struct diag d = { "" };
	bool was_alias = false, is_wild = point_is_pattern(p);
	uint32_t most = 0;
	int total = 0, err = world_engine_point(c->arena, p, &k.found, &d);

	if (err < 0)
		return semantic(c, p->place, "%s", d.text);
	if (err)
		return use_points(c, &k, chain, p, s);
	for (uint32_t i = 0; i < c->n_aliases; i++)
		if (alias_here(c, c->aliases[i], p) > most)
			most = alias_here(c, c->aliases[i], p);
	c->patterns += is_wild;
	for (uint32_t i = 0; i < c->n_aliases && most && total >= 0; i++) {
		struct check_alias *a = c->aliases[i];
		uint32_t taken = alias_here(c, a, p);
		int n;

		if (taken != most) /* socket.send.return is no return of socket.send */
			continue;
		n = expand_alias(c, a, p, taken, chain, s);
		was_alias = true;
		total = n < 0 ? n : total + n;
	}
	c->patterns -= is_wild;
	if (total < 0 || (was_alias && !is_wild))
		return total;
	err = c->world->ops->points(c->world, p, &k.found, &d);
	total += use_points(c, &k, chain, p, s);
	if (total || p->is_optional || p->is_sufficient || c->patterns)
		return total;
	if (was_alias) /* a pattern: each of its aliases lacks its points */
		return semantic(c, p->place, "%s has none of the points that `%s` means",
				c->world->ops->name, point_text(c, p));
	return no_point(c, p, err, &d);
}

int check_expand(struct check *c, const struct script_point *p, const struct check_chain *chain,
		 struct check_sink *s)
{
	if (p->condition)
		chain = link_to(c, chain, NULL, p->condition);
	if (!p->n)
		return semantic(c, p->place, "a probe point is missing");
	return expand_one(c, p, chain, s);
}
