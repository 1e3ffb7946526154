/* SPDX-License-Identifier: MIT */
/* elf/program.c - read section headers, the dynamic section and USDT notes of a file. */
#include "elf/program.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/file.h"

#define DUET_I_LAYOUT_ONLY
#include "duet/site.h"

enum {
	NT_STAPSDT = 3,
	ENTRIES = 4096, /* of a dynamic section */
};
#if defined __x86_64__
enum { MACHINE = EM_X86_64 };
#else
enum { MACHINE = EM_AARCH64 };
#endif

int elf_program_open(const char *path, struct diag *d)
{
	int place = open(path, O_PATH | O_CLOEXEC), fd = -1;
	char again[32];
	struct stat st;

	if (place < 0)
		return diag_errno(d, "cannot open %s", path);
	if (fstat(place, &st) || !S_ISREG(st.st_mode)) {
		close(place);
		return diag_fail(d, -ENOEXEC, "%s is not a regular file", path);
	}
	snprintf(again, sizeof again, "/proc/self/fd/%d", place);
	fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT) /* no /proc */
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		fd = diag_errno(d, "cannot open %s", path);
	close(place);
	return fd;
}

/* The interpreter is a path such as /lib64/ld-linux-x86-64.so.2 or /lib/ld-musl-x86_64.so.1. */
static void read_interpreter(struct elf_program *p, int fd, const GElf_Phdr *h)
{
	char path[256];
	ssize_t n = pread(fd, path, h->p_filesz < sizeof path ? h->p_filesz : sizeof path - 1,
			  (off_t)h->p_offset);

	path[n > 0 && n < (ssize_t)sizeof path ? n : 0] = 0;
	p->is_musl = strstr(path, "ld-musl");
}

static void read_segments(struct elf_program *p, int fd, Elf *elf, bool *has_interpreter)
{
	size_t n;
	GElf_Phdr h;

	*has_interpreter = false;
	if (elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n && i < ENTRIES; i++)
		if (gelf_getphdr(elf, (int)i, &h) && h.p_type == PT_INTERP) {
			*has_interpreter = true;
			read_interpreter(p, fd, &h);
		}
}

struct dynamic {
	bool is_pie, has_name;
};

static void read_entry(struct elf_program *p, Elf *elf, uint32_t strings, const GElf_Dyn *e,
		       struct dynamic *found)
{
	const char *text = e->d_tag == DT_NEEDED || e->d_tag == DT_RPATH || e->d_tag == DT_RUNPATH
				   ? elf_strptr(elf, strings, e->d_un.d_val)
				   : NULL;

	if (e->d_tag == DT_FLAGS_1)
		found->is_pie = e->d_un.d_val & DF_1_PIE;
	else if (e->d_tag == DT_SONAME)
		found->has_name = true;
	else if (text && e->d_tag == DT_NEEDED)
		p->needs_lttng |= !strncmp(text, "liblttng-ust", 12);
	else if (text)
		snprintf(e->d_tag == DT_RPATH ? p->rpath : p->runpath, ELF_SEARCH_BYTES, "%s",
			 text);
}

static void read_dynamic(struct elf_program *p, Elf *elf, struct dynamic *found)
{
	GElf_Shdr h;
	Elf_Scn *scn = elf_file_table(elf, SHT_DYNAMIC, &h);
	Elf_Data *data = elf_data(scn, &h);
	GElf_Dyn e;

	for (int i = 0; data && i < ENTRIES && gelf_getdyn(data, i, &e) && e.d_tag != DT_NULL; i++)
		read_entry(p, elf, h.sh_link, &e, found);
}

/* Whether the file's own symbols define dlopen, as those of a static program do. */
static void read_symbols(struct elf_program *p, Elf *elf)
{
	GElf_Shdr h;
	Elf_Scn *scn = elf_file_table(elf, SHT_SYMTAB, &h);
	Elf_Data *data = p->is_static && p->n_sites ? elf_data(scn, &h) : NULL;
	GElf_Sym s;

	p->has_symbols = scn && h.sh_type != SHT_NOBITS;
	for (int i = 0; data && !p->has_dlopen && gelf_getsym(data, i, &s); i++) {
		const char *name =
			elf_is_function(&s) ? elf_strptr(elf, h.sh_link, s.st_name) : NULL;

		p->has_dlopen = name && (!strcmp(name, "dlopen") || !strcmp(name, "__dlopen"));
	}
}

/* A note has three addresses, then the provider and the name.  libc and the loader have marks of
 * their own, which say nothing about the program. */
static void read_mark(struct elf_program *p, const char *bytes, size_t size)
{
	const char *provider = bytes + 24, *end = bytes + size, *name;

	if (size < 26 || !memchr(provider, 0, (size_t)(end - provider)))
		return;
	name = provider + strlen(provider) + 1;
	if (name >= end || !memchr(name, 0, (size_t)(end - name)) || !strcmp(provider, "libc") ||
	    !strcmp(provider, "rtld") || !strcmp(provider, "libstdcxx") ||
	    !strcmp(provider, "libgcc"))
		return;
	if (!p->n_marks++)
		snprintf(p->mark, sizeof p->mark, "%.60s:%.60s", provider, name);
}

static void read_marks(struct elf_program *p, Elf *elf)
{
	GElf_Shdr h;
	Elf_Scn *scn = elf_file_section(elf, ".note.stapsdt", &h);
	Elf_Data *data = elf_data(scn, &h);
	size_t at = 0, name, desc;
	GElf_Nhdr n;

	while (data && (at = gelf_getnote(data, at, &n, &name, &desc)) > 0)
		if (n.n_type == NT_STAPSDT && n.n_namesz == sizeof "stapsdt" &&
		    !memcmp((const char *)data->d_buf + name, "stapsdt", sizeof "stapsdt"))
			read_mark(p, (const char *)data->d_buf + desc, n.n_descsz);
}

static uint32_t count(Elf *elf, const char *section, size_t size)
{
	GElf_Shdr h;

	if (!elf_file_section(elf, section, &h) || h.sh_type == SHT_NOBITS)
		return 0;
	return h.sh_size / size < UINT32_MAX ? (uint32_t)(h.sh_size / size) : UINT32_MAX;
}

/* LTTng-UST up to 2.12 had other names of sections. */
static void count_sites(struct elf_program *p, Elf *elf)
{
	p->n_sites = count(elf, "duet_sites", sizeof(struct duet_i_site));
	p->n_lttng = count(elf, "lttng_ust_tracepoints_ptrs", sizeof(uint64_t));
	if (!p->n_lttng)
		p->n_lttng = count(elf, "__tracepoints_ptrs", sizeof(uint64_t));
}

static void read_program(struct elf_program *p, int fd, Elf *elf, const GElf_Ehdr *e)
{
	struct dynamic dynamic = { .is_pie = false };
	bool has_interpreter;

	read_segments(p, fd, elf, &has_interpreter);
	read_dynamic(p, elf, &dynamic);
	p->is_program = e->e_type == ET_EXEC || (e->e_type == ET_DYN && !dynamic.has_name &&
						 (has_interpreter || dynamic.is_pie));
	p->is_static = p->is_program && !has_interpreter;
	count_sites(p, elf);
	read_symbols(p, elf);
	read_marks(p, elf);
}

int elf_program_read(struct elf_program *p, int fd, struct diag *d)
{
	Elf *elf;
	GElf_Ehdr e;

	*p = (struct elf_program){ .n_sites = 0 };
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &e) ||
	    (e.e_type != ET_EXEC && e.e_type != ET_DYN)) {
		elf_end(elf);
		return diag_fail(d, -ENOEXEC, "no program or library (ELF)");
	}
	p->is_64bit = gelf_getclass(elf) == ELFCLASS64;
	p->is_other = e.e_machine != MACHINE;
	if (p->is_64bit)
		read_program(p, fd, elf, &e);
	elf_end(elf);
	return 0;
}
