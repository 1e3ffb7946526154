/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/fds.h - the file of each descriptor, by process.
 *
 * The state dump names the descriptors that are open when a recording begins. From there they are
 * followed through the system calls that create, copy and close them, through fork and exec. A file
 * that is opened later has a name if the recording has the texts of system calls; otherwise it is
 * known by the call that opened it.
 */
#ifndef ANALYSIS_SYSCALLS_FDS_H
#define ANALYSIS_SYSCALLS_FDS_H

#include "analysis/syscalls/calls.h"
#include "analysis/index.h"

enum { FDS_MAX = 1 << 16 };
struct text;

struct fd_file {
	char *name;	  /* from the state dump, or from the call that opened it; NULL: unknown */
	const char *call; /* if it has no name: the call that opened it; NULL: unknown too */
	uint32_t process; /* if it has no name */
	bool is_deleted;  /* its path has been removed */
	uint32_t mode;	  /* as st_mode, if it is a device; 0: it is none, or unknown */
	uint64_t device;
	char *socket; /* its type and addresses: "TCP:[127.0.0.1:80]"; NULL: unknown */
	int64_t pid;  /* of a pidfd; 0: it is none */
	int32_t fd;   /* then its number; else the number at which it was first seen */
};

struct fd_slot {
	uint32_t file;	 /* plus 1; 0: nothing is known */
	bool is_cloexec; /* closed by exec */
};

struct fd_table { /* of a process */
	struct fd_slot *slots;
	uint32_t n;
	char *cwd; /* the working directory; NULL: unknown */
};

struct fd_path { /* the path argument of the call in progress */
	char *bytes;
	size_t size, room;
};

struct fds { /* zeroed: empty */
	struct fd_file *files;
	uint32_t n_files, n_rooms;
	struct fd_table *tables; /* by the leader of the process */
	uint32_t n_tables;
	struct fd_path *paths; /* by thread */
	uint32_t n_paths;
	struct index names, unnamed;
};

void fds_fini(struct fds *f);

/* fds_dumped - the state dump has @fd of @process. @flags: as for open(). These return 0 or
 * -ENOMEM. */
int fds_dumped(struct fds *f, uint32_t process, int64_t fd, uint64_t flags, const char *name,
	       size_t size);
/* fds_device - @fd is open on a device with this st_mode and st_rdev; other modes have no effect. */
void fds_device(struct fds *f, uint32_t process, int64_t fd, uint32_t mode, uint64_t device);
int fds_fork(struct fds *f, uint32_t parent, uint32_t child);
void fds_exec(struct fds *f, uint32_t process);

/* fds_enter, fds_leave - at entry and exit of each call that changes descriptors (class->fd). @m:
 * from calls_read(). */
struct fds_exit { /* NULL: its memory is not known */
	const struct call_class *class;
	const struct trace_event *event;
	int64_t pid; /* of the process */
};
int fds_enter(struct fds *f, uint32_t thread, const struct call_class *class,
	      const struct trace_event *e);
int fds_leave(struct fds *f, uint32_t thread, uint32_t process, const struct call_made *m,
	      int64_t result, const struct fds_exit *exit);

/* fds_opened - the kernel's files of descriptors that the exit of the call has. */
int fds_opened(struct fds *f, uint32_t process, const struct call_made *m, int64_t result,
	       const struct fds_exit *exit);
/* fds_socket - "TCP:[127.0.0.1:80]"; nothing for other types of sockets than strace has a form for. */
void fds_socket(struct text *t, const struct abi_file *s);
/* fds_socket_dumped - the state dump has the addresses of @fd in event @e. */
int fds_socket_dumped(struct fds *f, uint32_t process, int64_t fd, const struct trace_event *e);
/* fds_named - the file with that name; NULL: there is none. */
struct fd_file *fds_named(struct fds *f, const char *name);
/* fds_name_file - sets the name of an open descriptor. @name is allocated; the table owns it then. */
int fds_name_file(struct fds *f, uint32_t process, int64_t fd, char *name);

/* fds_join - a path relative to the descriptor @dir, or to the working directory if that is
 * negative, as far as it is known; NULL: no memory. The caller frees it. */
char *fds_join(const struct fds *f, uint32_t process, int64_t dir, const struct fd_path *path);
/* fds_unlinked - the file with this path has none from now on. */
void fds_unlinked(struct fds *f, uint32_t process, int64_t dir, const struct fd_path *path);
/* fds_set_cwd - the working directory of @process is @path, which is copied. 0 or -ENOMEM.
 * fds_cwd - it; NULL: unknown. */
int fds_set_cwd(struct fds *f, uint32_t process, const char *path);
const char *fds_cwd(const struct fds *f, uint32_t process);

/* fds_find - the index of the file of @fd, which is added if it is unknown; or -ENOMEM. */
int64_t fds_find(struct fds *f, uint32_t process, int64_t fd);
/* fds_look - the same, but NULL if it is unknown. */
const struct fd_file *fds_look(const struct fds *f, uint32_t process, int64_t fd);

/* fds_name - append the name of file @file, or "socket" for one without: false if it has neither.
 * fds_words - the same, but "fd 3 (openat)" for a file without a name. */
bool fds_name(const struct fds *f, uint32_t file, struct text *t);
void fds_words(const struct fds *f, uint32_t file, struct text *t);

/* fds_address - the socket address among the captured memory @in of event @e as text: "socket
 * 127.0.0.1:5432".  False, and nothing, if there is none.  fds_two - two descriptors. */
bool fds_address(struct text *t, const struct abi_captures *in, const struct trace_event *e);
bool fds_two(int32_t fds[2], const struct abi_captures *in, const struct trace_event *e);

/* fds_call - the effect of @call on descriptors; NULL: none. fds_is_needed - whether names of
 * descriptors need it in a recording. */
const struct fd_call *fds_call(const char *call);
bool fds_is_needed(const char *call);
/* fds_gives - whether @call returns a descriptor. */
bool fds_gives(const char *call);
/* fds_bpf_kind - the name of the descriptor that this command of bpf() returns; "": unknown; NULL:
 * it returns none. */
const char *fds_bpf_kind(int64_t command);
/* fds_kind - the kind of descriptor that @call returns, if it is always the same: "socket"; else
 * NULL. */
const char *fds_kind(const char *call);

#endif
