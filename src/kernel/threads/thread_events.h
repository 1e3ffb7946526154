/* SPDX-License-Identifier: MIT */
/*
 * kernel/threads/thread_events.h - what changes of threads, told by the kernel: a second instance
 * of tracefs that records only their births, names, cgroups and ends, of the whole machine.
 *
 * Apart from the first, because these events are wanted in time order and before those that they
 * explain, whatever else is recorded; and because a page of the first cannot wait until all others
 * are read.
 */
#ifndef KERNEL_THREADS_THREAD_EVENTS_H
#define KERNEL_THREADS_THREAD_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/clock.h"
#include "base/diag.h"

struct kernel_thread_events;

enum kernel_change_kind {
	KERNEL_CHANGE_BORN, /* of `by`, with `flags` of clone(2) */
	KERNEL_CHANGE_NAME,
	KERNEL_CHANGE_EXEC,    /* of what was thread `by` */
	KERNEL_CHANGE_CGROUP,  /* the process if it is its first thread: in the unified hierarchy */
	KERNEL_CHANGE_ASKED,   /* the thread asks the system call `call` for other rights */
	KERNEL_CHANGE_GRANTED, /* and has them */
	KERNEL_CHANGE_END,
};

enum kernel_setter {
	KERNEL_SETUID,
	KERNEL_SETGID,
	KERNEL_SETREUID,
	KERNEL_SETREGID,
	KERNEL_SETRESUID,
	KERNEL_SETRESGID,
	KERNEL_SETTER_WITH_IDS, /* those before: their arguments tell what is set */
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
	int32_t ids[2]; /* asked for: real and effective one; -1: as it is.  Of setuid and setgid
			   the first alone */
	char text[256]; /* name or path */
};

struct kernel_thread_events_options {
	int root;		       /* of tracefs, lent; -1: an instance is borrowed */
	const struct abi_clock *clock; /* lent */
	bool cgroups_alone; /* of all this only who changes the cgroup, and who reads is woken at
			       once */
	bool system_calls;  /* they are traced anyway: so those that set rights cost nothing more */
};

/* kernel_thread_events_open - it does not record yet.  0 or -errno. */
int kernel_thread_events_open(struct kernel_thread_events **u,
			      const struct kernel_thread_events_options *o, struct diag *d);
/* kernel_thread_events_close - accepts NULL. */
void kernel_thread_events_close(struct kernel_thread_events *u);

/* kernel_thread_events_run - record, or do not.  0 or -errno. */
int kernel_thread_events_run(struct kernel_thread_events *u, bool runs);

/* kernel_thread_events_fd - of a CPU, to wait for what comes (EPOLLIN); -1 behind the last. */
int kernel_thread_events_fd(const struct kernel_thread_events *u, int i);

/*
 * kernel_thread_events_read - tell @each what changed since it was read last, in order of time.
 *
 * All that lies before the call is told, in this call or an earlier one.  Returns false if some was
 * lost.
 */
bool kernel_thread_events_read(struct kernel_thread_events *u,
			       void (*each)(void *arg, const struct kernel_change *c), void *arg);

#endif
