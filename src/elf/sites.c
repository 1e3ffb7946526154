/* SPDX-License-Identifier: MIT */
/* elf/sites.c - read the records of section duet_sites, after applying the file's relocations. */
#include "elf/sites.h"

#include <assert.h>
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/program.h"
#define DUET_I_LAYOUT_ONLY
#include "duet/site.h"

struct file {
	Elf *elf;
	uint64_t address, size; /* of duet_sites */
	unsigned char *records; /* a copy, relocated */
};

/* The bytes at address @at up to the end of their section; NULL if no section has them. */
/* Read-only data of a large program; libelf allocates all of a section: elf/file.h. */
enum { SECTION_BYTES = 256 << 20 };

static const char *bytes_at(Elf *elf, uint64_t at, size_t *size)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr h;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &h) || !(h.sh_flags & SHF_ALLOC) ||
		    h.sh_type == SHT_NOBITS || at < h.sh_addr || at - h.sh_addr >= h.sh_size)
			continue;
		data = h.sh_size <= SECTION_BYTES ? elf_getdata(scn, NULL) : NULL;
		if (!data || !data->d_buf || at - h.sh_addr >= data->d_size)
			return NULL;
		*size = data->d_size - (at - h.sh_addr);
		return (const char *)data->d_buf + (at - h.sh_addr);
	}
	return NULL;
}

static const char *string_at(Elf *elf, uint64_t at)
{
	size_t size;
	const char *s = bytes_at(elf, at, &size);

	return s && memchr(s, 0, size) ? s : NULL;
}

/* A relative relocation stores its addend; one against a local symbol, symbol + addend. */
static void apply(struct file *f, const GElf_Rela *r)
{
	uint64_t value = (uint64_t)r->r_addend;

	assert(f->size >= sizeof value);
	if (r->r_offset < f->address || r->r_offset - f->address > f->size - sizeof value ||
	    GELF_R_SYM(r->r_info))
		return;
	memcpy(f->records + (r->r_offset - f->address), &value, sizeof value);
}

static void apply_all(struct file *f)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(f->elf, scn))) {
		GElf_Shdr h;
		Elf_Data *data;
		GElf_Rela r;

		if (!gelf_getshdr(scn, &h) || h.sh_type != SHT_RELA || !h.sh_entsize)
			continue;
		data = h.sh_size <= SECTION_BYTES ? elf_getdata(scn, NULL) : NULL;
		for (size_t i = 0; data && i < h.sh_size / h.sh_entsize; i++)
			if (gelf_getrela(data, (int)i, &r))
				apply(f, &r);
	}
}

static bool find_records(struct file *f)
{
	size_t names, size;
	Elf_Scn *scn = NULL;
	GElf_Shdr h;

	if (elf_getshdrstrndx(f->elf, &names))
		return false;
	while ((scn = elf_nextscn(f->elf, scn))) {
		const char *name =
			gelf_getshdr(scn, &h) ? elf_strptr(f->elf, names, h.sh_name) : NULL;
		const char *bytes;

		if (!name || strcmp(name, "duet_sites"))
			continue;
		bytes = bytes_at(f->elf, h.sh_addr, &size);
		if (!bytes || size < sizeof(struct duet_i_site))
			return false;
		f->address = h.sh_addr;
		f->size = size;
		f->records = malloc(size);
		if (f->records)
			memcpy(f->records, bytes, size);
		return f->records;
	}
	return false;
}

static int visit_records(struct file *f, void (*visit)(void *, const struct elf_site *), void *arg)
{
	int n = 0;

	for (uint64_t at = 0; f->size - at >= sizeof(struct duet_i_site);
	     at += sizeof(struct duet_i_site)) {
		struct duet_i_site raw;
		struct elf_site s;

		memcpy(&raw, f->records + at, sizeof raw);
		s = (struct elf_site){ string_at(f->elf, (uintptr_t)raw.name),
				       string_at(f->elf, (uintptr_t)raw.schema), raw.kind,
				       raw.level };
		if (!s.name || !s.schema)
			continue;
		visit(arg, &s);
		n++;
	}
	return n;
}

int elf_sites(const char *path, void (*visit)(void *arg, const struct elf_site *s), void *arg,
	      struct diag *d)
{
	struct file f = { 0 };
	int fd = elf_program_open(path, d), n = 0;

	if (fd < 0)
		return fd;
	elf_version(EV_CURRENT);
	f.elf = elf_begin(fd, ELF_C_READ, NULL); /* not mapped: elf/file.h */
	if (!f.elf || elf_kind(f.elf) != ELF_K_ELF || gelf_getclass(f.elf) != ELFCLASS64) {
		n = diag_fail(d, -ENOEXEC, "%s is not a 64-bit program or library", path);
	} else if (find_records(&f)) {
		apply_all(&f);
		n = visit_records(&f, visit, arg);
	}
	free(f.records);
	if (f.elf)
		elf_end(f.elf);
	close(fd);
	return n;
}
