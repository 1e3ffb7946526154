/* SPDX-License-Identifier: MIT */
/*
 * kernel/threads/thread_table.h - what was known of each thread of the machine, and when: for
 * contexts of kernel events.
 *
 * A thread has versions, each from a moment on: pages of CPUs are converted one after the other, so
 * the events of a thread that moves about come in no order.  Who changes all the time, which
 * anybody may do, takes neither all memory nor all time: THREAD_VERSIONS_MAX are kept of each
 * thread, and found by bisection.
 */
#ifndef KERNEL_THREADS_THREAD_TABLE_H
#define KERNEL_THREADS_THREAD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/clock.h"
#include "kernel/threads/thread_state.h"
#include "kernel/threads/thread_events.h"

enum { THREAD_BUCKETS = 4096, THREAD_VERSIONS_MAX = 4096 };

struct thread_version {
	uint64_t from_ns;
	struct kernel_thread_state state;
};

struct thread {
	struct thread *next; /* in its bucket */
	int32_t tid;
	uint64_t scanned_ns;
	uint64_t stamped_ns; /* of the last look whose outcome is in the versions */
	uint64_t dead_ns;    /* 0: it lives */
	uint32_t n_reported; /* births, and rights that were granted */
	bool asks;	     /* for `ids` by `call` */
	enum kernel_setter call;
	int32_t ids[2];
	struct thread_version *versions; /* in order of time */
	int n, n_rooms;
};

struct thread_table {
	uint32_t mask;		       /* contexts that are wanted */
	uint32_t inspected;	       /* those of which nothing is told */
	const struct abi_clock *clock; /* lent */
	size_t n_versions;	       /* of all */
	struct thread *buckets[THREAD_BUCKETS];
};

/* threads_find - NULL: there is none. */
struct thread *threads_find(struct thread_table *t, int32_t tid);
/* threads_find_or_add - a new one has no version.  NULL: no memory. */
struct thread *threads_find_or_add(struct thread_table *t, int32_t tid);
/* threads_meet - one that nobody told of is looked at: it was there before, or what told of it is
 * lost.  It has a version. NULL: no memory. */
struct thread *threads_meet(struct thread_table *t, int32_t tid);

/* threads_add_version - behind the newest, which it begins as.  Valid until the next of this
 * thread.  NULL: no memory, then things stay as they were. */
struct thread_version *threads_add_version(struct thread_table *t, struct thread *of,
					   uint64_t from_ns);
/* thread_newest, thread_at - of a thread that has versions; the oldest one that is kept also of
 * times before it. */
static inline struct thread_version *thread_newest(const struct thread *t)
{
	return &t->versions[t->n - 1];
}
struct thread_version *thread_at(const struct thread *t, uint64_t ns);

/* threads_read - what of @mask is now @now; false: it is gone, or nothing of it is wanted. */
bool threads_read(const struct thread_table *t, struct thread *of, struct kernel_thread_state *now,
		  uint32_t mask);
/* threads_apply - what of @mask is otherwise @now is so from @ns on. */
void threads_apply(struct thread_table *t, struct thread *of, const struct kernel_thread_state *now,
		   uint64_t ns, uint32_t mask);
/* threads_reread - both. */
void threads_reread(struct thread_table *t, struct thread *of, uint64_t ns, uint32_t mask);

/* threads_prune - forget what no event from @ns on needs. */
void threads_prune(struct thread_table *t, uint64_t ns);
void threads_forget(struct thread_table *t);

#endif
