/* SPDX-License-Identifier: MIT */
/* elf/build_id.c - find the note that holds a file's build ID. */
#include "elf/build_id.h"

#include <stdio.h>
#include <string.h>

#include "elf/file.h"

static bool note_id(Elf_Data *data, char *hex)
{
	size_t at = 0, name, desc;
	GElf_Nhdr n;

	while (data && (at = gelf_getnote(data, at, &n, &name, &desc)) > 0) {
		const unsigned char *id = (const unsigned char *)data->d_buf + desc;

		if (n.n_type != NT_GNU_BUILD_ID || n.n_namesz != 4 ||
		    memcmp((char *)data->d_buf + name, "GNU", 4) || !n.n_descsz ||
		    n.n_descsz > (ELF_BUILD_ID_HEX - 1) / 2)
			continue;
		for (size_t i = 0; i < n.n_descsz; i++)
			snprintf(hex + 2 * i, 3, "%02x", id[i]);
		return true;
	}
	return false;
}

static bool id_in_sections(Elf *elf, char *hex)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr h;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &h) && h.sh_type == SHT_NOTE &&
		    note_id(elf_data(scn, &h), hex))
			return true;
	return false;
}

static bool id_in_segments(Elf *elf, char *hex)
{
	size_t n;
	GElf_Phdr p;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_NOTE &&
		    p.p_filesz <= ELF_PART_BYTES &&
		    note_id(elf_getdata_rawchunk(elf, (int64_t)p.p_offset, p.p_filesz,
						 p.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR),
			    hex))
			return true;
	return false;
}

bool elf_build_id_of(Elf *elf, char hex[ELF_BUILD_ID_HEX])
{
	hex[0] = 0;
	return id_in_sections(elf, hex) || id_in_segments(elf, hex);
}

bool elf_build_id(const char *path, char hex[ELF_BUILD_ID_HEX])
{
	struct elf_file f;
	bool has;

	hex[0] = 0;
	if (!elf_file_open(&f, path))
		return false;
	has = elf_build_id_of(f.elf, hex);
	elf_file_close(&f);
	return has;
}
