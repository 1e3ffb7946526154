/* SPDX-License-Identifier: MIT */
/* find/maps.c - the files that a process maps, from /proc/PID/maps, each once. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "find/internal.h"

/* The kernel writes a line feed in a path as \012. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *p = path; *p; p++) {
		bool is_feed = !strncmp(p, "\\012", 4);

		*to++ = is_feed ? '\n' : *p;
		p += is_feed ? 3 : 0;
	}
	*to = 0;
}

static bool ends_in(char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);

	if (n < m || strcmp(path + n - m, suffix) != 0)
		return false;
	path[n - m] = 0;
	return true;
}

static bool is_known(const struct find_maps *m, uint64_t inode, const char *path)
{
	/* The parts of one file follow each other, but for data between them. */
	for (size_t i = m->n, n = 0; i-- && n < 8; n++)
		if (m->at[i].inode == inode && !strcmp(m->at[i].path, path))
			return true;
	return false;
}

static bool add(struct find_maps *m, const struct find_mapped *f)
{
	size_t room = m->room ? 2 * m->room : 64;
	struct find_mapped *more;

	if (m->n == m->room) {
		more = realloc(m->at, room * sizeof *more);
		if (!more)
			return false;
		m->at = more;
		m->room = room;
	}
	m->at[m->n] = *f;
	m->at[m->n].path = strdup(f->path);
	m->n += m->at[m->n].path != NULL;
	return true;
}

/* "begin-end rwxp offset dev inode     /path". */
static bool take_line(struct find_maps *m, char *line)
{
	struct find_mapped f = { .inode = 0 };
	unsigned major, minor;
	int at = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %x:%x %" SCNu64 " %n", &f.begin, &f.end,
		   &major, &minor, &f.inode, &at) < 5 ||
	    !at || line[at] != '/' || !f.inode)
		return true;
	f.path = line + at;
	f.dev = major << 20 | minor;
	f.is_removed = ends_in(f.path, " (deleted)");
	unescape(f.path);
	return is_known(m, f.inode, f.path) || add(m, &f);
}

int find_maps_read(struct find_maps *m, pid_t pid)
{
	char path[64], *line = NULL;
	size_t size = 0;
	ssize_t n;
	FILE *f;

	*m = (struct find_maps){ .n = 0 };
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while ((n = getline(&line, &size, f)) > 0 && m->n < FIND_MAPS_MOST && take_line(m, line))
		;
	n = ferror(f) ? -EACCES : 0; /* the process may have ended, or changed its rights */
	free(line);
	fclose(f);
	return (int)n;
}

void find_maps_fini(struct find_maps *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->at[i].path);
	free(m->at);
	*m = (struct find_maps){ .n = 0 };
}

const struct find_mapped *find_maps_named(const struct find_maps *m, const char *prefix)
{
	for (size_t i = 0; i < m->n; i++)
		if (!strncmp(strrchr(m->at[i].path, '/') + 1, prefix, strlen(prefix)))
			return &m->at[i];
	return NULL;
}

/* A file without a name is reached by the mapping itself, which takes rights. */
int find_open(const struct find_mapped *f, pid_t pid, const char *root)
{
	char path[PATH_MAX + 64];

	if (f->is_removed)
		snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
			 f->begin, f->end);
	else
		snprintf(path, sizeof path, "%s%s", root, f->path);
	return elf_program_open(path, NULL);
}
