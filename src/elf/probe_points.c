/* SPDX-License-Identifier: MIT */
/* elf/probe_points.c - list USDT markers from .note.stapsdt. */
#include "elf/probe_points.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "elf/file.h"

enum { NT_STAPSDT = 3 };

static int open_elf(struct elf_file *f, const char *path, struct diag *d)
{
	if (elf_file_open(f, path))
		return 0;
	return diag_fail(d, -ENOEXEC, "%s: cannot be read, or is no ELF file", path);
}

/* ---------------------------------------------------------------- markers */

/* The NUL-terminated text at *@p, which moves past it; NULL: it does not end. */
static const char *take_text(const char **p, const char *end)
{
	const char *text = *p, *nul = memchr(text, 0, (size_t)(end - text));

	assert(text <= end);
	*p = nul ? nul + 1 : end;
	return nul ? text : NULL;
}

/* A note has three addresses - of the marker, of .stapsdt.base at link time, of a counter or 0 -
 * and three texts. */
static int visit_note(const struct elf_file *f, const char *p, size_t size, uint64_t base,
		      int (*visit)(void *arg, const struct elf_marker *m), void *arg)
{
	const char *end = p + size;
	struct elf_marker m = { .semaphore = 0 };
	uint64_t at[3], shift;

	if (size < sizeof at)
		return 0;
	memcpy(at, p, sizeof at);
	p += sizeof at;
	m.provider = take_text(&p, end);
	m.name = take_text(&p, end);
	m.arguments = take_text(&p, end);
	shift = base ? base - at[1] : 0; /* prelink moved the file */
	if (!m.arguments || !elf_file_offset(f, at[0] + shift, &m.offset))
		return 0;
	if (at[2] && !elf_file_offset(f, at[2] + shift, &m.semaphore))
		return 0;
	return visit(arg, &m);
}

static int visit_notes(const struct elf_file *f, Elf_Data *data, uint64_t base,
		       int (*visit)(void *arg, const struct elf_marker *m), void *arg)
{
	size_t at = 0, name, desc;
	GElf_Nhdr n;
	int result = 0;

	while (!result && (at = gelf_getnote(data, at, &n, &name, &desc)) > 0) {
		const char *bytes = data->d_buf;

		if (n.n_type == NT_STAPSDT && n.n_namesz == sizeof "stapsdt" &&
		    !memcmp(bytes + name, "stapsdt", n.n_namesz))
			result = visit_note(f, bytes + desc, n.n_descsz, base, visit, arg);
	}
	return result;
}

int elf_markers(const char *path, int (*visit)(void *arg, const struct elf_marker *m), void *arg,
		struct diag *d)
{
	struct elf_file f;
	GElf_Shdr notes, base;
	Elf_Scn *scn;
	Elf_Data *data;
	int err = open_elf(&f, path, d);

	if (err)
		return err;
	if (gelf_getclass(f.elf) != ELFCLASS64) {
		elf_file_close(&f);
		return diag_fail(d, -ENOEXEC, "%s: markers of 32-bit programs are not known", path);
	}
	scn = elf_file_section(f.elf, ".note.stapsdt", &notes);
	data = elf_data(scn, &notes);
	if (data)
		err = visit_notes(&f, data,
				  elf_file_section(f.elf, ".stapsdt.base", &base) ? base.sh_addr
										  : 0,
				  visit, arg);
	elf_file_close(&f);
	return err;
}
