/* SPDX-License-Identifier: MIT */
/* find/internal.h - the parts of find/: mapped files, the loader's search, files seen before. */
#ifndef FIND_INTERNAL_H
#define FIND_INTERNAL_H

#include <sys/stat.h>

#include "find/find.h"
#include "find/loader.h"

/* One file that a process maps. */
struct find_mapped {
	char *path;	 /* as /proc shows it, without " (deleted)" */
	bool is_removed; /* it has no name any more */
	uint64_t inode;
	uint32_t dev;	     /* as the kernel numbers it there: major << 20 | minor */
	uint64_t begin, end; /* of its first mapping */
};

struct find_maps {
	struct find_mapped *at;
	size_t n, room;
};

enum { FIND_MAPS_MOST = 8192 }; /* files of one process */

/* find_maps_read - each file once.  0, or -errno if /proc does not show them. */
int find_maps_read(struct find_maps *m, pid_t pid);
void find_maps_fini(struct find_maps *m);
/* find_maps_named - the first file whose name begins with @prefix; NULL: none. */
const struct find_mapped *find_maps_named(const struct find_maps *m, const char *prefix);

/* find_open - open a mapped file of process @pid.  @root: "" or "/proc/PID/root".  A descriptor or
 * -errno. */
int find_open(const struct find_mapped *f, pid_t pid, const char *root);

/* find_cache_get - the result for the same file before; NULL: none.  find_cache_put - keep it.  @c may be
 * NULL. */
struct find_cache *find_cache_new(void);
void find_cache_free(struct find_cache *c);
const struct elf_program *find_cache_get(const struct find_cache *c, const struct find_mapped *f,
					 bool *is_elf);
void find_cache_put(struct find_cache *c, const struct find_mapped *f, const struct elf_program *p,
		    bool is_elf);

/* find_environment - the value of @name in "NAME=value" strings of @size bytes; NULL: not set. */
const char *find_environment(const char *environment, size_t size, const char *name);

/* find_page_read - judge the control page @f: state, directory and counts of @p. */
void find_page_read(struct find_process *p, const struct find_mapped *f, const char *root,
		    const struct find_by *by);
/* find_is_secure - whether the kernel started it with rights of its file (AT_SECURE). */
bool find_is_secure(pid_t pid);
/* find_no_page - why a process that has libduet has no control page. */
void find_no_page(struct find_process *p, const char *root, const char *directory);

#endif
