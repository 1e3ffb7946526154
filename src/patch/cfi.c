/* SPDX-License-Identifier: MIT */
/*
 * patch/cfi.c - where the canonical frame address (CFA) is, at each instruction of a range.
 *
 * Only the CFA is followed; rules of registers are skipped.  The CFA lies 8 bytes above the return
 * address, so stack arguments begin there.  A CFA that is given by an expression is not known.
 */
#include "patch/internal.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { REMEMBERED = 32 };

struct machine {
	struct patch_file *f;
	const struct patch_cie *cie;
	struct patch_row now;
	struct patch_row remembered[REMEMBERED];
	unsigned n_remembered;
	bool is_initial; /* the CIE's instructions */
};

/* DWARF's numbers of registers, as the processor has them. */
static uint8_t processor_register(uint64_t dwarf)
{
	static const uint8_t low[] = { 0, 2, 1, 3, 6, 7, 5, 4 };

	return dwarf < 8 ? low[dwarf] : dwarf < 16 ? (uint8_t)dwarf : 0xff;
}

static bool emit(struct machine *m)
{
	struct patch_file *f = m->f;

	if (f->n_rows && f->rows[f->n_rows - 1].address == m->now.address) {
		f->rows[f->n_rows - 1] = m->now;
		return true;
	}
	if (f->n_rows == PATCH_ROWS_MOST)
		return false;
	if (f->n_rows == f->rows_capacity)
		f->rows = patch_grow(f, f->rows, &f->rows_capacity, f->n_rows, sizeof *f->rows);
	if (f->failed)
		return false;
	f->rows[f->n_rows++] = m->now;
	return true;
}

static bool advance(struct machine *m, uint64_t delta)
{
	if (m->is_initial || delta > UINT32_MAX || m->cie->code_align > 16 || !emit(m))
		return false;
	m->now.address += delta * m->cie->code_align;
	return true;
}

static bool define(struct machine *m, uint64_t reg, int64_t offset)
{
	m->now.reg = processor_register(reg);
	m->now.offset = offset;
	m->now.is_known = m->now.reg != 0xff;
	return true;
}

static bool skip_block(const uint8_t **p, const uint8_t *end)
{
	uint64_t size;

	if (!patch_uleb(p, end, &size) || size > (uint64_t)(end - *p))
		return false;
	*p += size;
	return true;
}

static bool skip_numbers(const uint8_t **p, const uint8_t *end, unsigned n)
{
	uint64_t unused;

	for (; n; n--)
		if (!patch_uleb(p, end, &unused))
			return false;
	return true;
}

static bool remember(struct machine *m)
{
	if (m->n_remembered == REMEMBERED)
		return false;
	m->remembered[m->n_remembered++] = m->now;
	return true;
}

/* The state that was remembered, here. */
static bool restore(struct machine *m)
{
	uint64_t address = m->now.address;

	if (!m->n_remembered)
		return false;
	m->now = m->remembered[--m->n_remembered];
	m->now.address = address;
	return true;
}

static bool take_advance(struct machine *m, const uint8_t **p, const uint8_t *end, size_t size)
{
	uint64_t delta = 0;

	if ((size_t)(end - *p) < size)
		return false;
	memcpy(&delta, *p, size);
	*p += size;
	return advance(m, delta);
}

static bool extended(struct machine *m, uint8_t op, const uint8_t **p, const uint8_t *end)
{
	uint64_t a, b;
	int64_t s;

	switch (op) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_set_loc:
		if (m->is_initial || !patch_encoded(m->f, m->cie->encoding, p, end, &a) ||
		    a < m->now.address || !emit(m))
			return false;
		m->now.address = a;
		return true;
	case DW_CFA_advance_loc1:
		return take_advance(m, p, end, 1);
	case DW_CFA_advance_loc2:
		return take_advance(m, p, end, 2);
	case DW_CFA_advance_loc4:
		return take_advance(m, p, end, 4);
	case DW_CFA_def_cfa:
		return patch_uleb(p, end, &a) && patch_uleb(p, end, &b) && b <= INT32_MAX &&
		       define(m, a, (int64_t)b);
	case DW_CFA_def_cfa_sf:
		return patch_uleb(p, end, &a) && patch_sleb(p, end, &s) && s == (int32_t)s &&
		       m->cie->data_align == (int8_t)m->cie->data_align &&
		       define(m, a, s * m->cie->data_align);
	case DW_CFA_def_cfa_register:
		if (!patch_uleb(p, end, &a))
			return false;
		m->now.reg = processor_register(a);
		m->now.is_known = m->now.is_known && m->now.reg != 0xff;
		return true;
	case DW_CFA_def_cfa_offset:
		if (!patch_uleb(p, end, &a) || a > INT32_MAX)
			return false;
		m->now.offset = (int64_t)a;
		return true;
	case DW_CFA_def_cfa_offset_sf:
		if (!patch_sleb(p, end, &s) || s != (int32_t)s ||
		    m->cie->data_align != (int8_t)m->cie->data_align)
			return false;
		m->now.offset = s * m->cie->data_align;
		return true;
	case DW_CFA_def_cfa_expression:
		m->now.is_known = false;
		return skip_block(p, end);
	case DW_CFA_remember_state:
		return remember(m);
	case DW_CFA_restore_state:
		return restore(m);
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_GNU_args_size:
		return skip_numbers(p, end, 1);
	case DW_CFA_offset_extended:
	case DW_CFA_register:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
	case DW_CFA_GNU_negative_offset_extended:
		return skip_numbers(p, end, 2);
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		return skip_numbers(p, end, 1) && skip_block(p, end);
	default:
		return false;
	}
}

static bool execute(struct machine *m, const uint8_t *p, const uint8_t *end)
{
	while (p < end) {
		uint8_t op = *p++;
		bool good;

		switch (op & 0xc0) {
		case DW_CFA_advance_loc:
			good = advance(m, op & 0x3f);
			break;
		case DW_CFA_offset:
			good = skip_numbers(&p, end, 1);
			break;
		case DW_CFA_restore:
			good = true;
			break;
		default:
			good = extended(m, op, &p, end);
		}
		if (!good)
			return false;
	}
	return true;
}

bool patch_read_rows(struct patch_file *f, const struct patch_range *r)
{
	struct machine m = {
		.f = f, .cie = &f->cies[r->cie], .now = { .address = r->begin }, .is_initial = true
	};
	const uint8_t *p, *end;

	f->n_rows = 0;
	if (!m.cie->initial || !execute(&m, m.cie->initial, m.cie->initial_end) ||
	    !patch_fde_program(f, r, &p, &end))
		return false;
	m.is_initial = false;
	return execute(&m, p, end) && emit(&m);
}
