/* SPDX-License-Identifier: MIT */
/*
 * collect/chunks/background.h - a child process of low priority that ends when its pipe is closed.
 *
 * The archiver and the relay's retention are such processes.  The parent holds the write end of a
 * pipe; the child reads messages from it, and reads EOF when the parent closes it or dies.  The
 * child keeps no other descriptor of its parent, because it may outlive it.
 *
 * Any thread of a process with one thread; it forks.
 */
#ifndef COLLECT_CHUNKS_BACKGROUND_H
#define COLLECT_CHUNKS_BACKGROUND_H

#include <stdbool.h>
#include <sys/types.h>

struct background_options {
	int kept;	/* a descriptor that the child keeps under its number; 0: none */
	int nice;	/* as setpriority(2) takes it */
	bool is_silent; /* its standard descriptors are /dev/null */
	void (*run)(void *arg, int control); /* the child's work; @control: read end of the pipe */
	void *arg;
};

/*
 * background_start - fork the child.  Blocked signals stay blocked in it.
 *
 * Sets *@pid and *@control, the write end of the pipe.  0; or -errno, and they are 0 and -1.
 */
int background_start(const struct background_options *o, pid_t *pid, int *control);

/*
 * background_end - close the pipe and wait for the child's end.
 *
 * Accepts a *@pid of 0 and a *@control of -1, and leaves these.
 */
void background_end(pid_t *pid, int *control);

#endif
