/* SPDX-License-Identifier: MIT */
/*
 * patch/island.c - sites for functions whose first bytes have no room for a jump of 5 bytes.
 *
 * `sub $8, %rsp; call ...` is the usual case: a call cannot be displaced, because its return address
 * would lie in the stub.  A jump of 2 bytes replaces the first instruction alone.  It leads to an
 * island: 5 bytes of padding between functions, within 127 bytes, that hold the jump to the stub.
 *
 *   (1) islands are used in the order of their sites, both ascending
 *   (2) an island has no byte of a window, and no branch leads there
 *   (3) the function before it never continues into it
 */
#include "patch/internal.h"

enum { HOP_MOST = 127, HOP_BACK = 128 };

struct islands {
	struct patch_file *f;
	uint64_t used; /* islands end there */
};

static bool may_have_island(enum patch_reason r)
{
	return r == PATCH_SHORT || r == PATCH_CALL || r == PATCH_RELATIVE || r == PATCH_TARGET;
}

/* Complete instructions of at least 2 bytes. 0: there are none that can be replaced. */
static uint32_t window_of(const struct patch_file *f, const struct patch_range *r, uint64_t site)
{
	ZydisDecodedInstruction ins;
	ZydisDecoderContext context;
	struct patch_code code;
	uint64_t size;
	const uint8_t *p = patch_bytes(f, site, &size);
	uint32_t n = 0;

	while (n < PATCH_HOP_BYTES) {
		if (!p || site + n >= r->end ||
		    !patch_decode(f, p + n, r->end - site - n, &ins, &context))
			return 0;
		n += ins.length;
	}
	if (n > ABI_PLAN_ISLAND_AT || patch_displace(f, site, n, &code) ||
	    patch_check_window(f, r, site, n))
		return 0;
	for (uint32_t i = 0; i < f->n_marks; i++)
		if (f->marks[i].address >= site && f->marks[i].address < site + n)
			return 0;
	return n;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The bytes of a window over padding are taken. */
static uint64_t end_of_window(const struct patch_file *f, const struct patch_range *r)
{
	uint32_t low = 0, high = f->n_functions;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (f->functions[middle].address < r->begin)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == f->n_functions || f->functions[low].address != r->begin ||
	    f->functions[low].reason)
		return r->end;
	return later(r->end, f->functions[low].site + f->functions[low].window);
}

/* An island behind range @i, at @from or later, at most at @most.  0: none. */
static uint64_t island_behind(const struct islands *s, uint32_t i, uint64_t from, uint64_t most)
{
	const struct patch_file *f = s->f;
	const struct patch_range *r = &f->ranges[i];
	uint64_t at = later(later(end_of_window(f, r), from), s->used), end = at + PATCH_JUMP_BYTES;
	size_t t;

	if (!(r->traits & PATCH_T_ENDS) || at > most ||
	    (i + 1 < f->n_ranges && f->ranges[i + 1].begin < end) ||
	    !patch_is_padding(f, r->end, end) || !patch_is_code(f, end - 1))
		return 0;
	t = patch_target_from(&f->targets, r->end);
	return t < f->targets.n && f->targets.at[t].address < end ? 0 : at;
}

static void find_island(struct islands *s, struct patch_function *fn)
{
	const struct patch_file *f = s->f;
	const struct patch_range *r = patch_range_at(f, fn->address);
	uint64_t after = fn->site + PATCH_HOP_BYTES, most = after + HOP_MOST;
	uint64_t from = after > HOP_BACK ? after - HOP_BACK : 0, island = 0;
	uint32_t window = window_of(f, r, fn->site), i = (uint32_t)(r - f->ranges);

	if (!window)
		return;
	while (i > 0 && f->ranges[i].begin > from)
		i--;
	for (; !island && i < f->n_ranges && f->ranges[i].end <= most; i++)
		island = island_behind(s, i, from, most);
	if (!island)
		return;
	s->used = island + PATCH_JUMP_BYTES;
	fn->island = (int8_t)(island - after);
	fn->window = (uint8_t)window;
	fn->kind = ABI_SITE_ISLAND;
	fn->reason = PATCH_PATCHABLE;
}

void patch_find_islands(struct patch_file *f)
{
	struct islands s = { .f = f };

	for (uint32_t i = 0; i < f->n_functions; i++) {
		struct patch_function *fn = &f->functions[i];

		if (fn->site && may_have_island(fn->reason))
			find_island(&s, fn);
		if (fn->reason) {
			fn->site = 0;
			fn->kind = fn->window = 0;
			fn->stack_bytes = 0;
		}
	}
}
