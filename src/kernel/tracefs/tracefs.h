/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/tracefs.h - the tracing file system, and one instance of our own in it.
 *
 * Everything is reached through directory descriptors, so no mount point is needed: a tracefs that
 * is mounted nowhere is mounted detached (fsmount) and vanishes with its descriptor.
 *
 * An instance is named duet-<pid>-<start time>-<n> and its directory is locked (flock) as long as
 * its owner lives; a stale one has a dead owner and no lock.  Two tests, because a pid says nothing
 * about an owner in another pid namespace, and a lock nothing about one that has yet to take it.
 */
#ifndef KERNEL_TRACEFS_TRACEFS_H
#define KERNEL_TRACEFS_TRACEFS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/diag.h"

/* kernel_tracefs_open - a descriptor of tracefs' root, or a negative errno. */
int kernel_tracefs_open(struct diag *d);

/* Writes the string @text to @path below @dir.  Returns 0 or -errno. */
int kernel_tracefs_write(int dir, const char *path, const char *text);

/* kernel_tracefs_read - the whole file, NUL-terminated; the caller frees *@text.
 * Returns its length or -errno. */
ssize_t kernel_tracefs_read(int dir, const char *path, char **text);
/* The same of an open file, which is closed. */
ssize_t kernel_tracefs_read_all(int fd, char **text);

struct kernel_instance {
	int root;  /* of tracefs, lent; -1 if there is no instance, or it is borrowed */
	int lease; /* the connection to whom it is borrowed from (kernel/tracefs/broker.h); -1: it
		      is ours */
	int dir;
	int free_buffer; /* held open: on its last close the kernel stops and frees the buffers */
	char path[96];	 /* below root */
};

#define KERNEL_NO_INSTANCE                                                                         \
	((struct kernel_instance){ .root = -1, .lease = -1, .dir = -1, .free_buffer = -1 })

/* kernel_instance_create - a fresh instance that records nothing. */
int kernel_instance_create(struct kernel_instance *in, int root, struct diag *d);

/* kernel_instance_make - the first half: its directory, open and locked. */
int kernel_instance_make(struct kernel_instance *in, int root, struct diag *d);
/* kernel_instance_borrow - the second half, on the directory @dir that who is at @loan made; takes
 * both. */
int kernel_instance_borrow(struct kernel_instance *in, int dir, int lease, struct diag *d);

/* Removes it with all it recorded.  No other file of it may be open any more. */
void kernel_instance_remove(struct kernel_instance *in);

/* kernel_instance_is_stale - whether who made an instance of this name is dead, as far as its pid
 * tells. */
bool kernel_instance_is_stale(const char *name);
/* kernel_instance_reap - remove stale instances.  Returns how many, or a negative errno. */
int kernel_instance_reap(int root, struct diag *d);

#endif
