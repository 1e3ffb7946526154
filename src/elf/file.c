/* SPDX-License-Identifier: MIT */
/*
 * elf/file.c - open ELF files with libelf, find sections in them, and convert addresses to offsets.
 */
#include "elf/file.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void elf_file_close(struct elf_file *f)
{
	if (f->elf)
		elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct elf_file){ .fd = -1 };
}

bool elf_file_open(struct elf_file *f, const char *path)
{
	struct stat s;

	*f = (struct elf_file){ .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
	if (f->fd < 0 || fstat(f->fd, &s) || !S_ISREG(s.st_mode)) {
		elf_file_close(f);
		return false;
	}
	elf_version(EV_CURRENT);
	f->elf = elf_begin(f->fd, ELF_C_READ, NULL);
	if (f->elf && elf_kind(f->elf) == ELF_K_ELF)
		return true;
	elf_file_close(f);
	return false;
}

bool elf_file_offset(const struct elf_file *f, uint64_t address, uint64_t *offset)
{
	size_t n;
	GElf_Phdr p;

	assert(f->elf);
	if (elf_getphdrnum(f->elf, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(f->elf, (int)i, &p) && p.p_type == PT_LOAD &&
		    address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz) {
			*offset = p.p_offset + (address - p.p_vaddr);
			return true;
		}
	return false;
}

Elf_Scn *elf_file_table(Elf *elf, uint32_t type, GElf_Shdr *h)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, h) && h->sh_type == type)
			return scn;
	return NULL;
}

Elf_Scn *elf_file_section(Elf *elf, const char *name, GElf_Shdr *h)
{
	Elf_Scn *scn = NULL;
	const char *found;
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return NULL;
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, h) && (found = elf_strptr(elf, strings, h->sh_name)) &&
		    !strcmp(found, name))
			return scn;
	return NULL;
}

Elf_Data *elf_data(Elf_Scn *scn, const GElf_Shdr *h)
{
	return scn && h->sh_type != SHT_NOBITS && h->sh_size <= ELF_PART_BYTES
		       ? elf_getdata(scn, NULL)
		       : NULL;
}

bool elf_is_function(const GElf_Sym *s)
{
	int type = GELF_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && s->st_shndx != SHN_UNDEF &&
	       s->st_value;
}
