/* SPDX-License-Identifier: MIT */
/*
 * patch/marks.c - marks of sys/sdt.h, and for each a window that a jump can replace.
 *
 * A mark is one byte, a nop, anywhere in a function; a jump needs 5.  The window begins at the nop,
 * or else at an instruction shortly before it.  No branch may lead into it except to its first byte,
 * so all branches of the function are looked at, and its jump tables.  If that cannot be proved the
 * mark stays with the kernel's uprobes.
 */
#include "patch/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/probe_points.h"

enum {
	NOP = 0x90,
	MARKS_MOST = 1 << 16,
	ENTRY_BYTES = 24, /* a window of the function itself may lie there */
	BEFORE_MOST = 12, /* bytes by which a window may begin before its nop */
};

struct finder {
	struct patch_file *f;
	size_t capacity;
	const struct patch_range *range; /* whose targets are known */
	struct patch_targets within;
	bool is_known;
};

/* ---------------------------------------------------------------- notes */

static void parse_operands(const struct patch_file *f, struct patch_mark *m)
{
	const char *p = m->arguments;

	for (size_t size; *(p += strspn(p, " ")); p += size) {
		bool is_float;

		size = patch_operand_size(p);
		if (m->n_operands == ABI_PLAN_OPERANDS_MAX)
			return;
		if (!patch_operand(f, p, size, &m->operands[m->n_operands], &is_float)) {
			m->reason = PATCH_OPERAND;
			return;
		}
		m->floats |= (uint16_t)(is_float << m->n_operands);
		m->n_operands++;
	}
}

static int add_mark(void *arg, const struct elf_marker *from)
{
	struct finder *w = arg;
	struct patch_file *f = w->f;
	struct patch_mark *m;
	uint64_t address, semaphore = 0;

	if (!symbol_address(f->names, from->offset, &address) ||
	    (from->semaphore && !symbol_address(f->names, from->semaphore, &semaphore)))
		return 0;
	if (f->n_marks == MARKS_MOST)
		return -E2BIG;
	f->marks = patch_grow(f, f->marks, &w->capacity, f->n_marks, sizeof *f->marks);
	if (f->failed)
		return -ENOMEM;
	m = &f->marks[f->n_marks++];
	*m = (struct patch_mark){ .provider = strdup(from->provider),
				  .name = strdup(from->name),
				  .arguments = strdup(from->arguments),
				  .address = address,
				  .semaphore = semaphore };
	if (!m->provider || !m->name || !m->arguments)
		return -ENOMEM;
	parse_operands(f, m);
	return 0;
}

static int compare_marks(const void *a, const void *b)
{
	const struct patch_mark *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* ---------------------------------------------------------------- windows */

static bool is_target(const struct patch_targets *t, uint64_t from, uint64_t to)
{
	size_t i = patch_target_from(t, from);

	return i < t->n && t->at[i].address < to;
}

static bool has_other_mark(const struct patch_file *f, const struct patch_mark *m, uint64_t from,
			   uint64_t to)
{
	for (uint32_t i = 0; i < f->n_marks; i++)
		if (&f->marks[i] != m && f->marks[i].address >= from && f->marks[i].address < to)
			return true;
	return false;
}

/* Bytes of complete instructions from @start on, at least a jump's and past the nop. 0: none. */
static uint32_t window_from(const struct finder *w, const struct patch_mark *m, uint64_t start)
{
	ZydisDecodedInstruction ins;
	ZydisDecoderContext context;
	uint64_t size, end = w->range->end;
	const uint8_t *p = patch_bytes(w->f, start, &size);
	uint32_t n = 0;

	while (n < PATCH_JUMP_BYTES || start + n <= m->address) {
		if (start + n >= end || !patch_decode(w->f, p + n, end - start - n, &ins, &context))
			return 0;
		n += ins.length;
	}
	return n <= ABI_PLAN_WINDOW_MAX ? n : 0;
}

enum patch_reason patch_displace_mark(const struct patch_file *f, const struct patch_mark *m,
				      struct patch_code *code, uint8_t *lead)
{
	uint32_t before = (uint32_t)(m->address - m->site), after = m->window - before - 1;
	enum patch_reason r = PATCH_PATCHABLE;
	struct patch_code rest;

	*code = (struct patch_code){ .size = 0 };
	if (before)
		r = patch_displace(f, m->site, before, code);
	if (r || code->ends)
		return r ? r : PATCH_WINDOW;
	*lead = (uint8_t)code->size;
	rest = (struct patch_code){ .size = 0 };
	if (after)
		r = patch_displace(f, m->address + 1, after, &rest);
	if (r || code->size + rest.size > sizeof code->bytes ||
	    code->n_fixups + rest.n_fixups > PATCH_SITE_FIXUPS)
		return r ? r : PATCH_WINDOW;
	for (uint32_t i = 0; i < rest.n_fixups; i++) {
		rest.fixups[i].at = (uint16_t)(rest.fixups[i].at + code->size);
		rest.fixups[i].end = (uint16_t)(rest.fixups[i].end + code->size);
		code->fixups[code->n_fixups++] = rest.fixups[i];
	}
	memcpy(code->bytes + code->size, rest.bytes, rest.size);
	code->size += rest.size;
	code->ends = rest.ends;
	return PATCH_PATCHABLE;
}

static enum patch_reason try_window(const struct finder *w, struct patch_mark *m, uint64_t start)
{
	uint32_t n = window_from(w, m, start);
	struct patch_code code;
	enum patch_reason r;

	if (!n || is_target(&w->within, start + 1, start + n) ||
	    is_target(&w->f->targets, start + 1, start + n) ||
	    has_other_mark(w->f, m, start, start + n))
		return PATCH_WINDOW;
	m->site = start;
	m->window = (uint8_t)n;
	r = patch_displace_mark(w->f, m, &code, &m->lead);
	m->kind = r ? 0 : ABI_SITE_MARK;
	return r;
}

/* Where the instructions shortly before the nop begin; the nearest first. */
static unsigned starts_before(const struct finder *w, const struct patch_mark *m,
			      uint64_t starts[BEFORE_MOST])
{
	ZydisDecodedInstruction ins;
	ZydisDecoderContext context;
	uint64_t at = w->range->begin, size;
	const uint8_t *p = patch_bytes(w->f, at, &size);
	unsigned n = 0;

	while (p && at < m->address) {
		if (!patch_decode(w->f, p + (at - w->range->begin), m->address - at, &ins,
				  &context))
			return 0;
		if (m->address - at <= BEFORE_MOST && at - w->range->begin >= ENTRY_BYTES) {
			assert(n < BEFORE_MOST);
			memmove(starts + 1, starts, n * sizeof *starts);
			starts[0] = at;
			n++;
		}
		at += ins.length;
	}
	return at == m->address ? n : 0;
}

static enum patch_reason find_window(const struct finder *w, struct patch_mark *m)
{
	uint64_t starts[BEFORE_MOST], size;
	const uint8_t *p = patch_bytes(w->f, m->address, &size);
	enum patch_reason first;
	unsigned n;

	if (!w->is_known || !p || *p != NOP)
		return PATCH_WINDOW;
	first = try_window(w, m, m->address);
	if (!first)
		return first;
	n = starts_before(w, m, starts);
	for (unsigned i = 0; i < n; i++)
		if (!try_window(w, m, starts[i]))
			return PATCH_PATCHABLE;
	return first;
}

static void examine(struct finder *w, struct patch_mark *m)
{
	const struct patch_range *r = patch_range_at(w->f, m->address);

	if (r && r != w->range) {
		free(w->within.at);
		w->is_known = patch_scan_within(w->f, r, &w->within);
		w->range = r;
	}
	if (!m->reason && w->f->is_own)
		m->reason = PATCH_OWN;
	else if (!m->reason)
		m->reason = (uint8_t)(r ? find_window(w, m) : PATCH_NO_UNWIND);
	if (m->reason) {
		m->site = 0;
		m->window = m->kind = m->lead = 0;
	}
}

int patch_find_marks(struct patch_file *f, struct diag *d)
{
	struct finder w = { .f = f };
	int err = elf_markers(f->path, add_mark, &w, d);

	if (err == -E2BIG)
		return diag_fail(d, err, "%s: more than %d marks", f->path, MARKS_MOST);
	if (err)
		return f->failed || err == -ENOMEM
			       ? diag_fail(d, -ENOMEM, "%s: no memory for its marks", f->path)
			       : err;
	if (f->n_marks)
		qsort(f->marks, f->n_marks, sizeof *f->marks, compare_marks);
	for (uint32_t i = 0; i < f->n_marks && !f->failed; i++)
		examine(&w, &f->marks[i]);
	free(w.within.at);
	return f->failed ? diag_fail(d, -ENOMEM, "%s: no memory for its marks", f->path) : 0;
}

void patch_free_marks(struct patch_file *f)
{
	for (uint32_t i = 0; i < f->n_marks; i++) {
		free((char *)f->marks[i].provider);
		free((char *)f->marks[i].name);
		free((char *)f->marks[i].arguments);
	}
	free(f->marks);
}
