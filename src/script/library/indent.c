/* SPDX-License-Identifier: MIT */
/*
 * library/indent.c - indent() and thread_indent(): the depth of calls and the time since the first
 * one, for each thread.
 *
 * A thread is forgotten when it is back at depth 0, so the table holds only threads inside calls.
 */
#include <stdlib.h>

#include "script/library/internal.h"

enum { FIRST_PLACES = 64, MOST_PLACES = 1 << 20, DEPTH_MOST = 4096 };

struct place {
	int64_t key, depth, since_us;
	bool is_used;
};

struct indents {
	struct place *at; /* linear probing */
	uint32_t n, mask;
	struct place all; /* of indent() */
};

void indents_free(struct indents *i)
{
	if (i)
		free(i->at);
	free(i);
}

static struct place *find(struct place *at, uint32_t mask, int64_t key)
{
	uint32_t i = (uint32_t)((uint64_t)key * 0x9e3779b97f4a7c15u >> 32);

	while (at[i & mask].is_used && at[i & mask].key != key)
		i++;
	return &at[i & mask];
}

/* Threads inside calls move to a table of the size that they need. */
static bool rebuild(struct indents *indents)
{
	uint32_t n_inside = 0, places = FIRST_PLACES;
	struct place *at;

	for (uint32_t i = 0; indents->at && i <= indents->mask; i++)
		n_inside += indents->at[i].is_used && indents->at[i].depth;
	while (places < 4 * n_inside)
		places *= 2;
	if (places > MOST_PLACES)
		return false;
	at = calloc(places, sizeof *at);
	if (!at)
		return false;
	for (uint32_t i = 0; indents->at && i <= indents->mask; i++)
		if (indents->at[i].is_used && indents->at[i].depth)
			*find(at, places - 1, indents->at[i].key) = indents->at[i];
	free(indents->at);
	indents->at = at;
	indents->mask = places - 1;
	indents->n = n_inside;
	return true;
}

static struct place *place_of(struct script_vm *vm, int64_t tid)
{
	struct library *l = library_of(vm);
	struct place *p;

	if (!l->indents)
		l->indents = calloc(1, sizeof *l->indents);
	if (!l->indents)
		return NULL;
	if (!l->indents->at && !rebuild(l->indents))
		return NULL;
	p = find(l->indents->at, l->indents->mask, tid);
	if (p->is_used)
		return p;
	if (2 * l->indents->n >= l->indents->mask) {
		if (!rebuild(l->indents))
			return &l->indents->all;
		p = find(l->indents->at, l->indents->mask, tid);
	}
	l->indents->n++;
	*p = (struct place){ .key = tid, .is_used = true };
	return p;
}

static int64_t now_us(struct script_vm *vm)
{
	return standard_long(vm, STANDARD_TIME_NS) / 1000;
}

/* The depth to show: a step in counts at once, a step out from the next call on. */
static int64_t step(struct script_vm *vm, struct place *p, int64_t delta)
{
	int64_t depth;

	if (!p->depth)
		p->since_us = now_us(vm);
	depth = p->depth + (delta > 0 ? delta : 0);
	p->depth += delta;
	p->depth = p->depth < 0 ? 0 : p->depth > DEPTH_MOST ? DEPTH_MOST : p->depth;
	return depth < 0 ? 0 : depth > DEPTH_MOST ? DEPTH_MOST : depth;
}

static int64_t clamp(uint64_t delta)
{
	int64_t d = (int64_t)delta;

	return d > DEPTH_MOST ? DEPTH_MOST : d < -DEPTH_MOST ? -DEPTH_MOST : d;
}

static struct place *all(struct script_vm *vm)
{
	static struct place without_memory;
	struct place *p = place_of(vm, 0);

	return p ? &library_of(vm)->indents->all : &without_memory;
}

static uint64_t indented(struct script_vm *vm, struct place *p, int64_t delta, const char *name,
			 size_t name_size, int64_t tid)
{
	int64_t depth = step(vm, p, delta);
	struct text *t = library_text(vm);

	text_addf(t, "%6lld ", (long long)(now_us(vm) - p->since_us));
	if (name) {
		text_add(t, name, name_size);
		text_addf(t, "(%lld)", (long long)tid);
	}
	text_addf(t, ":%*s", (int)depth, "");
	return new_text(vm, t->bytes, t->size);
}

HELP(library_thread_indent)
{
	int64_t tid = standard_long(vm, STANDARD_TID);
	const struct script_string *name = script_vm_frame(vm)->standard[STANDARD_EXECNAME].text;
	struct place *p = place_of(vm, tid);

	UNUSED2;
	return indented(vm, p ? p : all(vm), clamp(r1), name->bytes, name->size, tid);
}

HELP(library_thread_indent_depth)
{
	struct place *p = place_of(vm, standard_long(vm, STANDARD_TID));

	UNUSED2;
	return (uint64_t)step(vm, p ? p : all(vm), clamp(r1));
}

HELP(library_indent)
{
	UNUSED2;
	return indented(vm, all(vm), clamp(r1), NULL, 0, 0);
}

HELP(library_indent_depth)
{
	UNUSED2;
	return (uint64_t)step(vm, all(vm), clamp(r1));
}
