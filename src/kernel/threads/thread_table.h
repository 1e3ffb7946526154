/* SPDX-License-Identifier: MIT */
/*
 * kernel/threads/thread_table.h - the known state of each thread of the machine over time, for
 * contexts of kernel events.
 *
 * A thread has versions, each valid from its time on. They are needed because pages of CPUs are
 * converted one after the other, so the events of a thread that migrates come out of order. Any
 * program may cause many versions. So each thread keeps at most THREAD_VERSIONS_MAX, and they are
 * found by bisection: neither memory nor time grows without limit.
 */
#ifndef KERNEL_THREADS_THREAD_TABLE_H
#define KERNEL_THREADS_THREAD_TABLE_H

#include <assert.h>
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
	uint64_t stamped_ns; /* of the last read of /proc whose result is in the versions */
	uint64_t dead_ns;    /* 0: it lives */
	uint32_t n_reported; /* births, and granted rights */
	bool has_request;    /* requested `ids` with `call` */
	enum kernel_setter call;
	int32_t ids[2];
	struct thread_version *versions; /* in order of time */
	int n, n_rooms;
};

struct thread_table {
	uint32_t mask;		       /* the contexts to record */
	uint32_t proc_only;	       /* those that only /proc has, no event */
	bool has_setters;	       /* calls that change them are reported */
	const struct abi_clock *clock; /* not owned */
	size_t n_versions;	       /* of all threads */
	struct thread *buckets[THREAD_BUCKETS];
};

/* threads_find - NULL: not in the table. */
struct thread *threads_find(struct thread_table *t, int32_t tid);
/* threads_find_or_add - a new thread has no version. NULL: no memory. */
struct thread *threads_find_or_add(struct thread_table *t, int32_t tid);
/* threads_meet - like threads_find_or_add(), but reads a new thread from /proc: it existed before
 * recording, or its birth was lost. The result has a version. NULL: no memory. */
struct thread *threads_meet(struct thread_table *t, int32_t tid);

/* threads_add_version - add a version after the newest one, as a copy of it. The result is valid
 * until the next version of this thread is added. NULL: no memory; the thread is unchanged. */
struct thread_version *threads_add_version(struct thread_table *t, struct thread *of,
					   uint64_t from_ns);
/* thread_newest, thread_at - for a thread that has versions. For times before the oldest kept
 * version, thread_at() returns that one. */
static inline struct thread_version *thread_newest(const struct thread *t)
{
	assert(t->n > 0);
	return &t->versions[t->n - 1];
}
struct thread_version *thread_at(const struct thread *t, uint64_t ns);

/* threads_read - @now becomes the present state of the contexts in @mask. False: the thread has
 * ended, or none of them is to be recorded. */
bool threads_read(const struct thread_table *t, struct thread *of, struct kernel_thread_state *now,
		  uint32_t mask);
/* threads_apply - contexts in @mask that differ in @now are valid from @ns on. */
void threads_apply(struct thread_table *t, struct thread *of, const struct kernel_thread_state *now,
		   uint64_t ns, uint32_t mask);
/* threads_reread - does both. */
void threads_reread(struct thread_table *t, struct thread *of, uint64_t ns, uint32_t mask);

/* threads_verify - does both for the contexts in @mask; those in @settable are unknown from @ns on if
 * the thread has ended: a value from before need not hold any more. */
void threads_verify(struct thread_table *t, struct thread *of, uint64_t ns, uint32_t mask,
		    uint32_t settable);

/* threads_prune - drop versions that no event from @ns on needs. */
void threads_prune(struct thread_table *t, uint64_t ns);
void threads_forget(struct thread_table *t);

#endif
