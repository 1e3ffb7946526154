/* SPDX-License-Identifier: MIT */
/*
 * patch/settle.c - which ranges are parts of functions, and facts handed on between ranges.
 *
 * A function that continues in another one by a jump (a tail call) leaves it its own return address
 * and arguments: it needs all that the other one needs.  A part (foo.cold) works in its function's frame.
 */
#include "patch/internal.h"

#include <stdlib.h>

enum { ROUNDS_MOST = 64 };

/* How other ranges reach the first byte: bits 1 << enum patch_target_kind. */
static uint32_t ways_in(const struct patch_file *f, const struct patch_range *r)
{
	const struct patch_targets *t = &f->targets;
	uint32_t ways = 0, own = (uint32_t)(r - f->ranges) + 1;

	for (size_t i = patch_target_from(t, r->begin); i < t->n && t->at[i].address == r->begin;
	     i++)
		if (t->at[i].from != own)
			ways |= 1u << t->at[i].kind;
	return ways;
}

static bool is_part(const struct patch_file *f, const struct patch_range *r)
{
	const char *name = patch_name_of(f, r->begin);
	uint32_t ways = ways_in(f, r);

	if (r->is_deep)
		return true;
	if (ways & (1u << PATCH_BY_CALL | 1u << PATCH_BY_ADDRESS))
		return false;
	if (*name)
		return patch_is_cold(name);
	/* A stripped file: is it a function that only tail calls reach, or a part? */
	return (ways & 1u << PATCH_BY_BRANCH) ||
	       ((ways & 1u << PATCH_BY_JUMP) && (r->traits & (PATCH_T_BACK | PATCH_T_RED_ZONE)));
}

/* True: something is new. */
static bool hand_on(struct patch_file *f, const struct patch_edge *e)
{
	struct patch_range *from = &f->ranges[e->from];
	const struct patch_range *to = &f->ranges[e->to];
	const uint32_t tail = PATCH_T_RETURN | PATCH_T_TWICE | PATCH_T_POPS | PATCH_T_UNKNOWN_TAIL;
	const uint32_t body = tail | PATCH_T_VARIADIC | PATCH_T_REALIGN | PATCH_T_STACK;
	bool is_tail = e->is_tail && !(to->traits & PATCH_T_PART);
	uint32_t traits = to->traits & (is_tail ? tail : body), arguments = to->max_arg;

	if (is_tail && (to->traits & (PATCH_T_VARIADIC | PATCH_T_REALIGN)))
		traits |= PATCH_T_UNKNOWN_TAIL;
	if (!(traits & ~from->traits) && arguments <= from->max_arg)
		return false;
	from->traits |= traits;
	if (arguments > from->max_arg)
		from->max_arg = arguments;
	return true;
}

void patch_settle(struct patch_file *f)
{
	bool again = true;

	for (uint32_t i = 0; i < f->n_ranges; i++) {
		struct patch_range *r = &f->ranges[i];

		if (is_part(f, r))
			r->traits |= PATCH_T_PART;
		else if (patch_known_reason(f, r->begin) == PATCH_TWICE)
			r->traits |= PATCH_T_TWICE;
	}
	for (int round = 0; again && round < ROUNDS_MOST; round++) {
		again = false;
		for (size_t i = f->n_edges; i-- > 0;)
			again |= hand_on(f, &f->edges[i]);
	}
	/* Chains longer than that are not followed to their end: their needs are not known. */
	for (size_t i = 0; again && i < f->n_edges; i++)
		f->ranges[f->edges[i].from].traits |= PATCH_T_REALIGN;
	for (uint32_t i = 0; i < f->n_ranges; i++)
		if ((f->ranges[i].traits & PATCH_T_UNKNOWN_TAIL) &&
		    f->ranges[i].max_arg < PATCH_STACK_UNKNOWN)
			f->ranges[i].max_arg = PATCH_STACK_UNKNOWN;
}
