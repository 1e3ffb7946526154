/* SPDX-License-Identifier: MIT */
/*
 * base/quota.h - how much may lie somewhere until somebody takes it away.
 *
 * In memory that both share; any thread or process, concurrently.
 */
#ifndef BASE_QUOTA_H
#define BASE_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

struct quota {
	uint64_t limit; /* bytes */
	uint64_t held;
	uint32_t was_full; /* something was refused */
};

/* Whether @bytes more fit; they are counted then.  A NULL quota has no limit. */
static inline bool quota_take(struct quota *q, uint64_t bytes)
{
	if (!q)
		return true;
	if (fetch_add(&q->held, bytes) + bytes <= load(&q->limit))
		return true;
	fetch_add(&q->held, -bytes);
	store(&q->was_full, 1);
	return false;
}

static inline void quota_give_back(struct quota *q, uint64_t bytes)
{
	if (q)
		fetch_add(&q->held, -bytes);
}

#endif
