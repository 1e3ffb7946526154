/* SPDX-License-Identifier: MIT */
/*
 * patch/names.c - names of functions, and facts known by a name alone.
 *
 * Some functions of the C library break the rules of calls: they return twice, switch stacks, or
 * look at their caller's address.  Most of them are found by their code, too; the names here make
 * sure, also for a later version of the library.
 */
#include "patch/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const twice[] = {
	"setjmp",      "_setjmp",      "__setjmp",    "sigsetjmp",     "_sigsetjmp",
	"__sigsetjmp", "savectx",      "vfork",	      "__vfork",       "__libc_vfork",
	"getcontext",  "__getcontext", "swapcontext", "__swapcontext",
};
static const char *const start[] = {
	"_start",	"_init",	   "_fini",	"clone",	  "__clone",
	"clone2",	"__clone2",	   "clone3",	"__clone3",	  "setcontext",
	"__setcontext", "__start_context", "_dl_start", "_dl_start_user",
};
static const char *const signals[] = { "__restore_rt", "restore_rt", "__restore" };
static const char *const callers[] = {
	"dlopen", "dlmopen", "dlsym",	   "dlvsym",	  "__libc_dlopen_mode",
	"mcount", "_mcount", "__fentry__", "__morestack",
};
static const char *const jumps[] = {
	"longjmp", "_longjmp", "siglongjmp", "__libc_longjmp", "__libc_siglongjmp", "__longjmp_chk",
};
/* dlopen looks at its caller; it calls _dl_catch_error, as dlsym does. */
static const char *const loads[] = { "dlopen", "dlclose", "dlmopen", "_dl_catch_error" };

static bool is_in(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

#define IS_IN(names, name) is_in(names, sizeof names / sizeof *names, name)

bool patch_looks_at_caller(const char *name)
{
	return IS_IN(callers, name) || IS_IN(twice, name);
}

bool patch_is_cold(const char *name)
{
	const char *p = strstr(name, ".cold");

	return p && (!p[5] || p[5] == '.');
}

static enum patch_reason reason_of(const char *name)
{
	if (IS_IN(twice, name))
		return PATCH_TWICE;
	if (IS_IN(start, name))
		return PATCH_START;
	if (IS_IN(signals, name))
		return PATCH_SIGNAL;
	return IS_IN(callers, name) ? PATCH_RETURN : PATCH_PATCHABLE;
}

static uint32_t flags_of(const char *name)
{
	return (IS_IN(jumps, name) ? ABI_SITE_LONGJMP : 0) |
	       (IS_IN(loads, name) ? ABI_SITE_DLOPEN : 0);
}

enum patch_reason patch_known_reason(const struct patch_file *f, uint64_t address)
{
	const struct symbol_function *s = patch_named(f, address);
	enum patch_reason r = PATCH_PATCHABLE;
	uint32_t n;
	const struct patch_export *e = patch_exports(f, address, &n);

	for (uint32_t i = 0; s && i < s->n_aliases && !r; i++)
		r = reason_of(symbol_alias(f->names, s, i));
	for (uint32_t i = 0; i < n && !r; i++)
		r = reason_of(e[i].name);
	return r;
}

uint32_t patch_known_flags(const struct patch_file *f, uint64_t address)
{
	const struct symbol_function *s = patch_named(f, address);
	uint32_t flags = 0, n;
	const struct patch_export *e = patch_exports(f, address, &n);

	for (uint32_t i = 0; s && i < s->n_aliases; i++)
		flags |= flags_of(symbol_alias(f->names, s, i));
	for (uint32_t i = 0; i < n; i++)
		flags |= flags_of(e[i].name);
	return flags;
}

/* ---------------------------------------------------------------- symbols */

static int compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void add_export(struct patch_file *f, uint64_t address, const char *name, size_t *capacity)
{
	char *copy = name && *name ? strndup(name, strcspn(name, "@")) : NULL;

	if (!copy) {
		f->failed |= name && *name;
		return;
	}
	f->exports = patch_grow(f, f->exports, capacity, f->n_exports, sizeof *f->exports);
	if (f->failed)
		free(copy);
	else
		f->exports[f->n_exports++] = (struct patch_export){ address, copy };
}

static int compare_exports(const void *a, const void *b)
{
	const struct patch_export *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static void read_table(struct patch_file *f, uint32_t type, size_t *exports, size_t *capacity)
{
	GElf_Shdr h;
	Elf_Scn *scn = elf_file_table(f->elf.elf, type, &h);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	size_t n = data && h.sh_entsize == sizeof(Elf64_Sym) ? data->d_size / h.sh_entsize : 0;

	for (size_t i = 0; i < n && i < INT32_MAX && !f->failed; i++) {
		GElf_Sym s;

		if (!gelf_getsym(data, (int)i, &s) || !elf_is_function(&s))
			continue;
		patch_add_target(f, s.st_value, 0, PATCH_BY_SYMBOL);
		add_export(f, s.st_value, elf_strptr(f->elf.elf, h.sh_link, s.st_name), exports);
		if (GELF_ST_TYPE(s.st_info) != STT_GNU_IFUNC)
			continue;
		f->resolvers =
			patch_grow(f, f->resolvers, capacity, f->n_resolvers, sizeof *f->resolvers);
		if (!f->failed)
			f->resolvers[f->n_resolvers++] = s.st_value;
	}
}

int patch_read_names(struct patch_file *f, struct symbols *symbols, struct diag *d)
{
	size_t capacity = 0, exports = 0;

	if (!symbols)
		symbols = f->own_symbols = symbols_open();
	f->names = symbols ? symbols_file(symbols, f->path, f->id_hex) : NULL;
	if (!f->names)
		return diag_fail(d, -ENOMEM, "%s: no memory for its names", f->path);
	read_table(f, SHT_SYMTAB, &exports, &capacity);
	read_table(f, SHT_DYNSYM, &exports, &capacity);
	if (f->n_exports)
		qsort(f->exports, f->n_exports, sizeof *f->exports, compare_exports);
	if (f->n_resolvers)
		qsort(f->resolvers, f->n_resolvers, sizeof *f->resolvers, compare_addresses);
	return f->failed ? diag_fail(d, -ENOMEM, "%s: no memory for its names", f->path) : 0;
}

bool patch_is_resolver(const struct patch_file *f, uint64_t address)
{
	return f->n_resolvers && bsearch(&address, f->resolvers, f->n_resolvers,
					 sizeof *f->resolvers, compare_addresses);
}

const struct symbol_function *patch_named(const struct patch_file *f, uint64_t address)
{
	const struct symbol_function *s = symbol_at(f->names, address);

	return s && s->begin == address ? s : NULL;
}

const struct patch_export *patch_exports(const struct patch_file *f, uint64_t address, uint32_t *n)
{
	uint32_t low = 0, high = f->n_exports;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (f->exports[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	*n = 0;
	while (low + *n < f->n_exports && f->exports[low + *n].address == address)
		++*n;
	return *n ? &f->exports[low] : NULL;
}

const char *patch_name_of(const struct patch_file *f, uint64_t address)
{
	const struct symbol_function *s = patch_named(f, address);
	uint32_t n;
	const struct patch_export *e = patch_exports(f, address, &n);

	return s ? s->name : e ? e->name : "";
}

void patch_free_names(struct patch_file *f)
{
	for (uint32_t i = 0; i < f->n_exports; i++)
		free((char *)f->exports[i].name);
	free(f->exports);
}
