/* SPDX-License-Identifier: MIT */
/*
 * patch/code.c - sections of the file, targets of branches, and pointers to code in data.
 *
 * A pointer in data may be an entry of a jump table, or the address of a label.  So whatever could
 * be a pointer to code counts as a target: relocations, and in programs at fixed addresses every
 * aligned word of data.
 */
#include "patch/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *patch_grow(struct patch_file *f, void *array, size_t *capacity, size_t n, size_t size)
{
	size_t more = *capacity ? *capacity * 2 : 64;
	void *grown;

	if (n < *capacity)
		return array;
	grown = more > *capacity && more < SIZE_MAX / size ? realloc(array, more * size) : NULL;
	if (!grown) {
		f->failed = true;
		return array;
	}
	*capacity = more;
	return grown;
}

/* ---------------------------------------------------------------- sections */

static int add_section(struct patch_file *f, Elf_Scn *scn, const GElf_Shdr *h, const char *name)
{
	struct patch_section *s = &f->sections[f->n_sections];
	Elf_Data *data = h->sh_type == SHT_NOBITS ? NULL : elf_rawdata(scn, NULL);

	*s = (struct patch_section){
		.address = h->sh_addr,
		.size = h->sh_size,
		.bytes = data && data->d_buf && data->d_size >= h->sh_size ? data->d_buf : NULL,
		.is_code = h->sh_flags & SHF_EXECINSTR,
		.is_plt = !strncmp(name, ".plt", 4) || !strncmp(name, ".iplt", 5),
	};
	if (h->sh_addr + h->sh_size < h->sh_addr)
		return -ENOEXEC;
	f->n_sections++;
	return 0;
}

int patch_read_sections(struct patch_file *f, struct diag *d)
{
	Elf *elf = f->elf.elf;
	Elf_Scn *scn = NULL;
	size_t strings;
	GElf_Shdr h;

	if (elf_getshdrstrndx(elf, &strings))
		return diag_fail(d, -ENOEXEC, "%s: has no section headers", f->path);
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, &h) || !(h.sh_flags & SHF_ALLOC) || !h.sh_size ||
		    (h.sh_flags & SHF_TLS))
			continue;
		name = elf_strptr(elf, strings, h.sh_name);
		if (f->n_sections == PATCH_SECTIONS)
			return diag_fail(d, -ENOEXEC, "%s: more than %d sections", f->path,
					 PATCH_SECTIONS);
		if (add_section(f, scn, &h, name ? name : ""))
			return diag_fail(d, -ENOEXEC, "%s: a section is outside of all addresses",
					 f->path);
		if (name && !strcmp(name, ".eh_frame")) {
			f->cfi = elf_rawdata(scn, NULL);
			f->cfi_address = h.sh_addr;
		}
	}
	return 0;
}

const struct patch_section *patch_section_at(const struct patch_file *f, uint64_t address)
{
	for (int i = 0; i < f->n_sections; i++)
		if (address >= f->sections[i].address &&
		    address - f->sections[i].address < f->sections[i].size)
			return &f->sections[i];
	return NULL;
}

const uint8_t *patch_bytes(const struct patch_file *f, uint64_t address, uint64_t *size)
{
	const struct patch_section *s = patch_section_at(f, address);

	*size = 0;
	if (!s || !s->bytes)
		return NULL;
	*size = s->size - (address - s->address);
	return s->bytes + (address - s->address);
}

bool patch_is_code(const struct patch_file *f, uint64_t address)
{
	const struct patch_section *s = patch_section_at(f, address);

	return s && s->is_code;
}

/* ---------------------------------------------------------------- targets */

void patch_add_target(struct patch_file *f, uint64_t address, uint32_t from,
		      enum patch_target_kind kind)
{
	struct patch_targets *t = &f->targets;

	t->at = patch_grow(f, t->at, &t->capacity, t->n, sizeof *t->at);
	if (!f->failed)
		t->at[t->n++] = (struct patch_target){ address, from, kind };
}

static int compare_targets(const void *a, const void *b)
{
	const struct patch_target *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

void patch_sort_targets(struct patch_targets *t)
{
	size_t n = 0;

	if (t->n)
		qsort(t->at, t->n, sizeof *t->at, compare_targets);
	for (size_t i = 0; i < t->n; i++)
		if (!i || compare_targets(&t->at[i], &t->at[i - 1]))
			t->at[n++] = t->at[i];
	t->n = n;
}

size_t patch_target_from(const struct patch_targets *t, uint64_t address)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->at[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---------------------------------------------------------------- pointers */

static int compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void add_slot(struct patch_file *f, uint64_t slot, size_t *capacity)
{
	f->near_slots =
		patch_grow(f, f->near_slots, capacity, f->n_near_slots, sizeof *f->near_slots);
	if (!f->failed)
		f->near_slots[f->n_near_slots++] = slot;
}

/* Each rseq_cs has three addresses: version and flags, start, length, abort. */
static void add_restartable(struct patch_file *f, uint64_t at, uint64_t value)
{
	static const char section[] = "__rseq_cs";
	size_t capacity = f->n_restartable;
	GElf_Shdr h;
	uint64_t *grown;

	if (!elf_file_section(f->elf.elf, section, &h) || at < h.sh_addr ||
	    at - h.sh_addr >= h.sh_size)
		return;
	grown = realloc(f->restartable, (capacity + 1) * sizeof *grown);
	if (!grown) {
		f->failed = true;
		return;
	}
	f->restartable = grown;
	f->restartable[f->n_restartable++] = value;
}

static void read_relocation(struct patch_file *f, const GElf_Rela *r, Elf_Data *symbols,
			    size_t strings, bool has_sequences, size_t *capacity)
{
	uint32_t type = GELF_R_TYPE(r->r_info);
	uint64_t value = (uint64_t)r->r_addend;
	GElf_Sym s = { 0 };

	if (GELF_R_SYM(r->r_info) && symbols &&
	    !gelf_getsym(symbols, (int)GELF_R_SYM(r->r_info), &s))
		return;
	if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) {
		const char *name = elf_strptr(f->elf.elf, strings, s.st_name);

		if (name && patch_looks_at_caller(name))
			add_slot(f, r->r_offset, capacity);
		return;
	}
	if (type == R_X86_64_64)
		value += s.st_value;
	else if (type != R_X86_64_RELATIVE)
		return;
	if (!patch_is_code(f, value))
		return;
	patch_add_target(f, value, 0, PATCH_BY_ADDRESS);
	if (has_sequences)
		add_restartable(f, r->r_offset, value);
}

static void read_relocations(struct patch_file *f)
{
	Elf *elf = f->elf.elf;
	size_t capacity = 0;
	GElf_Shdr h, other;
	Elf_Scn *scn = NULL;
	bool has_sequences = elf_file_section(elf, "__rseq_cs", &other);

	while ((scn = elf_nextscn(elf, scn)) && !f->failed) {
		Elf_Data *data, *symbols;
		Elf_Scn *table;
		size_t n;

		if (!gelf_getshdr(scn, &h) || h.sh_type != SHT_RELA || !(h.sh_flags & SHF_ALLOC) ||
		    h.sh_entsize != sizeof(Elf64_Rela) || !(data = elf_getdata(scn, NULL)))
			continue;
		table = h.sh_link ? elf_getscn(elf, h.sh_link) : NULL;
		symbols = table && gelf_getshdr(table, &other) ? elf_getdata(table, NULL) : NULL;
		n = data->d_size / sizeof(Elf64_Rela);
		for (size_t i = 0; i < n && i < INT32_MAX && !f->failed; i++) {
			GElf_Rela r;

			if (gelf_getrela(data, (int)i, &r))
				read_relocation(f, &r, symbols, symbols ? other.sh_link : 0,
						has_sequences, &capacity);
		}
	}
	if (f->n_near_slots)
		qsort(f->near_slots, f->n_near_slots, sizeof *f->near_slots, compare_addresses);
}

/* Relative relocations packed by the linker (DT_RELR): the words themselves have the addresses. */
static bool has_packed_relocations(const struct patch_file *f)
{
	GElf_Shdr h;

	return elf_file_section(f->elf.elf, ".relr.dyn", &h);
}

static void read_words(struct patch_file *f)
{
	GElf_Shdr h;
	bool has_sequences = elf_file_section(f->elf.elf, "__rseq_cs", &h);

	for (int i = 0; i < f->n_sections; i++) {
		const struct patch_section *s = &f->sections[i];
		uint64_t first = -s->address & 7;

		if (s->is_code || !s->bytes)
			continue;
		for (uint64_t at = first; at + 8 <= s->size && !f->failed; at += 8) {
			uint64_t value;

			memcpy(&value, s->bytes + at, 8);
			if (!value || !patch_is_code(f, value))
				continue;
			patch_add_target(f, value, 0, PATCH_BY_ADDRESS);
			if (has_sequences)
				add_restartable(f, s->address + at, value);
		}
	}
}

void patch_read_pointers(struct patch_file *f)
{
	read_relocations(f);
	if (f->is_fixed || has_packed_relocations(f))
		read_words(f);
}
