/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/unwinder.c - exceptions of files that were linked with -static-libgcc pass through
 * stubs.
 *
 * Such a file has an unwinder of its own with which code cannot be registered.  It asks libc's _dl_find_object
 * which unwind information a return address has.  The word by which the file calls that function is
 * replaced: ours knows stubs, and passes everything else on.  Nothing is interposed by name, so other
 * files are not touched.  Unwinders that walk dl_iterate_phdr instead are older; the planner refuses
 * their files.
 */
#include "inproc/calls/unwinder.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"

enum { PAGE = 4096 };

/* As in dlfcn.h, which older systems do not have. */
struct find_result {
	unsigned long long flags;
	void *begin, *end, *link_map;
	const void *header;
	unsigned long long reserved[7];
};
typedef int find_object(void *address, struct find_result *result);

static find_object *libc_find;

struct range {
	uintptr_t begin, end;
	const void *header;
};
/* ABI_CALLS_OBJECTS of them, mapped with the first: most programs need none. */
static struct range *ranges;
static uint32_t n_ranges;

static bool map_ranges(void)
{
	void *p;

	if (ranges)
		return true;
	p = mmap(NULL, ABI_CALLS_OBJECTS * sizeof *ranges, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED)
		ranges = p;
	return ranges;
}

void unwinder_add(uintptr_t begin, uintptr_t end, const void *header)
{
	if (n_ranges == ABI_CALLS_OBJECTS || !map_ranges())
		return;
	ranges[n_ranges] = (struct range){ begin, end, header };
	/* [U] A whole range, then its number: pairs with find(). */
	store_release(&n_ranges, n_ranges + 1);
}

/* Called instead of _dl_find_object, by any thread. */
static int find(void *address, struct find_result *result)
{
	uint32_t n = load_acquire(&n_ranges); /* [U] */

	for (uint32_t i = 0; i < n; i++)
		if ((uintptr_t)address >= ranges[i].begin && (uintptr_t)address < ranges[i].end) {
			*result = (struct find_result){ .begin = (void *)ranges[i].begin,
							.end = (void *)ranges[i].end,
							.header = ranges[i].header };
			return 0;
		}
	return libc_find(address, result);
}

/* ---------------------------------------------------------------- the file's word */

struct dynamic {
	const ElfW(Rela) * tables[2];
	size_t bytes[2];
	const ElfW(Sym) * symbols;
	const char *strings;
	size_t strings_bytes;
};

/* The loader has added the bias, except where the section is read-only. */
static uintptr_t pointer(const struct loaded *o, uintptr_t v)
{
	return v < o->bias ? v + o->bias : v;
}

static bool read_dynamic(const struct loaded *o, struct dynamic *d)
{
	const ElfW(Dyn) *p = (const ElfW(Dyn) *)o->dynamic;
	size_t n = o->dynamic_bytes / sizeof *p;

	*d = (struct dynamic){ .symbols = NULL };
	if (!p || !loaded_contains(o, o->dynamic, o->dynamic_bytes, PF_R))
		return false;
	for (size_t i = 0; i < n && p[i].d_tag != DT_NULL; i++) {
		uintptr_t at = pointer(o, p[i].d_un.d_ptr);

		if (p[i].d_tag == DT_RELA)
			d->tables[0] = (const ElfW(Rela) *)at;
		else if (p[i].d_tag == DT_RELASZ)
			d->bytes[0] = p[i].d_un.d_val;
		else if (p[i].d_tag == DT_JMPREL)
			d->tables[1] = (const ElfW(Rela) *)at;
		else if (p[i].d_tag == DT_PLTRELSZ)
			d->bytes[1] = p[i].d_un.d_val;
		else if (p[i].d_tag == DT_SYMTAB)
			d->symbols = (const ElfW(Sym) *)at;
		else if (p[i].d_tag == DT_STRTAB)
			d->strings = (const char *)at;
		else if (p[i].d_tag == DT_STRSZ)
			d->strings_bytes = p[i].d_un.d_val;
	}
	return d->symbols && d->strings &&
	       loaded_contains(o, (uintptr_t)d->strings, d->strings_bytes, PF_R);
}

static bool is_wanted(const struct loaded *o, const struct dynamic *d, const ElfW(Rela) * r)
{
	static const char name[] = "_dl_find_object";
	const ElfW(Sym) *s = d->symbols + ELF64_R_SYM(r->r_info);
	uint32_t type = ELF64_R_TYPE(r->r_info);

	return (type == R_X86_64_GLOB_DAT || type == R_X86_64_JUMP_SLOT) &&
	       loaded_contains(o, (uintptr_t)s, sizeof *s, PF_R) && s->st_shndx == SHN_UNDEF &&
	       s->st_name <= d->strings_bytes && d->strings_bytes - s->st_name >= sizeof name &&
	       !memcmp(d->strings + s->st_name, name, sizeof name);
}

static void replace(const struct loaded *o, find_object **word)
{
	uintptr_t page = (uintptr_t)word & ~(uintptr_t)(PAGE - 1);
	bool is_constant =
		(uintptr_t)word >= o->constant_begin && (uintptr_t)word < o->constant_end;

	if (!loaded_contains(o, (uintptr_t)word, sizeof *word, PF_W) ||
	    (is_constant && mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE)))
		return;
	store_release(word, find);
	if (is_constant)
		mprotect((void *)page, PAGE, PROT_READ);
}

void unwinder_connect(const struct loaded *o)
{
	struct dynamic d;

	if (!libc_find) {
		void *found = dlsym(RTLD_DEFAULT, "_dl_find_object");

		memcpy(&libc_find, &found, sizeof libc_find);
	}
	if (!libc_find || !read_dynamic(o, &d))
		return;
	for (int k = 0; k < 2; k++) {
		if (!d.tables[k] || !loaded_contains(o, (uintptr_t)d.tables[k], d.bytes[k], PF_R))
			continue;
		for (size_t i = 0; i < d.bytes[k] / sizeof *d.tables[k]; i++)
			if (is_wanted(o, &d, &d.tables[k][i]))
				replace(o, (find_object **)(o->bias + d.tables[k][i].r_offset));
	}
}
