/* SPDX-License-Identifier: MIT */
/*
 * collect/session/memory.h - how much of a pool has memory.
 *
 * A pool is as large as it may ever become; it begins with a part of that, and grows and shrinks
 * with the load.  A chunk without memory is parked: BUSY, owned by us.  So no writer can take it,
 * and its first touch is never a writer's: memory is found here, by fallocate, where failing is
 * harmless, and is charged to us, not to the container of a traced program.
 *
 *   (1) a parked chunk is ours alone: by the exchange that made it BUSY
 *   (2) memory is there before the chunk is FREE, and goes after it is BUSY
 *
 * One thread.
 */
#ifndef COLLECT_SESSION_MEMORY_H
#define COLLECT_SESSION_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "ring/pool.h"

struct pool_memory {
	struct pool *pool; /* lent */
	int fd;		   /* the memory, lent */
	uint64_t offset;   /* of the pool in it */
	uint32_t n_parked;
	uint32_t n_least;   /* chunks that always have memory */
	uint32_t most_used; /* since pool_memory_rest looked last */
	uint64_t order;	    /* the pool's, when pool_memory_is_calm looked last */
	uint32_t calm;	    /* times in a row that little was used */
	bool is_short;	    /* no more memory was to be had; tried again when calm */
};

/* pool_memory_begin - give memory to what the pool needs besides chunks, and to @n_least of them;
 * park the others.  Before programs see the pool.  0 or -errno. */
int pool_memory_begin(struct pool_memory *s, uint32_t n_least, struct diag *d);

/* pool_memory_adjust - before a pass: with more than half of the memory in use, give as much again.
 */
void pool_memory_adjust(struct pool_memory *s);

/* Whether no chunk was closed since the last call: then hardly more are in use. */
bool pool_memory_is_calm(struct pool_memory *s);

/* Chunks: all there may be, those that have memory, of these those in use. */
struct pool_memory_counts {
	uint32_t chunks, backed, used;
};
void pool_memory_count(const struct pool_memory *s, struct pool_memory_counts *c);

/* pool_memory_rest - once a second: take back what was not needed for a while. */
void pool_memory_rest(struct pool_memory *s);

/* pool_memory_recount - another process has parked and unparked in our name. */
void pool_memory_recount(struct pool_memory *s);

#endif
