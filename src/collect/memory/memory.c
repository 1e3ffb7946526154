/* SPDX-License-Identifier: MIT */
/*
 * collect/memory/memory.c - allocate and release memory of single chunks with fallocate(2), while
 * programs use the others.
 */
#include "collect/memory/memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALM_SECONDS = 10, RANGE_LEAST = 4 };

/* ---------------------------------------------------------------- memory nodes */

/* The length of a range; the last one has the rest too. */
static uint32_t range_of(const struct pool_memory *s)
{
	return s->pool->n_chunks / s->n_ranges;
}

/* The chunk with which range @i begins. */
static uint32_t range_begin(const struct pool_memory *s, uint32_t i)
{
	return i < s->n_ranges ? i * range_of(s) : s->pool->n_chunks;
}

/* The @k-th chunk to have memory: the first of each range, then the second of each, then the rest. */
static uint32_t in_order(const struct pool_memory *s, uint32_t k)
{
	return k < range_of(s) * s->n_ranges ? k % s->n_ranges * range_of(s) + k / s->n_ranges : k;
}

static bool bind_chunks(const struct pool_memory *s, uint32_t begin, uint32_t end, int policy,
			const unsigned long *nodes)
{
	char *at = (char *)pool_chunk_at(s->pool, begin);
	unsigned long size = (unsigned long)(end - begin) << s->pool->chunk_shift;

	/* The kernel counts one bit less than it is given. */
	return !syscall(SYS_mbind, at, size, policy, nodes, nodes ? NODE_IDS + 1 : 0, 0);
}

static bool bind_ranges(const struct pool_memory *s, const struct nodes *nodes)
{
	enum { BITS = 8 * sizeof(unsigned long) };

	for (uint32_t i = 0; i < s->n_ranges; i++) {
		unsigned long mask[NODE_IDS / BITS + 1] = { 0 };

		mask[nodes->id[i] / BITS] = 1ul << nodes->id[i] % BITS;
		if (!bind_chunks(s, range_begin(s, i), range_begin(s, i + 1), MPOL_PREFERRED, mask))
			return false;
	}
	return true;
}

/*
 * If a node cannot be had (a cpuset, or a container without CAP_SYS_NICE) no range is bound: a CPU that
 * begins elsewhere would gain nothing.
 */
void pool_memory_place(struct pool_memory *s, const struct nodes *nodes)
{
	assert(nodes->n >= 1 && nodes->n <= NODES_MOST);
	s->n_ranges = 1;
	if (nodes->n < 2 || s->pool->n_chunks / nodes->n < RANGE_LEAST)
		return;
	s->n_ranges = nodes->n;
	if (!bind_ranges(s, nodes)) {
		s->n_ranges = 1;
		bind_chunks(s, 0, s->pool->n_chunks, MPOL_DEFAULT, NULL);
		return;
	}
	for (uint32_t i = 0; i < s->pool->n_cpus; i++)
		store(&pool_slot(s->pool, i)->first, range_begin(s, nodes->of_cpu[i]));
}

/* ---------------------------------------------------------------- memory of chunks */

static uint64_t chunk_offset(const struct pool_memory *s, uint32_t i)
{
	return s->offset + (uint64_t)((char *)pool_chunk_at(s->pool, i) - (char *)s->pool->shared);
}

static bool is_parked(const struct pool_memory *s, uint32_t i)
{
	uint64_t state = load(&s->pool->states[i]);

	return ABI_STATE_OF(state) == ABI_BUSY && ABI_OWNER_OF(state) == s->pool->owner;
}

static bool unpark(struct pool_memory *s, uint32_t i)
{
	assert(s->n_parked > 0);
	if (posix_fallocate(s->fd, (off_t)chunk_offset(s, i), s->pool->chunk_size))
		return false;
	pool_unclaim(s->pool, pool_chunk_at(s->pool, i));
	s->n_parked--;
	return true;
}

static void park(struct pool_memory *s, uint32_t i)
{
	uint64_t state = load(&s->pool->states[i]);

	assert(i < s->pool->n_chunks);
	if (ABI_STATE_OF(state) != ABI_FREE ||
	    !compare_exchange(&s->pool->states[i], &state,
			      ABI_STATE(ABI_ORDER_OF(state), s->pool->owner, ABI_BUSY)))
		return;
	fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)chunk_offset(s, i),
		  s->pool->chunk_size);
	s->n_parked++;
}

/* Memory for the pool's header and its first chunks.  With one range they are one piece. */
static int allocate_first(const struct pool_memory *s)
{
	uint64_t header = chunk_offset(s, 0) - s->offset,
		 chunks = (uint64_t)s->n_least * s->pool->chunk_size;
	int err = posix_fallocate(s->fd, (off_t)s->offset,
				  (off_t)(s->n_ranges < 2 ? header + chunks : header));

	for (uint32_t k = 0; s->n_ranges > 1 && k < s->n_least && !err; k++)
		err = posix_fallocate(s->fd, (off_t)chunk_offset(s, in_order(s, k)),
				      s->pool->chunk_size);
	return err;
}

int pool_memory_begin(struct pool_memory *s, uint32_t n_least, struct diag *d)
{
	uint32_t n = s->pool->n_chunks;
	uint64_t size;
	int err;

	assert(s->n_ranges > 0);
	s->n_least = n_least < n ? n_least : n;
	size = chunk_offset(s, 0) - s->offset + (uint64_t)s->n_least * s->pool->chunk_size;
	err = allocate_first(s);
	if (err)
		return diag_fail(d, -err,
				 "cannot allocate %llu MiB of buffers: %s (--buffer asks for less)",
				 (unsigned long long)size >> 20, strerror(err));
	for (uint32_t k = s->n_least; k < n; k++)
		store(&s->pool->states[in_order(s, k)], ABI_STATE(0, s->pool->owner, ABI_BUSY));
	s->n_parked = n - s->n_least;
	return 0;
}

static uint32_t count_used(const struct pool_memory *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->pool->n_chunks; i++)
		n += ABI_STATE_OF(load(&s->pool->states[i])) != ABI_FREE;
	return n > s->n_parked ? n - s->n_parked : 0;
}

void pool_memory_count(const struct pool_memory *s, struct pool_memory_counts *c)
{
	*c = (struct pool_memory_counts){ .chunks = s->pool->n_chunks,
					  .backed = s->pool->n_chunks - s->n_parked,
					  .used = count_used(s) };
}

void pool_memory_adjust(struct pool_memory *s)
{
	uint32_t have = s->pool->n_chunks - s->n_parked, used = count_used(s), more = have;

	assert(s->n_parked <= s->pool->n_chunks);
	s->most_used = used > s->most_used ? used : s->most_used;
	if (!s->n_parked || used <= have / 2 || s->is_short)
		return;
	for (uint32_t k = 0; k < s->pool->n_chunks && more && s->n_parked && !s->is_short; k++) {
		uint32_t i = in_order(s, k);

		if (is_parked(s, i)) {
			s->is_short = !unpark(s, i);
			s->was_short |= s->is_short;
			more--;
		}
	}
}

bool pool_memory_grow(struct pool_memory *s, uint32_t n_least, uint32_t n_now)
{
	uint32_t n = s->pool->n_chunks;

	s->n_least = n_least < n ? n_least : n;
	for (uint32_t k = 0; k < n && n_now && n - s->n_parked < s->n_least && !s->is_short; k++) {
		uint32_t i = in_order(s, k);

		if (is_parked(s, i)) {
			s->is_short = !unpark(s, i);
			n_now--;
		}
	}
	return n - s->n_parked < s->n_least && !s->is_short;
}

bool pool_memory_is_calm(struct pool_memory *s)
{
	uint64_t before = s->order;

	s->order = load(&s->pool->shared->order);
	return s->order == before;
}

void pool_memory_rest(struct pool_memory *s)
{
	uint32_t have = s->pool->n_chunks - s->n_parked;

	assert(s->n_parked <= s->pool->n_chunks);
	s->calm = s->most_used < have / 4 ? s->calm + 1 : 0;
	s->most_used = 0;
	if (s->calm < CALM_SECONDS)
		return;
	s->calm = 0;
	s->is_short = false;
	/* Parks half of them, from the end, because writers take the first ones. */
	for (uint32_t k = s->pool->n_chunks, n = have / 2; k-- > 0 && n && have > s->n_least;) {
		uint32_t i = in_order(s, k);

		if (ABI_STATE_OF(load(&s->pool->states[i])) == ABI_FREE) {
			park(s, i);
			n--;
			have--;
		}
	}
}

void pool_memory_recount(struct pool_memory *s)
{
	s->n_parked = 0;
	for (uint32_t i = 0; i < s->pool->n_chunks; i++)
		s->n_parked += is_parked(s, i);
}
