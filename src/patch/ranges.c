/* SPDX-License-Identifier: MIT */
/*
 * patch/ranges.c - the ranges of .eh_frame: bounds of functions that also stripped files have.
 *
 * elfutils walks the section and checks its entries.  Addresses in entries are decoded
 * here, because libdw offers that only by address, one question at a time.
 */
#include "patch/internal.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool patch_uleb(const uint8_t **p, const uint8_t *end, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
		uint8_t b = *(*p)++;

		*value |= (uint64_t)(b & 127) << shift;
		if (!(b & 128))
			return true;
	}
	return false;
}

bool patch_sleb(const uint8_t **p, const uint8_t *end, int64_t *value)
{
	uint64_t bits = 0;

	for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
		uint8_t b = *(*p)++;

		bits |= (uint64_t)(b & 127) << shift;
		if (b & 128)
			continue;
		if ((b & 64) && shift + 7 < 64)
			bits |= ~0ull << (shift + 7);
		*value = (int64_t)bits;
		return true;
	}
	return false;
}

static bool take(const uint8_t **p, const uint8_t *end, void *to, size_t size)
{
	if ((size_t)(end - *p) < size)
		return false;
	memcpy(to, *p, size);
	*p += size;
	return true;
}

bool patch_encoded(const struct patch_file *f, uint8_t encoding, const uint8_t **p,
		   const uint8_t *end, uint64_t *value)
{
	const uint8_t *at = *p;
	uint16_t u16 = 0;
	uint32_t u32 = 0;
	int64_t s64 = 0;

	*value = 0;
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		if (!take(p, end, value, 8))
			return false;
		break;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		if (!take(p, end, &u16, 2))
			return false;
		*value = encoding & DW_EH_PE_signed ? (uint64_t)(int16_t)u16 : u16;
		break;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		if (!take(p, end, &u32, 4))
			return false;
		*value = encoding & DW_EH_PE_signed ? (uint64_t)(int32_t)u32 : u32;
		break;
	case DW_EH_PE_uleb128:
		return !(encoding & 0x70) && patch_uleb(p, end, value);
	case DW_EH_PE_sleb128:
		if ((encoding & 0x70) || !patch_sleb(p, end, &s64))
			return false;
		*value = (uint64_t)s64;
		break;
	default:
		return false;
	}
	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		*value += f->cfi_address + (uint64_t)(at - (const uint8_t *)f->cfi->d_buf);
	else if (encoding & 0x70)
		return false;
	return !(encoding & DW_EH_PE_indirect);
}

/* ---------------------------------------------------------------- CIEs */

/* "zPLR": a size, a personality, encodings of the LSDA and of addresses. */
static void read_augmentation(const struct patch_file *f, const Dwarf_CIE *from,
			      struct patch_cie *c)
{
	const uint8_t *p = from->augmentation_data;
	const uint8_t *end = p ? p + from->augmentation_data_size : NULL;
	uint64_t unused;
	uint8_t encoding = 0;

	c->encoding = DW_EH_PE_absptr;
	c->is_known = true;
	for (const char *a = from->augmentation; *a && c->is_known; a++) {
		if (*a == 'z' && a == from->augmentation)
			c->has_size = true;
		else if (*a == 'S')
			c->is_signal = true;
		else if (*a == 'R')
			c->is_known = p && take(&p, end, &c->encoding, 1);
		else if (*a == 'L')
			c->is_known = p && take(&p, end, &encoding, 1);
		else if (*a == 'P') /* only its size matters */
			c->is_known = p && take(&p, end, &encoding, 1) &&
				      patch_encoded(f, encoding & 0x0f, &p, end, &unused);
		else
			c->is_known = false;
	}
	c->is_known = c->is_known && (c->has_size || !*from->augmentation);
}

static struct patch_cie *add_cie(struct patch_file *f, const Dwarf_CIE *from, uint64_t offset,
				 size_t *capacity)
{
	struct patch_cie *c;

	f->cies = patch_grow(f, f->cies, capacity, f->n_cies, sizeof *f->cies);
	if (f->failed)
		return NULL;
	c = &f->cies[f->n_cies++];
	*c = (struct patch_cie){ .offset = offset,
				 .initial = from->initial_instructions,
				 .initial_end = from->initial_instructions_end,
				 .code_align = from->code_alignment_factor,
				 .data_align = from->data_alignment_factor };
	read_augmentation(f, from, c);
	return c;
}

/* ---------------------------------------------------------------- FDEs */

static int64_t find_cie(const struct patch_file *f, uint64_t offset)
{
	for (uint32_t i = f->n_cies; i-- > 0;)
		if (f->cies[i].offset == offset)
			return i;
	return -1;
}

static void add_fde(struct patch_file *f, const Dwarf_FDE *from, size_t *capacity)
{
	int64_t cie = find_cie(f, from->CIE_pointer);
	const uint8_t *p = from->start, *base = f->cfi->d_buf;
	uint64_t begin, size;

	if (cie < 0 || !f->cies[cie].is_known ||
	    !patch_encoded(f, f->cies[cie].encoding, &p, from->end, &begin) ||
	    !patch_encoded(f, f->cies[cie].encoding & 0x0f, &p, from->end, &size) || !size ||
	    begin + size < begin || size > UINT32_MAX)
		return;
	f->ranges = patch_grow(f, f->ranges, capacity, f->n_ranges, sizeof *f->ranges);
	if (!f->failed)
		f->ranges[f->n_ranges++] = (struct patch_range){
			.begin = begin,
			.end = begin + size,
			.cie = (uint32_t)cie,
			.fde = (uint32_t)(from->start - base),
			.fde_end = (uint32_t)(from->end - base),
		};
}

static int compare_ranges(const void *a, const void *b)
{
	const struct patch_range *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end;
}

/* Only ranges of code, ascending; none reaches into the next one. */
static void order(struct patch_file *f)
{
	uint32_t n = 0;

	if (f->n_ranges)
		qsort(f->ranges, f->n_ranges, sizeof *f->ranges, compare_ranges);
	for (uint32_t i = 0; i < f->n_ranges; i++) {
		struct patch_range r = f->ranges[i];
		const struct patch_section *s = patch_section_at(f, r.begin);

		if (!s || !s->is_code || s->is_plt || !s->bytes ||
		    (n && f->ranges[n - 1].begin == r.begin))
			continue;
		if (r.end - s->address > s->size)
			r.end = s->address + s->size;
		if (n && f->ranges[n - 1].end > r.begin)
			f->ranges[n - 1].end = r.begin;
		f->ranges[n++] = r;
	}
	f->n_ranges = n;
}

int patch_read_ranges(struct patch_file *f, struct diag *d)
{
	const unsigned char *ident = (const unsigned char *)elf_getident(f->elf.elf, NULL);
	size_t cies = 0, ranges = 0;
	Dwarf_Off at = 0, next;
	Dwarf_CFI_Entry entry;
	int result;

	if (!f->cfi || !f->cfi->d_buf || f->cfi->d_size > UINT32_MAX)
		return 0;
	while (!f->failed &&
	       (result = dwarf_next_cfi(ident, f->cfi, true, at, &next, &entry)) != 1) {
		/* A damaged entry: the next one is found if its length was read. */
		if (next <= at || next == (Dwarf_Off)-1)
			break;
		if (!result && entry.CIE_id == DW_CIE_ID_64)
			add_cie(f, &entry.cie, at, &cies);
		else if (!result)
			add_fde(f, &entry.fde, &ranges);
		at = next;
	}
	if (f->failed)
		return diag_fail(d, -ENOMEM, "%s: no memory for its functions", f->path);
	order(f);
	return 0;
}

struct patch_range *patch_range_at(const struct patch_file *f, uint64_t address)
{
	uint32_t low = 0, high = f->n_ranges;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (f->ranges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < f->n_ranges && f->ranges[low].begin <= address ? &f->ranges[low] : NULL;
}

bool patch_fde_program(const struct patch_file *f, const struct patch_range *r, const uint8_t **p,
		       const uint8_t **end)
{
	const struct patch_cie *c = &f->cies[r->cie];
	const uint8_t *base = f->cfi->d_buf;
	uint64_t unused, size;

	*p = base + r->fde;
	*end = base + r->fde_end;
	if (!patch_encoded(f, c->encoding, p, *end, &unused) ||
	    !patch_encoded(f, c->encoding & 0x0f, p, *end, &unused))
		return false;
	if (!c->has_size)
		return true;
	if (!patch_uleb(p, *end, &size) || size > (uint64_t)(*end - *p))
		return false;
	*p += size;
	return true;
}
