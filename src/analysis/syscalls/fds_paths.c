/* SPDX-License-Identifier: MIT */
/* analysis/syscalls/fds_paths.c - working directories, and paths that are relative to them or to
 * descriptors: see fds.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/syscalls/fds.h"

/* Removes "." and "name/.." from an absolute path; links are not followed. */
static void simplify(char *path)
{
	char *to = path;

	for (const char *p = path; *p;) {
		const char *end = strchrnul(p + 1, '/');
		size_t n = (size_t)(end - p);

		if (n == 3 && !memcmp(p, "/..", 3)) {
			while (to > path && *--to != '/')
				;
		} else if (n > 1 && (n != 2 || p[1] != '.')) {
			memmove(to, p, n);
			to += n;
		}
		p = end;
	}
	if (to == path)
		*to++ = '/';
	*to = 0;
}

/* @path relative to the directory @dir, or to the working directory, if that is known. */
char *fds_join(const struct fds *f, uint32_t process, int64_t dir, const struct fd_path *path)
{
	const struct fd_file *at = dir < 0 ? NULL : fds_look(f, process, dir);
	const char *base = *path->bytes == '/' ? NULL
			   : dir >= 0	       ? at ? at->name : NULL
					       : fds_cwd(f, process);
	size_t size = base ? strlen(base) : 0;
	char *joined = malloc(size + path->size + 2);

	if (!joined)
		return NULL;
	if (size) {
		memcpy(joined, base, size);
		joined[size++] = '/';
	}
	memcpy(joined + size, path->bytes, path->size + 1);
	if (*joined == '/')
		simplify(joined);
	return joined;
}

int fds_set_cwd(struct fds *f, uint32_t process, const char *path)
{
	char *copy = strdup(path);

	if (!copy || pass_grow(&f->tables, &f->n_tables, process, sizeof *f->tables)) {
		free(copy);
		return -ENOMEM;
	}
	free(f->tables[process].cwd);
	f->tables[process].cwd = copy;
	return 0;
}

const char *fds_cwd(const struct fds *f, uint32_t process)
{
	return process < f->n_tables ? f->tables[process].cwd : NULL;
}
