/* SPDX-License-Identifier: MIT */
/*
 * base/quota.h - how much may lie somewhere until somebody takes it away.
 *
 * In memory that two processes share: one writes, one takes away; either may be killed at any
 * instruction, and then the count is wrong.  Who takes away sees what lies there, and puts the
 * count right at a moment when nothing is being written: n_begun and n_done tell which those are.
 * A writer that takes the place of a killed one says so by quota_resume.
 */
#ifndef BASE_QUOTA_H
#define BASE_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

struct quota {
	uint64_t limit; /* bytes */
	uint64_t held;
	uint32_t was_full;	  /* something was refused */
	uint32_t n_begun, n_done; /* writes; the same: none is going on */
};

/* quota_take - whether @bytes more fit; they are counted then, and to be written now: quota_wrote
 * follows.  A NULL quota has no limit. */
static inline bool quota_take(struct quota *q, uint64_t bytes)
{
	if (!q)
		return true;
	fetch_add(&q->n_begun, 1); /* first: see quota_correct */
	if (fetch_add(&q->held, bytes) + bytes <= load(&q->limit))
		return true;
	fetch_add(&q->held, -bytes);
	fetch_add(&q->n_done, 1);
	store(&q->was_full, 1);
	return false;
}

/* quota_wrote - they lie there; or not, and @undone of them are given back. */
static inline void quota_wrote(struct quota *q, uint64_t undone)
{
	if (!q)
		return;
	fetch_add(&q->held, -undone);
	fetch_add(&q->n_done, 1);
}

/* quota_resume - by the writer's successor, before it writes anything. */
static inline void quota_resume(struct quota *q)
{
	if (q)
		store_release(&q->n_done, load(&q->n_begun));
}

static inline void quota_give_back(struct quota *q, uint64_t bytes)
{
	if (q)
		fetch_add(&q->held, -bytes);
}

/* quota_observe - before what lies there is counted: how many writes have begun; @*is_still: none
 * goes on. */
static inline uint32_t quota_observe(const struct quota *q, bool *is_still)
{
	uint32_t n_done = q ? load_acquire(&q->n_done) : 1,
		 n_begun = q ? load_acquire(&q->n_begun) : 0;

	*is_still = n_begun == n_done;
	return n_begun;
}

/* quota_correct - @bytes were counted since quota_observe, which said @n_begun and still.  What is
 * taken meanwhile is counted beside it; if anything was before, there will be another moment. */
static inline void quota_correct(struct quota *q, uint32_t n_begun, uint64_t bytes)
{
	uint64_t held = __atomic_load_n(&q->held, __ATOMIC_SEQ_CST);

	if (__atomic_load_n(&q->n_begun, __ATOMIC_SEQ_CST) == n_begun && held != bytes)
		fetch_add(&q->held, bytes - held);
}

#endif
