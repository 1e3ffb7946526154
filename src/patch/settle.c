/* SPDX-License-Identifier: MIT */
/*
 * patch/settle.c - which ranges are parts of functions, and what ranges hand on to each other.
 *
 * A function that continues in another one by a jump (a tail call) leaves it its own return address
 * and arguments: what that one needs, it needs.  A part (foo.cold) works in its function's frame.
 */
#include "patch/internal.h"

#include <stdlib.h>

enum { ROUNDS_MOST = 64 };

/* Whether anything but jumps leads to the first byte. */
static bool is_entered(const struct patch_file *f, uint64_t address, bool *is_jumped)
{
	const struct patch_targets *t = &f->targets;

	*is_jumped = false;
	for (size_t i = patch_target_from(t, address); i < t->n && t->at[i].address == address;
	     i++) {
		if (t->at[i].kind == PATCH_BY_CALL || t->at[i].kind == PATCH_BY_ADDRESS)
			return true;
		*is_jumped |= t->at[i].kind == PATCH_BY_JUMP;
	}
	return false;
}

static bool is_part(const struct patch_file *f, const struct patch_range *r)
{
	const struct symbol_function *s = patch_named(f, r->begin);
	bool is_jumped, is_called = is_entered(f, r->begin, &is_jumped);

	if (r->is_deep)
		return true;
	if (is_called)
		return false;
	return s ? patch_is_cold(s->name) : is_jumped;
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
		else if (patch_known_reason(f, patch_named(f, r->begin)) == PATCH_TWICE)
			r->traits |= PATCH_T_TWICE;
	}
	for (int round = 0; again && round < ROUNDS_MOST; round++) {
		again = false;
		for (size_t i = f->n_edges; i-- > 0;)
			again |= hand_on(f, &f->edges[i]);
	}
	/* Chains longer than that are not followed to their end: what they need is not known. */
	for (size_t i = 0; again && i < f->n_edges; i++)
		f->ranges[f->edges[i].from].traits |= PATCH_T_REALIGN;
	for (uint32_t i = 0; i < f->n_ranges; i++)
		if ((f->ranges[i].traits & PATCH_T_UNKNOWN_TAIL) &&
		    f->ranges[i].max_arg < PATCH_STACK_UNKNOWN)
			f->ranges[i].max_arg = PATCH_STACK_UNKNOWN;
}
