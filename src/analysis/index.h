/* SPDX-License-Identifier: MIT */
/*
 * analysis/index.h - maps three numbers to a dense index.
 *
 * Analyses count per process, call, field value or call site, and keep arrays. An index never
 * changes once it is given.
 */
#ifndef ANALYSIS_INDEX_H
#define ANALYSIS_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct index_key {
	uint64_t of[3];
	uint32_t user; /* for the owner's use; 0 at first */
	uint32_t next; /* in its bucket, plus 1 */
};

struct index { /* zeroed: empty */
	struct index_key *at;
	uint32_t n, n_rooms;
	uint32_t *buckets;
	uint32_t n_buckets; /* a power of two */
};

/* index_find - the index of (@a, @b, @c). A new key is added if @may_add. Returns -1 if there is
 * none; -ENOMEM. */
int64_t index_find(struct index *k, uint64_t a, uint64_t b, uint64_t c, bool may_add);
void index_fini(struct index *k);

#endif
