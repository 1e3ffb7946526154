/* SPDX-License-Identifier: MIT */
/* elf/probe_points.c - list functions from the symbol tables, and USDT markers from .note.stapsdt. */
#include "elf/probe_points.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules/pattern.h"
#include "elf/file.h"

enum { NT_STAPSDT = 3 };

/* ---------------------------------------------------------------- C++ names */

typedef char *demangle_function(const char *name, char *buffer, size_t *size, int *status);

/* From libstdc++, if a C++ program installed it; duet itself does not need it. */
static demangle_function *find_demangler(void)
{
	static demangle_function *found;
	static bool is_resolved;
	void *library;

	if (is_resolved)
		return found;
	is_resolved = true;
	library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	if (library)
		*(void **)&found = dlsym(library, "__cxa_demangle");
	return found;
}

/* The caller frees the result; NULL: it is no name of C++. */
static char *demangle(const char *name)
{
	demangle_function *f = strncmp(name, "_Z", 2) ? NULL : find_demangler();
	int status = 0;

	return f ? f(name, NULL, NULL, &status) : NULL;
}

static bool matches(const char *pattern, const char *name, size_t size)
{
	return pattern_glob(pattern, pattern + strlen(pattern), name, name + size);
}

/* The size of "ns::operator()(int) const" up to the parenthesis that the last one closes. */
static size_t size_without_parameters(const char *written)
{
	const char *end = strrchr(written, ')');
	int depth = 0;

	for (const char *p = end; p && p >= written; p--) {
		depth += (*p == ')') - (*p == '(');
		if (!depth)
			return (size_t)(p - written);
	}
	return strlen(written);
}

_Bool elf_function_is(const struct elf_function *f, const char *pattern)
{
	if (matches(pattern, f->name, strlen(f->name)))
		return true;
	return f->written && (matches(pattern, f->written, strlen(f->written)) ||
			      matches(pattern, f->written, size_without_parameters(f->written)));
}

/* ---------------------------------------------------------------- functions */

static int open_elf(struct elf_file *f, const char *path, struct diag *d)
{
	if (elf_file_open(f, path))
		return 0;
	return diag_fail(d, -ENOEXEC, "%s: cannot be read, or is no ELF file", path);
}

/* Drops the version: "malloc@@GLIBC_2.2.5" is malloc. */
static int visit_function(const struct elf_file *f, const char *name, uint64_t address,
			  int (*visit)(void *arg, const struct elf_function *f), void *arg)
{
	char *plain = strndup(name, strcspn(name, "@")), *written = plain ? demangle(plain) : NULL;
	struct elf_function found = { .name = plain, .written = written };
	int result = plain ? 0 : -ENOMEM;

	if (plain && elf_file_offset(f, address, &found.offset))
		result = visit(arg, &found);
	free(plain);
	free(written);
	return result;
}

static int visit_table(const struct elf_file *f, uint32_t type,
		       int (*visit)(void *arg, const struct elf_function *f), void *arg,
		       int *n_found)
{
	GElf_Shdr h;
	Elf_Scn *scn = elf_file_table(f->elf, type, &h);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	size_t n = data && h.sh_entsize ? data->d_size / h.sh_entsize : 0;
	int result = 0;

	for (size_t i = 0; i < n && i < INT32_MAX && !result; i++) {
		const char *name;
		GElf_Sym s;

		if (!gelf_getsym(data, (int)i, &s) || !elf_is_function(&s))
			continue;
		name = elf_strptr(f->elf, h.sh_link, s.st_name);
		if (!name || !*name)
			continue;
		++*n_found;
		result = visit_function(f, name, s.st_value, visit, arg);
	}
	return result;
}

int elf_functions(const char *path, int (*visit)(void *arg, const struct elf_function *f),
		  void *arg, struct diag *d)
{
	struct elf_file f;
	int err = open_elf(&f, path, d), n = 0;

	if (err)
		return err;
	err = visit_table(&f, SHT_SYMTAB, visit, arg, &n);
	if (!err && !n) /* stripped: use the exported functions */
		err = visit_table(&f, SHT_DYNSYM, visit, arg, &n);
	elf_file_close(&f);
	return err;
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
	data = scn ? elf_getdata(scn, NULL) : NULL;
	if (data)
		err = visit_notes(&f, data,
				  elf_file_section(f.elf, ".stapsdt.base", &base) ? base.sh_addr
										  : 0,
				  visit, arg);
	elf_file_close(&f);
	return err;
}
