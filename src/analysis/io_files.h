/* SPDX-License-Identifier: MIT */
/* analysis/io_files.h - which file a descriptor is, process by process. */
#ifndef ANALYSIS_IO_FILES_H
#define ANALYSIS_IO_FILES_H

#include "analysis/io.h"
#include "analysis/keys.h"

enum { IO_FDS_MAX = 1 << 16 };

struct io_table { /* of a process: file of each descriptor, plus 1 */
	uint32_t *files;
	uint32_t n;
};

struct io_files {
	struct io *io;
	struct io_table *tables; /* by the thread that stands for the process */
	uint32_t n_tables, n_rooms;
	struct keys names, unnamed;
};

void io_files_fini(struct io_files *f);

/* io_files_name - a dump says what @fd of @process is. */
int io_files_name(struct io_files *f, uint32_t process, int64_t fd, const char *name, size_t size);
/* io_files_open - @call gave @process a new descriptor. */
int io_files_open(struct io_files *f, uint32_t process, int64_t fd, const char *call);
int io_files_dup(struct io_files *f, uint32_t process, int64_t from, int64_t to);
void io_files_close(struct io_files *f, uint32_t process, int64_t fd);
int io_files_fork(struct io_files *f, uint32_t parent, uint32_t child);

/* io_files_find - the file that @fd is, made if nothing was known.  -ENOMEM. */
int64_t io_files_find(struct io_files *f, uint32_t process, int64_t fd);

#endif
