/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/graph_limits.c - locks, marks and restores the limits of a function graph.
 *
 * The lock is on one of the files with the limits, so it needs no file of its own.
 */
#include "kernel/tracefs/graph_limits.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "kernel/tracefs/tracefs.h"

/* Marks in the instance, which outlives this process, that we changed the kernel's global limits.
 * The option itself has no effect on recorded data. */
static const char mark_file[] = "options/verbose";

static const struct {
	const char *file, *unset;
} shared[] = { { "max_graph_depth", "0" },
	       { "tracing_thresh", "0" },
	       { "set_graph_function", NULL } };

static int check_unlimited(int root, struct diag *d)
{
	for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
		char *text;
		ssize_t n = kernel_tracefs_read(root, shared[i].file, &text);
		bool is_free;

		if (n < 0)
			return diag_fail(
				d, (int)n,
				"this kernel cannot limit function graphs (tracefs %s: %s)",
				shared[i].file, strerror((int)-n));
		is_free = shared[i].unset ? atoi(text) == 0 : *text == '#' || !*text;
		free(text);
		if (!is_free)
			return diag_fail(d, -EBUSY,
					 "another tracer uses tracefs %s, which is global in the "
					 "kernel\n  end that tracer, or write %s to the file",
					 shared[i].file, shared[i].unset ? "0" : "nothing");
	}
	return 0;
}

static void release_shared(int root)
{
	int fd = openat(root, "set_graph_function", O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd >= 0)
		close(fd); /* the close applies it */
	kernel_tracefs_write(root, "max_graph_depth", "0");
	kernel_tracefs_write(root, "tracing_thresh", "0");
}

static int lock_shared(int root)
{
	int fd = openat(root, shared[0].file, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0 || !flock(fd, LOCK_EX | LOCK_NB))
		return fd < 0 ? -errno : fd;
	err = -errno;
	close(fd);
	return err;
}

/* All duet processes inherit the lock; it ends with the last of them. */
int kernel_graph_limits_lock(int root, int instance, struct diag *d)
{
	int guard, err;

	if (root < 0)
		return diag_fail(d, -EPERM,
				 "--graph-over, --graph-depth: these limits are global in the "
				 "kernel, so they need root");
	guard = lock_shared(root);
	if (guard == -EWOULDBLOCK)
		return diag_fail(d, -EBUSY,
				 "another recorder limits its function graph, and the kernel has "
				 "only one set of limits");
	if (guard < 0)
		return diag_fail(d, guard,
				 "this kernel has no function graph (tracefs %s: %s)\n"
				 "  it needs CONFIG_FUNCTION_GRAPH_TRACER and no lockdown; "
				 "--kprobe 'F' and --kprobe 'F%%return' "
				 "record calls and returns",
				 shared[0].file, strerror(-guard));
	err = check_unlimited(root, d);
	if (err) {
		close(guard);
		return err;
	}
	kernel_tracefs_write(instance, mark_file, "1");
	assert(guard >= 0);
	return guard;
}

/* The tracer goes first: without limits it would record each function of the kernel. */
static void restore(int root, int instance)
{
	kernel_tracefs_write(instance, "tracing_on", "0");
	kernel_tracefs_write(instance, "current_tracer", "nop");
	release_shared(root);
	kernel_tracefs_write(instance, mark_file, "0");
}

void kernel_graph_limits_release(int root, int instance, int guard)
{
	assert(root >= 0 && guard >= 0);
	restore(root, instance);
	close(guard);
}

void kernel_graph_limits_reap(int root, int instance)
{
	char *mark;
	int guard;

	if (kernel_tracefs_read(instance, mark_file, &mark) < 0)
		return;
	guard = *mark == '1' ? lock_shared(root) : -1;
	free(mark);
	if (guard >= 0)
		kernel_graph_limits_release(root, instance, guard);
}
