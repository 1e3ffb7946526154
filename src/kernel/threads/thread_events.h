/* SPDX-License-Identifier: MIT */
/*
 * kernel/threads/thread_events.h - changes of threads, reported by the kernel: a second tracefs
 * instance records only births, names, cgroups and ends of all threads of the machine.
 *
 * It is separate from the first instance for two reasons. These events are needed in time order and
 * before the events they explain, whatever else is recorded. And a page of the first instance
 * cannot wait until the pages of all CPUs are read.
 */
#ifndef KERNEL_THREADS_THREAD_EVENTS_H
#define KERNEL_THREADS_THREAD_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/clock.h"
#include "base/diag.h"

struct kernel_thread_events;

enum kernel_change_kind {
	KERNEL_CHANGE_BIRTH, /* by thread `by`, with `flags` of clone(2) */
	KERNEL_CHANGE_NAME,
	KERNEL_CHANGE_EXEC,	 /* of the former thread `by` */
	KERNEL_CHANGE_CGROUP,	 /* of the whole process if it is the first thread; unified
			        * hierarchy */
	KERNEL_CHANGE_REQUESTED, /* the thread requests other rights with the system call `call` */
	KERNEL_CHANGE_GRANTED,	 /* and the kernel granted them */
	KERNEL_CHANGE_END,
};

enum kernel_setter {
	KERNEL_SETUID,
	KERNEL_SETGID,
	KERNEL_SETREUID,
	KERNEL_SETREGID,
	KERNEL_SETRESUID,
	KERNEL_SETRESGID,
	KERNEL_SETTER_WITH_IDS, /* the calls above have the new ids in their arguments */
	KERNEL_SETNS = KERNEL_SETTER_WITH_IDS,
	KERNEL_UNSHARE,
	KERNEL_SETPRIORITY,
	KERNEL_SETTERS,
};

struct kernel_change {
	uint64_t ns; /* the session's time */
	enum kernel_change_kind kind;
	int32_t tid, by;
	uint64_t flags;
	enum kernel_setter call;
	int32_t ids[2]; /* requested: real and effective id; -1: unchanged. setuid and setgid
			 * have only the first */
	char text[256]; /* name or path */
};

struct kernel_thread_events_options {
	int root;		       /* of tracefs, not owned; -1: the instance is borrowed */
	const struct abi_clock *clock; /* not owned */
	bool cgroups_alone;	       /* only cgroup changes; the reader is woken at once */
	bool system_calls; /* system calls are traced anyway, so those that set rights cost
			     * nothing more */
};

/* kernel_thread_events_open - makes the instance but does not record yet. 0 or -errno. */
int kernel_thread_events_open(struct kernel_thread_events **u,
			      const struct kernel_thread_events_options *o, struct diag *d);
/* kernel_thread_events_close - accepts NULL. */
void kernel_thread_events_close(struct kernel_thread_events *u);

/* kernel_thread_events_run - start or stop recording. 0 or -errno. */
int kernel_thread_events_run(struct kernel_thread_events *u, bool runs);

/* kernel_thread_events_fd - the descriptor of the @i-th CPU to wait for (EPOLLIN); -1 after the
 * last. */
int kernel_thread_events_fd(const struct kernel_thread_events *u, int i);

/*
 * kernel_thread_events_read - call @each for the changes since the last call, in order of time.
 *
 * Every change recorded before this call is reported in this call or an earlier one. Returns false
 * if changes were lost.
 */
bool kernel_thread_events_read(struct kernel_thread_events *u,
			       void (*each)(void *arg, const struct kernel_change *c), void *arg);

#endif
