/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/objects.c - look at the loaded ELF objects through dl_iterate_phdr.
 *
 * Only program headers and notes are read, which lie in memory; no file is opened.
 */
#include "inproc/calls/objects.h"

#include <elf.h>
#include <link.h>
#include <string.h>

struct walk {
	bool (*f)(const struct loaded *, void *);
	void *arg;
	uint64_t changes;
};

bool loaded_contains(const struct loaded *o, uintptr_t address, size_t bytes, uint32_t flags)
{
	for (uint32_t i = 0; i < o->n_segments; i++) {
		const struct loaded_segment *s = &o->segments[i];

		if ((s->flags & flags) == flags && address >= s->begin && address < s->end &&
		    bytes <= s->end - address)
			return true;
	}
	return false;
}

static void take_segments(struct loaded *o, const struct dl_phdr_info *info)
{
	o->low = UINTPTR_MAX;
	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + h->p_vaddr;

		if (h->p_type == PT_DYNAMIC) {
			o->dynamic = begin;
			o->dynamic_bytes = h->p_memsz;
		}
		if (h->p_type == PT_GNU_RELRO) {
			o->constant_begin = begin;
			o->constant_end = begin + h->p_memsz;
		}
		if (h->p_type != PT_LOAD || o->n_segments == LOADED_SEGMENTS)
			continue;
		o->segments[o->n_segments++] =
			(struct loaded_segment){ begin, begin + h->p_memsz, h->p_flags };
		o->low = begin < o->low ? begin : o->low;
		o->high = begin + h->p_memsz > o->high ? begin + h->p_memsz : o->high;
	}
}

static size_t aligned(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

/* The build ID among the notes of @bytes at @p. */
static void take_build_id(struct loaded *o, const uint8_t *p, size_t bytes)
{
	ElfW(Nhdr) n;

	while (bytes >= sizeof n) {
		size_t whole, name;

		memcpy(&n, p, sizeof n);
		name = sizeof n + aligned(n.n_namesz);
		whole = name + aligned(n.n_descsz);
		if (whole > bytes || n.n_namesz > bytes || n.n_descsz > bytes)
			return;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    !memcmp(p + sizeof n, "GNU", 4)) {
			o->build_id_bytes =
				n.n_descsz < ABI_BUILD_ID_BYTES ? n.n_descsz : ABI_BUILD_ID_BYTES;
			memcpy(o->build_id, p + name, o->build_id_bytes);
			return;
		}
		p += whole;
		bytes -= whole;
	}
}

static void take_notes(struct loaded *o, const struct dl_phdr_info *info)
{
	for (uint32_t i = 0; i < info->dlpi_phnum && !o->build_id_bytes; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + h->p_vaddr;

		if (h->p_type == PT_NOTE && loaded_contains(o, at, h->p_memsz, PF_R))
			take_build_id(o, (const uint8_t *)at, h->p_memsz);
	}
}

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct walk *w = arg;
	struct loaded o = { .bias = info->dlpi_addr,
			    .path = info->dlpi_name ? info->dlpi_name : "" };

	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
		w->changes = info->dlpi_adds + info->dlpi_subs;
	if (!w->f)
		return 1;
	take_segments(&o, info);
	take_notes(&o, info);
	o.is_libduet = loaded_contains(&o, (uintptr_t)look_at, 1, 0);
	return !w->f(&o, w->arg);
}

uint64_t loaded_for_each(bool (*f)(const struct loaded *o, void *arg), void *arg)
{
	struct walk w = { f, arg, 0 };

	dl_iterate_phdr(look_at, &w);
	return w.changes;
}

uint64_t loaded_changes(void)
{
	return loaded_for_each(NULL, NULL);
}
