/* SPDX-License-Identifier: MIT */
/*
 * collect/calls/files.h - a walk over the calls files of a runtime directory.
 *
 * They belong to programs: sizes and numbers in them are not trusted.
 */
#ifndef COLLECT_CALLS_FILES_H
#define COLLECT_CALLS_FILES_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/calls.h"

enum { CALLS_FILE_NAME_BYTES = 80 };

struct calls_file {
	const char *name;
	int fd;	      /* for reading and writing */
	bool is_used; /* its program lives: it maps the file */
	uint64_t size;
	struct abi_calls head; /* strings are terminated */
};

/*
 * calls_files_each - visit the calls files of directory @dir.
 *
 * @epoch: of the session that has them; 0: of any; UINT64_MAX: of none.  Returns how many.
 */
int calls_files_each(int dir, uint64_t epoch, void (*visit)(void *arg, const struct calls_file *f),
		     void *arg);

/* calls_file_open - open calls file @name; the caller closes f->fd.  False if it is none. */
bool calls_file_open(int dir, const char *name, struct calls_file *f);

/* calls_list_directory - a list of its own of directory @dir; NULL if it cannot be read. */
DIR *calls_list_directory(int dir);

#endif
