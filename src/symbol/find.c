/* SPDX-License-Identifier: MIT */
/*
 * symbol/find.c - find a program's file, its debug file and dwz's file, by build ID.
 *
 * A candidate is opened only if it is a regular file: a device or a FIFO might block.  It is taken
 * only if its build ID is the wanted one.  Where the program has no build ID, its debug file is
 * compared by the CRC-32 that .gnu_debuglink has.
 *
 * libdwfl's own search would be shorter, but it asks servers of $DEBUGINFOD_URLS while it searches.
 */
#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/file.h"
#include "symbol/internal.h"

#define DEBUG_ROOT "/usr/lib/debug"

/* ---------------------------------------------------------------- one candidate */

static uint32_t crc32_of(int fd)
{
	uint32_t crc = UINT32_MAX;
	uint8_t bytes[65536];
	ssize_t n;

	for (int64_t at = 0; (n = pread(fd, bytes, sizeof bytes, at)) > 0; at += n)
		for (ssize_t i = 0; i < n; i++) {
			crc ^= bytes[i];
			for (int bit = 0; bit < 8; bit++)
				crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
		}
	return ~crc;
}

/*
 * Opens @path if it is the ELF file with build ID @id.
 *
 * @id: "" accepts any, unless @crc is given.
 *
 * Returns a descriptor, or -1.
 */
static int open_wanted(const char *path, const char *id, const uint32_t *crc)
{
	char hex[ELF_BUILD_ID_HEX];
	struct elf_file f;
	GElf_Ehdr header;
	bool is_wanted;
	int fd = -1;

	if (!elf_file_open(&f, path))
		return -1;
	elf_build_id_of(f.elf, hex);
	/* Addresses of relocatable files (ET_REL) begin at 0 in each section. */
	is_wanted = gelf_getehdr(f.elf, &header) &&
		    (header.e_type == ET_EXEC || header.e_type == ET_DYN) &&
		    (!*id ? !crc || crc32_of(f.fd) == *crc : !strcmp(hex, id));
	if (is_wanted)
		fd = fcntl(f.fd, F_DUPFD_CLOEXEC, 0);
	elf_file_close(&f);
	return fd;
}

/* ---------------------------------------------------------------- where files lie */

__attribute__((format(printf, 2, 3))) static bool put(char path[PATH_MAX], const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(path, PATH_MAX, format, arguments);
	va_end(arguments);
	return n > 0 && n < PATH_MAX;
}

static int open_by_id(const char *id, char path[PATH_MAX])
{
	if (strlen(id) < 4 || !put(path, DEBUG_ROOT "/.build-id/%.2s/%s.debug", id, id + 2))
		return -1;
	return open_wanted(path, id, NULL);
}

/* File @what, "debuginfo" or "executable", in the cache that debuginfod's client keeps. */
static int open_cached(const char *id, const char *what, char path[PATH_MAX])
{
	const char *cache = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");
	bool is_put;

	if (!*id)
		return -1;
	if (cache && *cache)
		is_put = put(path, "%s/%s/%s", cache, id, what);
	else if (xdg && *xdg)
		is_put = put(path, "%s/debuginfod_client/%s/%s", xdg, id, what);
	else
		is_put = home && *home &&
			 put(path, "%s/.cache/debuginfod_client/%s/%s", home, id, what);
	return is_put ? open_wanted(path, id, NULL) : -1;
}

/* The directory part of @path, with its slash. */
static int directory_size(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash + 1 - path) : 0;
}

/* The file that .gnu_debuglink of @program names @link: beside it, in .debug, in DEBUG_ROOT. */
static int open_linked(const char *program, const char *link, const char *id, const uint32_t *crc,
		       char path[PATH_MAX])
{
	int n = directory_size(program), fd = -1;

	if (strchr(link, '/'))
		return -1;
	for (int i = 0; i < 3 && fd < 0; i++) {
		bool is_put = i == 0   ? put(path, "%.*s%s", n, program, link)
			      : i == 1 ? put(path, "%.*s.debug/%s", n, program, link)
				       : put(path, DEBUG_ROOT "%.*s%s", n, program, link);

		/* A stripped file may name itself. */
		if (is_put && strcmp(path, program))
			fd = open_wanted(path, id, crc);
	}
	return fd;
}

static int find_debug(Dwfl_Module *module, void **of, const char *name, Dwarf_Addr base,
		      const char *program, const char *link, GElf_Word crc, char **found)
{
	struct symbol_file *f = *of;
	char path[PATH_MAX];
	int fd;

	(void)module, (void)name, (void)base;
	if (!f)
		return -1;
	fd = open_by_id(f->id, path);
	if (fd < 0)
		fd = open_cached(f->id, "debuginfo", path);
	/* libdwfl asks for dwz's file in the same way, with CRC 0: find_alternate() does that. */
	if (fd < 0 && link && (*f->id || crc))
		fd = open_linked(program ? program : f->path, link, f->id, &crc, path);
	*found = fd >= 0 ? strdup(path) : NULL;
	if (fd >= 0 && !*found) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int find_alternate(const char *of, const char *name, const char *id)
{
	char path[PATH_MAX];
	int fd = -1;

	if (name[0] == '/' ? put(path, "%s", name)
			   : put(path, "%.*s%s", directory_size(of), of, name))
		fd = open_wanted(path, id, NULL);
	if (fd < 0)
		fd = open_by_id(id, path);
	if (fd < 0)
		fd = open_cached(id, "debuginfo", path);
	return fd;
}

/* ---------------------------------------------------------------- the program */

static int find_nothing(Dwfl_Module *module, void **of, const char *name, Dwarf_Addr base,
			char **path, Elf **elf)
{
	(void)module, (void)of, (void)name, (void)base, (void)path, (void)elf;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_nothing,
	.find_debuginfo = find_debug,
};

static int open_program(const struct symbol_file *f, char path[PATH_MAX], bool *is_program)
{
	int fd = -1;

	*is_program = true;
	if (put(path, "%s", f->path))
		fd = open_wanted(path, f->build_id, NULL);
	if (fd < 0)
		fd = open_cached(f->build_id, "executable", path);
	if (fd >= 0)
		return fd;
	*is_program = false;
	fd = open_by_id(f->build_id, path);
	return fd >= 0 ? fd : open_cached(f->build_id, "debuginfo", path);
}

static void read_segments(struct symbol_file *f)
{
	size_t n;
	GElf_Phdr p;

	if (elf_getphdrnum(f->elf, &n))
		return;
	for (size_t i = 0; i < n && f->n_segments < SEGMENTS_MAX; i++)
		if (gelf_getphdr(f->elf, (int)i, &p) && p.p_type == PT_LOAD &&
		    p.p_vaddr <= UINT64_MAX - p.p_memsz)
			f->segments[f->n_segments++] =
				(struct segment){ p.p_offset, p.p_vaddr,
						  f->is_program ? p.p_filesz : p.p_memsz, p.p_memsz,
						  p.p_flags & PF_X };
}

void find_program(struct symbol_file *f)
{
	char path[PATH_MAX];
	int fd = open_program(f, path, &f->is_program);
	void **of;
	GElf_Addr bias;

	assert(!f->dwfl);
	if (fd < 0)
		return;
	f->dwfl = dwfl_begin(&callbacks);
	if (f->dwfl) {
		dwfl_report_begin(f->dwfl);
		f->module = dwfl_report_elf(f->dwfl, path, path, fd, 0, true);
	}
	if (!f->module) {
		close(fd);
		dwfl_end(f->dwfl);
		f->dwfl = NULL;
		return;
	}
	dwfl_module_info(f->module, &of, NULL, NULL, NULL, NULL, NULL, NULL);
	*of = f;
	dwfl_report_end(f->dwfl, NULL, NULL);
	f->elf = dwfl_module_getelf(f->module, &bias);
	if (f->elf && !bias) {
		elf_build_id_of(f->elf, f->id);
		read_segments(f);
		return;
	}
	dwfl_end(f->dwfl);
	f->dwfl = NULL;
	f->module = NULL;
	f->elf = NULL;
}
