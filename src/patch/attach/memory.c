/* SPDX-License-Identifier: MIT */
/*
 * patch/attach/memory.c - the process's mappings, its memory, and the symbols of its objects.
 *
 * Symbols are looked up in memory, by the objects' GNU hash tables, and not in files: a file may
 * have been replaced by an update, or lie in another mount namespace.  All of it is untrusted.
 */
#include "patch/attach/internal.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PHDRS_MAX = 64,
	DYNAMIC_MAX = 512,
	NAME_MAX_BYTES = 128,
	CHAIN_MAX = 4096,
	NOTES_MAX = 4096
};

static uint32_t prot_of(const char *rwx)
{
	return (rwx[0] == 'r' ? MAP_READ : 0u) | (rwx[1] == 'w' ? MAP_WRITE : 0u) |
	       (rwx[2] == 'x' ? MAP_EXECUTE : 0u);
}

static bool add_map(struct maps *m, const char *line)
{
	struct map *grown, new = { 0 };
	unsigned long begin, end, offset;
	char rwx[8];
	int path = 0;

	if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %n", &begin, &end, rwx, &offset, &path) < 4)
		return false;
	new = (struct map){ begin, end, offset, prot_of(rwx), strdup(line + path) };
	grown = m->n & (m->n - 1) ? m->at : realloc(m->at, (m->n ? 2 * m->n : 1) * sizeof *m->at);
	if (!new.path || !grown) {
		free(new.path);
		return false;
	}
	new.path[strcspn(new.path, "\n")] = 0;
	m->at = grown;
	m->at[m->n++] = new;
	return true;
}

int maps_read(struct maps *m, pid_t pid)
{
	char path[64], *line = NULL;
	size_t size = 0;
	FILE *f;

	*m = (struct maps){ 0 };
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (getline(&line, &size, f) > 0)
		if (!add_map(m, line))
			break;
	free(line);
	fclose(f);
	return m->n ? 0 : -ESRCH;
}

void maps_fini(struct maps *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->at[i].path);
	free(m->at);
	*m = (struct maps){ 0 };
}

const struct map *maps_find(const struct maps *m, uint64_t address)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (m->at[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < m->n && m->at[low].begin <= address ? &m->at[low] : NULL;
}

const struct map *maps_object(const struct maps *m, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < m->n; i++) {
		const char *slash = strrchr(m->at[i].path, '/');

		if (slash && !m->at[i].offset && !strncmp(slash + 1, name, length) &&
		    strchr(". ", slash[1 + length]))
			return &m->at[i];
	}
	return NULL;
}

bool memory_read(int mem, uint64_t address, void *bytes, size_t size)
{
	return pread(mem, bytes, size, (off_t)address) == (ssize_t)size;
}

bool memory_write(int mem, uint64_t address, const void *bytes, size_t size)
{
	return pwrite(mem, bytes, size, (off_t)address) == (ssize_t)size;
}

/* ---------------------------------------------------------------- ELF objects in memory */

struct image {
	int mem;
	uint64_t bias;
	uint16_t n_phdrs;
	Elf64_Phdr phdrs[PHDRS_MAX];
};

static bool image_open(struct image *i, int mem, uint64_t base)
{
	Elf64_Ehdr e;

	*i = (struct image){ .mem = mem };
	if (!memory_read(mem, base, &e, sizeof e) || memcmp(e.e_ident, ELFMAG, SELFMAG) ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof *i->phdrs ||
	    e.e_phnum > PHDRS_MAX || e.e_phoff > 1 << 20)
		return false;
	i->n_phdrs = e.e_phnum;
	if (!memory_read(mem, base + e.e_phoff, i->phdrs, e.e_phnum * sizeof *i->phdrs))
		return false;
	for (unsigned p = 0; p < i->n_phdrs; p++)
		if (i->phdrs[p].p_type == PT_LOAD) {
			i->bias = base - (i->phdrs[p].p_vaddr - i->phdrs[p].p_offset);
			return true;
		}
	return false;
}

bool image_bias(int mem, uint64_t base, uint64_t *bias)
{
	struct image i;

	if (!image_open(&i, mem, base))
		return false;
	*bias = i.bias;
	return true;
}

static const Elf64_Phdr *header(const struct image *i, uint32_t type)
{
	for (unsigned p = 0; p < i->n_phdrs; p++)
		if (i->phdrs[p].p_type == type)
			return &i->phdrs[p];
	return NULL;
}

struct tables {
	uint64_t hash, symbols, strings, strings_bytes;
};

/* The linker has added the bias to some addresses, depending on its version. */
static uint64_t relocated(const struct image *i, uint64_t address)
{
	return address < i->bias ? address + i->bias : address;
}

static bool read_tables(const struct image *i, struct tables *t)
{
	const Elf64_Phdr *dynamic = header(i, PT_DYNAMIC);
	Elf64_Dyn d;

	*t = (struct tables){ 0 };
	for (unsigned k = 0; dynamic && k < DYNAMIC_MAX; k++) {
		if (!memory_read(i->mem, i->bias + dynamic->p_vaddr + k * sizeof d, &d, sizeof d) ||
		    d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_GNU_HASH)
			t->hash = relocated(i, d.d_un.d_ptr);
		if (d.d_tag == DT_SYMTAB)
			t->symbols = relocated(i, d.d_un.d_ptr);
		if (d.d_tag == DT_STRTAB)
			t->strings = relocated(i, d.d_un.d_ptr);
		if (d.d_tag == DT_STRSZ)
			t->strings_bytes = d.d_un.d_val;
	}
	return t->hash && t->symbols && t->strings;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

static bool has_name(const struct image *i, const struct tables *t, const Elf64_Sym *s,
		     const char *name)
{
	char found[NAME_MAX_BYTES];
	size_t size = strlen(name) + 1;

	return size <= sizeof found && s->st_name < t->strings_bytes &&
	       memory_read(i->mem, t->strings + s->st_name, found, size) &&
	       !memcmp(found, name, size);
}

/* The table: number of buckets, first symbol, words and shift of a Bloom filter; filter; buckets;
 * one word per symbol: its hash, the lowest bit set in the last of a bucket. */
static bool find_symbol(const struct image *i, const struct tables *t, const char *name,
			Elf64_Sym *s)
{
	uint32_t head[4], hash = gnu_hash(name), index, word;
	uint64_t buckets, chains;

	if (!memory_read(i->mem, t->hash, head, sizeof head) || !head[0])
		return false;
	buckets = t->hash + sizeof head + 8ull * head[2];
	chains = buckets + 4ull * head[0];
	if (!memory_read(i->mem, buckets + 4ull * (hash % head[0]), &index, 4) || index < head[1])
		return false;
	for (unsigned k = 0; k < CHAIN_MAX; k++, index++) {
		if (!memory_read(i->mem, chains + 4ull * (index - head[1]), &word, 4))
			return false;
		if ((word | 1) == (hash | 1) &&
		    memory_read(i->mem, t->symbols + index * sizeof *s, s, sizeof *s) &&
		    s->st_shndx != SHN_UNDEF && has_name(i, t, s, name))
			return true;
		if (word & 1)
			return false;
	}
	return false;
}

uint64_t image_symbol(int mem, uint64_t base, const char *name, uint64_t *size)
{
	struct tables t;
	struct image i;
	Elf64_Sym s;

	if (!image_open(&i, mem, base) || !read_tables(&i, &t) || !find_symbol(&i, &t, name, &s))
		return 0;
	if (size)
		*size = s.st_size;
	return i.bias + s.st_value;
}

/* In a segment of notes, the one of GNU with the build ID. */
static size_t find_build_id(const uint8_t *notes, size_t n, uint8_t *id, size_t size)
{
	Elf64_Nhdr h;

	for (size_t at = 0; at + sizeof h <= n;) {
		size_t name = at + sizeof h, bytes;

		memcpy(&h, notes + at, sizeof h);
		if (h.n_namesz > n || h.n_descsz > n)
			return 0;
		bytes = name + (h.n_namesz + 3u) / 4 * 4;
		if (bytes + h.n_descsz > n)
			return 0;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4)) {
			size = h.n_descsz < size ? h.n_descsz : size;
			memcpy(id, notes + bytes, size);
			return size;
		}
		at = bytes + (h.n_descsz + 3u) / 4 * 4;
	}
	return 0;
}

size_t image_build_id(int mem, uint64_t base, uint8_t *id, size_t size)
{
	uint8_t notes[NOTES_MAX];
	struct image i;
	size_t found = 0;

	if (!image_open(&i, mem, base))
		return 0;
	for (unsigned p = 0; p < i.n_phdrs && !found; p++) {
		const Elf64_Phdr *h = &i.phdrs[p];

		if (h->p_type == PT_NOTE && h->p_filesz <= sizeof notes &&
		    memory_read(mem, i.bias + h->p_vaddr, notes, h->p_filesz))
			found = find_build_id(notes, h->p_filesz, id, size);
	}
	return found;
}

/* ---------------------------------------------------------------- the process */

/* The C library's own way back from a signal handler: mov $15,%rax; syscall. */
static uint64_t find_sigreturn(const struct target *t)
{
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	const struct map *libc = maps_find(&t->maps, t->libc);

	for (const struct map *m = libc; m && m < t->maps.at + t->maps.n; m++) {
		size_t size = (size_t)(m->end - m->begin);
		uint8_t *bytes, *found;
		uint64_t at;

		if (strcmp(m->path, libc->path))
			break;
		if (!(m->prot & MAP_EXECUTE) || size > 64 << 20 || !(bytes = malloc(size)))
			continue;
		found = memory_read(t->mem, m->begin, bytes, size)
				? memmem(bytes, size, code, sizeof code)
				: NULL;
		at = found ? m->begin + (uint64_t)(found - bytes) : 0;
		free(bytes);
		if (at)
			return at;
	}
	return 0;
}

/* Before glibc 2.34 a library's file bore the version: libc-2.31.so. */
static uint64_t loaded_at(const struct target *t, const char *name, const char *older)
{
	const struct map *m = maps_object(&t->maps, name);

	m = m || !older ? m : maps_object(&t->maps, older);
	return m ? m->begin : 0;
}

static void find_dlopen(struct target *t)
{
	uint64_t libdl = loaded_at(t, "libdl.so.2", "libdl-2");

	t->at.dlopen = image_symbol(t->mem, t->libc, "dlopen", NULL);
	t->at.dlerror = image_symbol(t->mem, t->libc, "dlerror", NULL);
	if (!t->at.dlopen && libdl) {
		t->at.dlopen = image_symbol(t->mem, libdl, "dlopen", NULL);
		t->at.dlerror = image_symbol(t->mem, libdl, "dlerror", NULL);
	}
	if (!t->at.dlopen)
		t->at.dlopen = image_symbol(t->mem, t->libc, "__libc_dlopen_mode", NULL);
}

int target_look(struct target *t)
{
	char byte;
	int err;

	maps_fini(&t->maps);
	err = maps_read(&t->maps, t->pid);
	if (err)
		return diag_fail(t->d, err == -ENOENT ? -ESRCH : err,
				 "process %d has ended meanwhile", (int)t->pid);
	t->libc = loaded_at(t, "libc.so.6", "libc-2");
	t->ld_so = loaded_at(t, "ld-linux-x86-64.so.2", "ld-2");
	t->duet = loaded_at(t, "libduet.so.0", NULL);
	if (!t->libc || !t->ld_so)
		return diag_fail(t->d, -ENOEXEC, "process %d has no glibc", (int)t->pid);
	t->at.mmap = image_symbol(t->mem, t->libc, "mmap", NULL);
	t->at.mprotect = image_symbol(t->mem, t->libc, "mprotect", NULL);
	t->at.munmap = image_symbol(t->mem, t->libc, "munmap", NULL);
	t->at.errno_location = image_symbol(t->mem, t->libc, "__errno_location", NULL);
	t->at.rtld_global =
		image_symbol(t->mem, t->ld_so, "_rtld_global", &t->at.rtld_global_bytes);
	t->at.sigreturn = t->at.sigreturn ? t->at.sigreturn : find_sigreturn(t);
	find_dlopen(t);
	if (!memory_read(t->mem, t->libc, &byte, 1))
		return diag_fail(t->d, -ECHILD,
				 "process %d ended or replaced its program meanwhile", (int)t->pid);
	if (!t->at.mmap || !t->at.mprotect || !t->at.munmap || !t->at.errno_location ||
	    !t->at.sigreturn || !t->at.dlopen)
		return diag_fail(
			t->d, -ENOEXEC,
			"the C library of process %d is not one that duet knows: functions "
			"that it needs are missing",
			(int)t->pid);
	return 0;
}
