/* SPDX-License-Identifier: MIT */
/* find/loader.h - where the loader of a program looks for libduet, and whether it finds it. */
#ifndef FIND_LOADER_H
#define FIND_LOADER_H

#include "find/find.h"

/* A place to search from. */
struct find_search {
	const char *root;	  /* "" or "/proc/PID/root" */
	const char *duet_library; /* of the environment; NULL: not set */
	const char *library_path;
	const struct elf_program *object; /* with sites */
	const char *object_path;	  /* its path, for $ORIGIN */
};

/* find_loader_run - the search of glibc's loader for libduet.so.0. */
void find_loader_run(struct find_loader *l, const struct find_search *s);
/* find_loader_is_configured - whether ld.so.conf names the directory @dir, or it is a default one: then ldconfig
 * makes its libraries known. */
bool find_loader_is_configured(const char *dir);

#endif
