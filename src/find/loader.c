/* SPDX-License-Identifier: MIT */
/*
 * find/loader.c - the search for libduet.so.0 as glibc's loader does it (ld.so(8)): the object's
 * RPATH, LD_LIBRARY_PATH, its RUNPATH, the cache of ldconfig, default directories.
 *
 * Asking dlopen(3) would answer for our own environment and files, not for those of the process.
 */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "find/internal.h"

static const char library[] = "libduet.so.0";

#if defined __x86_64__
#define TRIPLET "x86_64-linux-gnu"
#else
#define TRIPLET "aarch64-linux-gnu"
#endif
static const char *const defaults[] = { "/lib/" TRIPLET, "/usr/lib/" TRIPLET,
					"/lib64",	 "/usr/lib64",
					"/lib",		 "/usr/lib" };
enum { N_DEFAULTS = sizeof defaults / sizeof *defaults };

enum { CACHE_BYTES = 64 << 20, CONFIGURATION_BYTES = 65536, NESTED = 8 };

static bool try_path(struct find_loader *l, const struct find_search *s, const char *path)
{
	char whole[2 * PATH_MAX];

	if ((size_t)snprintf(whole, sizeof whole, "%s%s", s->root, path) >= sizeof whole ||
	    strlen(path) >= sizeof l->found || access(whole, R_OK))
		return false;
	snprintf(l->found, sizeof l->found, "%s", path);
	return true;
}

static void add_place(struct find_loader *l, const char *name, const char *value)
{
	text_addf(&l->looked, "%s%s", l->looked.size ? ", " : "", name);
	if (value) {
		text_addf(&l->looked, "=");
		text_add_printable(&l->looked, value, strlen(value));
	}
}

/* Puts the object's directory for $ORIGIN at the beginning of @part, of @n bytes. */
static void expand(char *to, size_t size, const char *part, size_t n, const char *object)
{
	const char *slash = object ? strrchr(object, '/') : NULL;
	size_t skip = !strncmp(part, "$ORIGIN", 7) ? 7 : !strncmp(part, "${ORIGIN}", 9) ? 9 : 0;

	if (skip > n || !slash)
		skip = 0;
	snprintf(to, size, "%.*s%.*s/%s", skip ? (int)(slash - object) : 0, skip ? object : "",
		 (int)(n - skip), part + skip, library);
}

/* A list of directories between colons, or semicolons in LD_LIBRARY_PATH. */
static bool try_list(struct find_loader *l, const struct find_search *s, const char *name,
		     const char *list, const char *separators)
{
	char path[PATH_MAX];

	if (!list || !*list)
		return false;
	add_place(l, name, list);
	for (const char *p = list;; p++) {
		size_t n = strcspn(p, separators);

		/* A relative directory would be that of the process at its start. */
		if (n && (*p == '/' || *p == '$')) {
			expand(path, sizeof path, p, n, s->object_path);
			if (try_path(l, s, path))
				return true;
		}
		p += n;
		if (!*p)
			return false;
	}
}

/* ---------------------------------------------------------------- the cache of ldconfig */

struct cache_entry {
	int32_t flags;
	uint32_t key, value; /* offsets from the header */
	uint32_t osversion;
	uint64_t hwcap;
};

/* The header of glibc 2.2 and later: magic, number of entries, bytes of texts. */
struct cache_header {
	char magic[20]; /* "glibc-ld.so.cache1.1" */
	uint32_t n, texts;
	uint32_t unused[5];
};
_Static_assert(sizeof(struct cache_header) == 48 && sizeof(struct cache_entry) == 24,
	       "layout of ld.so.cache");

static const char *cache_text(const char *header, size_t size, uint32_t at)
{
	return at < size && memchr(header + at, 0, size - at) ? header + at : NULL;
}

static bool try_entries(struct find_loader *l, const struct find_search *s, const char *bytes,
			size_t size)
{
	struct cache_header h;
	struct cache_entry e;

	if (size < sizeof h)
		return false;
	memcpy(&h, bytes, sizeof h);
	for (uint32_t i = 0; i < h.n && sizeof h + (i + 1ull) * sizeof e <= size; i++) {
		const char *key, *value;

		memcpy(&e, bytes + sizeof h + i * sizeof e, sizeof e);
		key = cache_text(bytes, size, e.key);
		value = cache_text(bytes, size, e.value);
		if (key && value && !strcmp(key, library) && try_path(l, s, value))
			return true;
	}
	return false;
}

/* The new format may follow the old one. */
static bool try_cache(struct find_loader *l, const struct find_search *s)
{
	static const char magic[] = "glibc-ld.so.cache1.1";
	char path[PATH_MAX], *bytes;
	struct stat st;
	const char *at = NULL;
	bool found = false;
	int fd;

	add_place(l, "the cache of ldconfig", NULL);
	snprintf(path, sizeof path, "%s/etc/ld.so.cache", s->root);
	fd = elf_program_open(path, NULL);
	if (fd < 0)
		return false;
	bytes = fstat(fd, &st) || st.st_size <= 0 || st.st_size > CACHE_BYTES
			? NULL
			: malloc((size_t)st.st_size);
	if (bytes && io_read(fd, bytes, (size_t)st.st_size) == st.st_size)
		at = memmem(bytes, (size_t)st.st_size, magic, sizeof magic - 1);
	if (at)
		found = try_entries(l, s, at, (size_t)(bytes + st.st_size - at));
	free(bytes);
	close(fd);
	return found;
}

static bool try_defaults(struct find_loader *l, const struct find_search *s)
{
	char path[128];

	add_place(l, "/lib, /usr/lib", NULL);
	for (int i = 0; i < N_DEFAULTS; i++) {
		snprintf(path, sizeof path, "%s/%s", defaults[i], library);
		if (try_path(l, s, path))
			return true;
	}
	return false;
}

/* RUNPATH puts RPATH out of force. */
void find_loader_run(struct find_loader *l, const struct find_search *s)
{
	const char *runpath = s->object ? s->object->runpath : "";
	const char *rpath = s->object && !*runpath ? s->object->rpath : "";

	*l = (struct find_loader){ .is_named = s->duet_library && *s->duet_library };
	if (l->is_named && strchr(s->duet_library, '/')) {
		add_place(l, "DUET_LIBRARY", s->duet_library);
		try_path(l, s, s->duet_library);
		return;
	}
	if (try_list(l, s, "its RPATH", rpath, ":") ||
	    try_list(l, s, "LD_LIBRARY_PATH", s->library_path, ":;") ||
	    try_list(l, s, "its RUNPATH", runpath, ":") || try_cache(l, s))
		return;
	try_defaults(l, s);
}

/* ---------------------------------------------------------------- ld.so.conf */

static bool is_same(const char *a, size_t n, const char *b)
{
	char path[PATH_MAX], whole_a[PATH_MAX], whole_b[PATH_MAX];

	snprintf(path, sizeof path, "%.*s", (int)n, a);
	return realpath(path, whole_a) && realpath(b, whole_b) && !strcmp(whole_a, whole_b);
}

static bool configuration_names(const char *file, const char *dir, int depth);

static bool include_names(const char *pattern, size_t n, const char *dir, int depth)
{
	char path[PATH_MAX];
	bool found = false;
	glob_t g;

	snprintf(path, sizeof path, "%s%.*s", *pattern == '/' ? "" : "/etc/", (int)n, pattern);
	if (glob(path, 0, NULL, &g))
		return false;
	for (size_t i = 0; i < g.gl_pathc && !found; i++)
		found = configuration_names(g.gl_pathv[i], dir, depth + 1);
	globfree(&g);
	return found;
}

static bool configuration_names(const char *file, const char *dir, int depth)
{
	char text[CONFIGURATION_BYTES];
	bool found = false;

	if (depth > NESTED || io_read_file(file, text, sizeof text) <= 0)
		return false;
	for (const char *p = text; *p && !found; p += *p == '\n') {
		size_t n = strcspn(p, "\n");
		const char *line = p + strspn(p, " \t"), *end = p + n;
		size_t length = line < end ? strcspn(line, " \t\n#") : 0;

		if (length == 7 && !strncmp(line, "include", 7)) {
			line += 7 + strspn(line + 7, " \t");
			found = include_names(line, strcspn(line, " \t\n#"), dir, depth);
		} else if (length && *line == '/') {
			found = is_same(line, length, dir);
		}
		p = end;
	}
	return found;
}

bool find_loader_is_configured(const char *dir)
{
	for (int i = 0; i < N_DEFAULTS; i++)
		if (is_same(defaults[i], strlen(defaults[i]), dir))
			return true;
	return configuration_names("/etc/ld.so.conf", dir, 0);
}
