/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/tracefs.h - the tracing file system, and one instance in it.
 *
 * Everything is reached through directory descriptors, so no mount point is needed: a tracefs that
 * is mounted nowhere is mounted detached (fsmount) and vanishes with its descriptor.
 *
 * An instance is named duet-<pid>-<start time>-<n>; a lender appends the user (lent.h). Its owner
 * holds a lock (flock) on its directory:
 *
 *   (1) an instance without a lock has no owner; any recorder removes it, which takes the lock first
 *   (2) an owner that has made a directory owns it once it has the lock and the directory is still
 *       there; otherwise another process took it for one without an owner, and it makes the next
 *
 * The pid in the name only makes it unique and readable. It decides nothing: the owner may be in
 * another pid namespace, or have no /proc of its own namespace.
 */
#ifndef KERNEL_TRACEFS_TRACEFS_H
#define KERNEL_TRACEFS_TRACEFS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/diag.h"

/* kernel_tracefs_open - a descriptor of the root of tracefs, or a negative errno. */
int kernel_tracefs_open(struct diag *d);
/* kernel_is_tracefs - whether @fd is a file of tracefs. */
bool kernel_is_tracefs(int fd);

/*
 * Files of tracefs below @dir. That is the descriptor of a directory, or, for a borrowed instance,
 * the connection to its lender, which then opens or writes the file (kernel/tracefs/broker.h).
 */

/* Writes the string @text to @path below @dir.  Returns 0 or -errno. */
int kernel_tracefs_write(int dir, const char *path, const char *text);
/* kernel_tracefs_empty - open @path below @dir to write, truncate it and close it. 0 or -errno. */
int kernel_tracefs_empty(int dir, const char *path);
/* kernel_tracefs_open_file - open @path to read, or a directory to list; reads do not wait for data.
 * A descriptor, or -1 with errno. */
int kernel_tracefs_open_file(int dir, const char *path);

/* kernel_tracefs_read - the whole file, NUL-terminated; the caller frees *@text. Returns its length
 * or -errno. */
ssize_t kernel_tracefs_read(int dir, const char *path, char **text);
/* The same for an open file, which is closed. */
ssize_t kernel_tracefs_read_all(int fd, char **text);

struct kernel_instance {
	int root;	 /* of tracefs, not owned; -1 if there is no instance, or it is borrowed */
	int dir;	 /* the directory, or the connection to the lender */
	int lock;	 /* borrowed: the directory, open for its lock alone; else -1 */
	int tracing_on;	 /* borrowed: that file, so that a dead lender keeps nobody from stopping */
	int free_buffer; /* held open: on its last close the kernel stops and frees the buffers */
	bool is_own_only; /* borrowed: it records the user's own processes alone */
	char path[96];	  /* below root */
};

#define KERNEL_NO_INSTANCE                                                                         \
	((struct kernel_instance){                                                                 \
		.root = -1, .dir = -1, .lock = -1, .tracing_on = -1, .free_buffer = -1 })

/* kernel_instance_create - make a new instance that records nothing yet. */
int kernel_instance_create(struct kernel_instance *in, int root, struct diag *d);

/* kernel_instance_make - the first half of it: makes, opens and locks the directory. @suffix: of its
 * name. */
int kernel_instance_make(struct kernel_instance *in, int root, const char *suffix, struct diag *d);
/* kernel_instance_quiet - the second half of it, for a borrowed instance too; on an error the
 * instance is removed. */
int kernel_instance_quiet(struct kernel_instance *in, struct diag *d);

/* kernel_instance_switch - start or stop recording. 0 or -errno. */
int kernel_instance_switch(const struct kernel_instance *in, bool on);
/* kernel_instance_follow_none - an empty list of threads would mean all: the list gets a number that
 * no thread has. 0 or -errno. */
int kernel_instance_follow_none(int dir);

/* Removes the instance and all it recorded. The caller closes all other files of it first. */
void kernel_instance_remove(struct kernel_instance *in);
/* kernel_instance_remove_later - the same in a child process, which may outlive this one and is not
 * waited for; here if that is impossible or the instance is borrowed. It records nothing when this
 * returns. For a process that ends soon. */
void kernel_instance_remove_later(struct kernel_instance *in);
/* kernel_instance_rmdir - the directory at @path below @root, also if it is busy for a moment.
 * 0 or -errno. */
int kernel_instance_rmdir(int root, const char *path);

/* kernel_instance_parse - whether @name is that of an instance, and not of one on loan. */
bool kernel_instance_parse(const char *name);
/* kernel_instance_reap - remove instances without an owner, and those that came back from a loan.
 * Returns how many, or a negative errno. */
int kernel_instance_reap(int root, struct diag *d);
/* kernel_process_start - clock ticks after boot when @pid, a process or thread, began; 0: there is
 * none. (pid, start) names one process. */
unsigned long long kernel_process_start(pid_t pid);
/* kernel_own_start - the same for this process, also if /proc is that of another pid namespace; 0:
 * there is no /proc. */
unsigned long long kernel_own_start(void);

#endif
