/* SPDX-License-Identifier: MIT */
/*
 * kernel/threads/thread_state.h - the values of contexts (kernel/threads/event_contexts.h) of one thread,
 * as /proc has them now.
 *
 * /proc must show the process ids of the first pid namespace, because the kernel's events have
 * those.
 */
#ifndef KERNEL_THREADS_THREAD_STATE_H
#define KERNEL_THREADS_THREAD_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* In the order of their fields in an event. */
enum kernel_context {
	KERNEL_CONTEXT_PID,
	KERNEL_CONTEXT_PPID,
	KERNEL_CONTEXT_VPID,
	KERNEL_CONTEXT_VTID,
	KERNEL_CONTEXT_PRIO,
	KERNEL_CONTEXT_NICE,
	KERNEL_CONTEXT_UID,
	KERNEL_CONTEXT_EUID,
	KERNEL_CONTEXT_GID,
	KERNEL_CONTEXT_EGID,
	KERNEL_CONTEXT_CGROUP_NS,
	KERNEL_CONTEXT_IPC_NS,
	KERNEL_CONTEXT_MNT_NS,
	KERNEL_CONTEXT_NET_NS,
	KERNEL_CONTEXT_PID_NS,
	KERNEL_CONTEXT_TIME_NS,
	KERNEL_CONTEXT_USER_NS,
	KERNEL_CONTEXT_UTS_NS,
	KERNEL_CONTEXT_PROCNAME,
	KERNEL_CONTEXT_CGROUP,
	KERNEL_CONTEXTS,
	KERNEL_CONTEXT_NUMBERS = KERNEL_CONTEXT_PROCNAME, /* those before it are 32 bits */
};

#define KERNEL_CONTEXT_BIT(c) (1u << (c))
#define KERNEL_CONTEXT_NAMESPACES                                                                  \
	(KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_UTS_NS + 1) -                                           \
	 KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_CGROUP_NS))
#define KERNEL_CONTEXT_PRIORITIES                                                                  \
	(KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_PRIO) | KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_NICE))
#define KERNEL_CONTEXT_CREDENTIALS                                                                 \
	(KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_EGID + 1) - KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_UID))

enum { KERNEL_PROCNAME_BYTES = 17, KERNEL_CGROUP_BYTES = 256 };

struct kernel_thread_state {
	int32_t number[KERNEL_CONTEXT_NUMBERS]; /* by enum kernel_context; namespaces are
						 * unsigned. -1, 0: not known */
	char name[KERNEL_PROCNAME_BYTES];	/* padded with zeroes */
	char cgroup[KERNEL_CGROUP_BYTES]; /* its path in the unified hierarchy; a longer one is
					   * truncated */
};

/* kernel_thread_unknown - set the state for a thread @tid without known data. */
void kernel_thread_unknown(struct kernel_thread_state *s, int32_t tid);

/* kernel_thread_forget - the numbers in @mask are not known. */
void kernel_thread_forget(struct kernel_thread_state *s, uint32_t mask);

/* kernel_thread_read - read the contexts in @mask of thread @tid from /proc; the others in @s stay.
 * False: the thread has ended, and @s may be partly changed. */
bool kernel_thread_read(struct kernel_thread_state *s, int32_t tid, uint32_t mask);

/* kernel_thread_is_set_id - whether it executes a file that gives it another user or group. */
bool kernel_thread_is_set_id(int32_t tid);

#endif
