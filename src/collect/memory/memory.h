/* SPDX-License-Identifier: MIT */
/*
 * collect/memory/memory.h - how much of a pool is backed by memory, and on which nodes.
 *
 * A pool has the address space of its largest size.  It starts with a part of the memory, and grows
 * and shrinks with the load.  A chunk without memory is parked: BUSY, owned by us.  So no writer
 * can take it, and no writer is the first to touch its pages.  Memory is allocated here, by
 * fallocate, where a failure is harmless, and it is charged to us, not to the container of a traced
 * program.
 *
 *   (1) a parked chunk is ours alone: by the exchange that made it BUSY
 *   (2) memory is allocated before the chunk becomes FREE, and released after it is BUSY
 *
 * On a machine with several memory nodes the chunks are as many ranges.  Memory of a range is preferably of
 * its node: tmpfs keeps that with the file, whichever process touches a page.  A CPU's slot names the
 * first chunk of its node, where its writers begin their search.
 *
 * One thread.
 */
#ifndef COLLECT_MEMORY_MEMORY_H
#define COLLECT_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "collect/memory/nodes.h"
#include "ring/pool.h"

struct pool_memory {
	struct pool *pool; /* borrowed */
	int fd;		   /* the memory, borrowed */
	uint64_t offset;   /* of the pool in it */
	uint32_t n_ranges; /* of chunks, one for each node; set by pool_memory_place() */
	uint32_t n_parked;
	uint32_t n_least;   /* chunks that always have memory */
	uint32_t most_used; /* since the last pool_memory_rest */
	uint64_t order;	    /* the pool's order at the last pool_memory_is_calm */
	uint32_t calm;	    /* consecutive seconds with little use */
	bool is_short;	    /* allocation failed; tried again when calm */
	bool was_short;	    /* it has failed */
};

/* pool_memory_place - make ranges for @nodes, before any chunk has memory.  One range if they cannot be
 * bound. */
void pool_memory_place(struct pool_memory *s, const struct nodes *nodes);

/*
 * pool_memory_begin - allocate the pool's header and @n_least chunks, and park the others, before
 * programs see the pool.  0 or -errno.
 */
int pool_memory_begin(struct pool_memory *s, uint32_t n_least, struct diag *d);

/*
 * pool_memory_grow - from now on @n_least chunks have memory: back at most @n_now more of them.
 * Returns whether more are to be backed. If memory is short, there are fewer.
 */
bool pool_memory_grow(struct pool_memory *s, uint32_t n_least, uint32_t n_now);

/* pool_memory_adjust - before a pass: if more than half of the memory is in use, double it. */
void pool_memory_adjust(struct pool_memory *s);

/* Whether no chunk was closed since the last call: then hardly more of them are in use. */
bool pool_memory_is_calm(struct pool_memory *s);

/* Chunks: of the pool; with memory; of these, in use. */
struct pool_memory_counts {
	uint32_t chunks, backed, used;
};
void pool_memory_count(const struct pool_memory *s, struct pool_memory_counts *c);

/* pool_memory_rest - call it once a second: releases memory that was not needed for a while. */
void pool_memory_rest(struct pool_memory *s);

/* pool_memory_recount - count again after another process has parked and unparked for us. */
void pool_memory_recount(struct pool_memory *s);

#endif
