/* SPDX-License-Identifier: MIT */
/*
 * base/quota.h - a byte budget shared by one writer process and one remover process.
 *
 * It lies in memory that both share.  Either may be killed at any instruction, and then the count
 * is wrong.  The remover counts the files, and corrects the budget at a moment when no write is in
 * progress: n_begun and n_done show that.  The successor of a killed writer calls quota_resume().
 */
#ifndef BASE_QUOTA_H
#define BASE_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

struct quota {
	uint64_t limit; /* bytes */
	uint64_t held;
	uint32_t was_full;	  /* a write was refused */
	uint32_t n_begun, n_done; /* writes begun and done; equal: none is in progress */
};

/*
 * quota_take - take @bytes from the budget before a write; quota_wrote() must follow.
 *
 * Returns false if they do not fit.  A NULL quota has no limit.
 */
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

/* quota_fits - whether quota_take() would succeed now.  A refusal is not counted. */
static inline bool quota_fits(const struct quota *q, uint64_t bytes)
{
	uint64_t held = q ? load(&q->held) : 0, limit = q ? load(&q->limit) : UINT64_MAX;

	return held <= limit && bytes <= limit - held;
}

/* quota_wrote - the write is done; @undone bytes were not written and return to the budget. */
static inline void quota_wrote(struct quota *q, uint64_t undone)
{
	if (!q)
		return;
	fetch_add(&q->held, -undone);
	fetch_add(&q->n_done, 1);
}

/* quota_resume - forget the unfinished write of a predecessor, before the first write. */
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

/* quota_observe - call before counting the files.  Returns the writes begun; *@is_still: none is in
 * progress. */
static inline uint32_t quota_observe(const struct quota *q, bool *is_still)
{
	uint32_t n_done = q ? load_acquire(&q->n_done) : 1,
		 n_begun = q ? load_acquire(&q->n_begun) : 0;

	*is_still = n_begun == n_done;
	return n_begun;
}

/* quota_correct - set the budget to the @bytes counted since quota_observe() returned @n_begun and
 * was still.  If a write began meanwhile nothing changes: the next count corrects it. */
static inline void quota_correct(struct quota *q, uint32_t n_begun, uint64_t bytes)
{
	uint64_t held = __atomic_load_n(&q->held, __ATOMIC_SEQ_CST);

	if (__atomic_load_n(&q->n_begun, __ATOMIC_SEQ_CST) == n_begun && held != bytes)
		fetch_add(&q->held, bytes - held);
}

#endif
