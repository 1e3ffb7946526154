/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/remove.c - removes an instance, here or in a child process that outlives this one.
 *
 * The kernel waits for several grace periods while it removes an instance: 30 to 200 ms. Nothing
 * depends on the end of that, so a command need not wait for it. The child:
 *
 *   (1) holds the lock of the instance (flock belongs to the open file, which both share), so no
 *       other recorder removes it meanwhile; if the child is killed, the lock is released when its
 *       system call has ended, and the next recorder removes the instance, as after the death of
 *       any recorder: at its begin, or, if the lock was held then, after its own
 *   (2) has none of its parent's files when kernel_instance_remove_later() returns: pipes end,
 *       locks and sockets are free
 *   (3) is in a session of its own, so that no terminal's signal ends it early
 *
 * An io_uring request or a thread would not do: both end with the process.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "kernel/tracefs/tracefs.h"

enum { REMOVE_TRIES = 50 };

/* Removal fails with EBUSY while another process has a file of it open, so it is tried again. */
int kernel_instance_rmdir(int root, const char *path)
{
	for (int i = 0; i < REMOVE_TRIES; i++) {
		if (!unlinkat(root, path, AT_REMOVEDIR))
			return 0;
		if (errno != EBUSY)
			break;
		usleep(2000);
	}
	return -errno;
}

void kernel_instance_remove(struct kernel_instance *in)
{
	assert(in->root < 0 || in->lock < 0); /* made or borrowed */
	if (in->root < 0 && in->lock < 0)
		return;
	if (in->dir >= 0)
		kernel_instance_switch(in, false);
	if (in->root >= 0 && in->dir >= 0)
		kernel_tracefs_write(in->dir, "events/enable", "0");
	if (in->free_buffer >= 0)
		close(in->free_buffer);
	if (in->tracing_on >= 0)
		close(in->tracing_on);
	if (in->lock >= 0)
		close(in->lock);
	/* If this fails, the lock is released below and the next recorder removes the directory. */
	if (in->root >= 0)
		kernel_instance_rmdir(in->root, in->path);
	if (in->dir >= 0)
		close(in->dir); /* last: if it is a lender's, the lender sees that all is closed */
	*in = KERNEL_NO_INSTANCE;
}

/* ---------------------------------------------------------------- later */

static _Noreturn void remove_in_child(struct kernel_instance *in, int pipe)
{
	int *const kept[] = { &in->root, &in->dir, &in->free_buffer, &pipe };
	int root, err;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setsid();
	err = chdir("/") ? -errno : io_keep_descriptors(kept, sizeof kept / sizeof *kept);
	if (!err)
		err = io_write(pipe, "", 1);
	close(pipe);
	if (!err) {
		root = in->root; /* its number now; it stays open */
		kernel_instance_remove(in);
		kernel_instance_reap(root, NULL);
	}
	_exit(err ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Whether the child reports that it has closed everything of ours. */
static bool is_on_its_own(int pipe, pid_t child)
{
	char byte;

	if (io_read(pipe, &byte, 1) == 1)
		return true;
	waitpid(child, NULL, 0);
	return false;
}

void kernel_instance_remove_later(struct kernel_instance *in)
{
	int pipe[2];
	pid_t child;
	bool is_left;

	if (in->root < 0 || in->dir < 0 || pipe2(pipe, O_CLOEXEC)) {
		kernel_instance_remove(in);
		return;
	}
	kernel_instance_switch(in, false);
	child = fork();
	if (!child)
		remove_in_child(in, pipe[1]);
	close(pipe[1]);
	is_left = child > 0 && is_on_its_own(pipe[0], child);
	close(pipe[0]);
	if (!is_left) {
		kernel_instance_remove(in);
		return;
	}
	if (in->free_buffer >= 0)
		close(in->free_buffer);
	close(in->dir);
	*in = KERNEL_NO_INSTANCE;
}
