/* SPDX-License-Identifier: MIT */
/*
 * patch/site.c - where each function is patched, or the reason why it is not.
 *
 * Sites in order of preference: nops at the entry (-fpatchable-function-entry, -mfentry
 * -mnop-mcount), an XRay sled, a copied prologue.  Nops and sleds are known by their bytes: a nop at
 * the entry may be replaced in any case, and the sections that list them are not needed.
 */
#include "patch/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
/* jmp over a nop of 9 bytes with an operand that names XRay */
static const uint8_t sled[] = { 0xeb, 0x09, 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x02, 0x00, 0x00 };

struct at {
	const struct patch_file *f;
	const struct patch_range *range;
	const uint8_t *bytes; /* at the site */
	uint64_t size;	      /* of the function from the site on */
	uint64_t next;	      /* where the next range begins; the section's end */
};

/* ---------------------------------------------------------------- targets */

enum patch_reason patch_check_window(const struct patch_file *f, const struct patch_range *r,
				     uint64_t site, uint32_t window)
{
	const struct patch_targets *t = &f->targets;

	for (size_t i = patch_target_from(t, r->begin); i < t->n; i++) {
		const struct patch_target *a = &t->at[i];
		const struct patch_range *from = a->from ? &f->ranges[a->from - 1] : NULL;

		if (a->address >= site + window)
			break;
		if (a->address > r->begin && a->address != site)
			return PATCH_TARGET;
		if ((a->kind == PATCH_BY_JUMP || a->kind == PATCH_BY_BRANCH) && from &&
		    (from == r || (from->traits & PATCH_T_PART)))
			return PATCH_LOOP;
		if (a->kind == PATCH_BY_FLAGS)
			return PATCH_FLAGS;
	}
	return PATCH_PATCHABLE;
}

static bool has_mark(const struct patch_file *f, uint64_t site, uint32_t window)
{
	for (uint32_t i = 0; i < f->n_marks; i++)
		if (f->marks[i].address >= site && f->marks[i].address < site + window)
			return true;
	return false;
}

/* ---------------------------------------------------------------- windows */

/* Nops at the site.  0: fewer than 5 bytes. */
static uint32_t nops(const struct at *a, enum abi_site_kind *kind)
{
	ZydisDecodedInstruction ins;
	ZydisDecoderContext context;
	uint32_t window = 0;

	while (window < PATCH_JUMP_BYTES && window < a->size &&
	       patch_decode(a->f, a->bytes + window, a->size - window, &ins, &context) &&
	       ins.mnemonic == ZYDIS_MNEMONIC_NOP) {
		*kind = window ? ABI_SITE_NOPS : ABI_SITE_NOP5;
		window += ins.length;
	}
	return window >= PATCH_JUMP_BYTES && window <= ABI_PLAN_WINDOW_MAX ? window : 0;
}

bool patch_is_padding(const struct patch_file *f, uint64_t from, uint64_t to)
{
	ZydisDecodedInstruction ins;
	ZydisDecoderContext context;
	uint64_t size;
	const uint8_t *p = patch_bytes(f, from, &size);

	if (!p || to - from > size)
		return false;
	for (uint64_t at = 0; at < to - from;) {
		if (p[at] == 0xcc)
			at++;
		else if (patch_decode(f, p + at, size - at, &ins, &context) &&
			 ins.mnemonic == ZYDIS_MNEMONIC_NOP)
			at += ins.length;
		else
			return false;
	}
	return true;
}

/* Complete instructions, or all of a short function and the padding behind it. */
static enum patch_reason prologue(const struct at *a, uint64_t site, uint32_t *window)
{
	ZydisDecodedInstruction ins;
	ZydisDecoderContext context;
	struct patch_code code;
	enum patch_reason r;
	uint32_t n = 0;

	while (n < PATCH_JUMP_BYTES && n < a->size) {
		if (!patch_decode(a->f, a->bytes + n, a->size - n, &ins, &context))
			return PATCH_UNDECODED;
		n += ins.length;
	}
	if (n > ABI_PLAN_WINDOW_MAX)
		return PATCH_SHORT;
	r = patch_displace(a->f, site, n, &code);
	if (r)
		return r;
	if (n < PATCH_JUMP_BYTES) {
		if (!code.ends || site + PATCH_JUMP_BYTES > a->next ||
		    !patch_is_padding(a->f, site + n, site + PATCH_JUMP_BYTES))
			return PATCH_SHORT;
		n = PATCH_JUMP_BYTES;
	}
	*window = n;
	return PATCH_PATCHABLE;
}

static enum patch_reason find_window(const struct at *a, struct patch_function *fn)
{
	enum abi_site_kind kind = 0;
	uint32_t window = nops(a, &kind);
	enum patch_reason r;

	if (!window && a->size >= sizeof sled && !memcmp(a->bytes, sled, sizeof sled)) {
		kind = ABI_SITE_SLED;
		window = sizeof sled;
	}
	if (!window) {
		kind = ABI_SITE_PROLOGUE;
		r = prologue(a, fn->site, &window);
		if (r)
			return r;
	}
	r = patch_check_window(a->f, a->range, fn->site, window);
	if (!r && has_mark(a->f, fn->site, window))
		r = PATCH_MARKED;
	if (r)
		return r;
	fn->window = (uint8_t)window;
	fn->kind = (uint8_t)kind;
	return PATCH_PATCHABLE;
}

/* ---------------------------------------------------------------- functions */

static bool is_restartable(const struct patch_file *f, const struct patch_range *r)
{
	for (uint32_t i = 0; i < f->n_restartable; i++)
		if (f->restartable[i] >= r->begin && f->restartable[i] < r->end)
			return true;
	return false;
}

static enum patch_reason check_traits(const struct patch_range *r)
{
	static const struct {
		uint32_t trait;
		enum patch_reason reason;
	} table[] = {
		{ PATCH_T_PART, PATCH_PART },	      { PATCH_T_UNDECODED, PATCH_UNDECODED },
		{ PATCH_T_TWICE, PATCH_TWICE },	      { PATCH_T_STACK, PATCH_STACK },
		{ PATCH_T_POPS, PATCH_POPS },	      { PATCH_T_REALIGN, PATCH_REALIGN },
		{ PATCH_T_VARIADIC, PATCH_VARIADIC }, { PATCH_T_RETURN, PATCH_RETURN },
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (r->traits & table[i].trait)
			return table[i].reason;
	return r->max_arg > PATCH_STACK_MOST ? PATCH_ARGUMENTS : PATCH_PATCHABLE;
}

static enum patch_reason examine(const struct patch_file *f, const struct patch_range *r,
				 uint32_t next, struct patch_function *fn)
{
	struct at a = { .f = f, .range = r };
	const struct patch_section *section = patch_section_at(f, r->begin);
	enum patch_reason reason = f->refused ? f->refused : patch_known_reason(f, r->begin);
	uint64_t room;

	if (!reason && f->cies[r->cie].is_signal)
		reason = PATCH_SIGNAL;
	if (!reason && patch_is_resolver(f, r->begin))
		reason = PATCH_RESOLVER;
	if (!reason && is_restartable(f, r))
		reason = PATCH_RSEQ;
	if (!reason)
		reason = check_traits(r);
	if (reason)
		return reason;
	a.bytes = patch_bytes(f, r->begin, &room);
	assert(a.bytes && room >= r->end - r->begin);
	a.size = r->end - r->begin;
	a.next = section->address + section->size;
	if (next < f->n_ranges && f->ranges[next].begin < a.next)
		a.next = f->ranges[next].begin;
	fn->site = r->begin;
	if (a.size > sizeof endbr64 && !memcmp(a.bytes, endbr64, sizeof endbr64)) {
		a.bytes += sizeof endbr64;
		a.size -= sizeof endbr64;
		fn->site += sizeof endbr64;
	}
	fn->stack_bytes = (uint16_t)((r->max_arg + 15) & ~15u);
	return find_window(&a, fn);
}

static struct patch_function *add_function(struct patch_file *f, size_t *capacity, uint64_t address,
					   uint64_t size)
{
	struct patch_function *fn;

	f->functions = patch_grow(f, f->functions, capacity, f->n_functions, sizeof *f->functions);
	if (f->failed)
		return NULL;
	fn = &f->functions[f->n_functions++];
	*fn = (struct patch_function){ .address = address,
				       .size = (uint32_t)size,
				       .name = patch_name_of(f, address),
				       .flags = patch_known_flags(f, address) };
	return fn;
}

static void add_ranges(struct patch_file *f, size_t *capacity)
{
	for (uint32_t i = 0; i < f->n_ranges && !f->failed; i++) {
		const struct patch_range *r = &f->ranges[i];
		struct patch_function *fn;

		/* Parts that say so are no functions.  foo.cold may be called, too. */
		if ((r->traits & PATCH_T_PART) &&
		    (r->is_deep || patch_is_cold(patch_name_of(f, r->begin))))
			continue;
		fn = add_function(f, capacity, r->begin, r->end - r->begin);
		if (!fn)
			return;
		fn->reason = (uint8_t)examine(f, r, i + 1, fn);
	}
}

/* Functions with a name, but without unwind information. */
static void add_named(struct patch_file *f, size_t *capacity)
{
	const struct symbol_function *named;
	size_t n = symbol_functions(f->names, &named);

	for (size_t i = 0; i < n && !f->failed; i++) {
		const struct patch_range *r = patch_range_at(f, named[i].begin);
		const struct patch_section *s = patch_section_at(f, named[i].begin);
		enum patch_reason reason;
		struct patch_function *fn;

		if ((r && r->begin == named[i].begin) || !s || !s->is_code || s->is_plt ||
		    patch_is_cold(named[i].name))
			continue;
		fn = add_function(f, capacity, named[i].begin, named[i].end - named[i].begin);
		if (!fn)
			return;
		reason = f->refused ? f->refused : patch_known_reason(f, named[i].begin);
		fn->reason = (uint8_t)(reason ? reason : PATCH_NO_UNWIND);
	}
}

static int compare_functions(const void *a, const void *b)
{
	const struct patch_function *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* Windows over padding may not meet the next function's. */
static void check_order(const struct patch_file *f)
{
	for (uint32_t i = 0, last = 0; i < f->n_functions; i++) {
		if (f->functions[i].reason)
			continue;
		assert(!i || last == i ||
		       f->functions[last].site + f->functions[last].window <= f->functions[i].site);
		last = i;
	}
}

int patch_find_functions(struct patch_file *f, struct diag *d)
{
	size_t capacity = 0;

	add_ranges(f, &capacity);
	add_named(f, &capacity);
	if (f->failed)
		return diag_fail(d, -ENOMEM, "%s: no memory for its functions", f->path);
	if (f->n_functions)
		qsort(f->functions, f->n_functions, sizeof *f->functions, compare_functions);
	patch_find_islands(f);
	check_order(f);
	return 0;
}
