/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/fds.h - which file a descriptor is, process by process.
 *
 * The state dump names the descriptors that are open when a recording begins.  From there they are
 * followed through the system calls that make, copy and close them, through fork and exec.  What is
 * opened later has a name if the recording has texts of system calls; else it is known by the call
 * it came from.
 */
#ifndef ANALYSIS_SYSCALLS_FDS_H
#define ANALYSIS_SYSCALLS_FDS_H

#include "analysis/syscalls/calls.h"
#include "analysis/index.h"

enum { FDS_MAX = 1 << 16 };

struct fd_file {
	char *name;	  /* of the dump, or as it was opened; NULL: unknown */
	const char *call; /* else what it came from; NULL: unknown too */
	uint32_t process; /* if it has no name */
	int32_t fd;	  /* then, or where it was first seen */
};

struct fd_slot {
	uint32_t file; /* plus 1; 0: nothing is known */
	bool ends;     /* with an exec */
};

struct fd_table { /* of a process */
	struct fd_slot *slots;
	uint32_t n;
};

struct fd_path { /* that a call in progress was given */
	char *bytes;
	size_t size, room;
};

struct fds { /* zeroed: empty */
	struct fd_file *files;
	uint32_t n_files, n_rooms;
	struct fd_table *tables; /* by the thread that stands for the process */
	uint32_t n_tables;
	struct fd_path *paths; /* by thread */
	uint32_t n_paths;
	struct index names, unnamed;
};

void fds_fini(struct fds *f);

/* fds_dumped - a dump says what @fd of @process is.  @flags: as open has them.  These return 0 or
 * -ENOMEM. */
int fds_dumped(struct fds *f, uint32_t process, int64_t fd, uint64_t flags, const char *name,
	       size_t size);
int fds_fork(struct fds *f, uint32_t parent, uint32_t child);
void fds_exec(struct fds *f, uint32_t process);

/* fds_enter, fds_leave - for each call with a meaning for descriptors (class->fd), as it begins and
 * ends.
 * @m: as calls_read() gives it. */
int fds_enter(struct fds *f, uint32_t thread, const struct call_class *class,
	      const struct trace_event *e);
int fds_leave(struct fds *f, uint32_t thread, uint32_t process, const struct call_made *m,
	      int64_t result);

/* fds_find - the file that @fd is, made if nothing was known.  -ENOMEM. */
int64_t fds_find(struct fds *f, uint32_t process, int64_t fd);
/* fds_look - the same, but NULL if nothing is known. */
const struct fd_file *fds_look(const struct fds *f, uint32_t process, int64_t fd);

/* What the calls called so do to descriptors; NULL: nothing. */
const struct fd_call *fds_call(const char *call);
/* Whether what a call returns is a descriptor. */
bool fds_gives(const char *call);
/* What a descriptor from @call is, if that says it: "socket"; else NULL. */
const char *fds_kind(const char *call);

#endif
