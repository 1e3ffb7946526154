/* SPDX-License-Identifier: MIT */
/*
 * collect/session/memory.c - allocate and release memory of single chunks with fallocate(2), while
 * programs use the others.
 */
#include "collect/session/memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { CALM_SECONDS = 10 };

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

int pool_memory_begin(struct pool_memory *s, uint32_t n_least, struct diag *d)
{
	uint32_t n = s->pool->n_chunks;
	uint64_t size;
	int err;

	s->n_least = n_least < n ? n_least : n;
	size = chunk_offset(s, 0) - s->offset + (uint64_t)s->n_least * s->pool->chunk_size;
	err = posix_fallocate(s->fd, (off_t)s->offset, (off_t)size);
	if (err)
		return diag_fail(d, -err,
				 "cannot allocate %llu MiB of buffers: %s (--buffer asks for less)",
				 (unsigned long long)size >> 20, strerror(err));
	for (uint32_t i = s->n_least; i < n; i++)
		store(&s->pool->states[i], ABI_STATE(0, s->pool->owner, ABI_BUSY));
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
	for (uint32_t i = 0; i < s->pool->n_chunks && more && s->n_parked && !s->is_short; i++)
		if (is_parked(s, i)) {
			s->is_short = !unpark(s, i);
			s->was_short |= s->is_short;
			more--;
		}
}

bool pool_memory_grow(struct pool_memory *s, uint32_t n_least, uint32_t n_now)
{
	uint32_t n = s->pool->n_chunks;

	s->n_least = n_least < n ? n_least : n;
	for (uint32_t i = 0; i < n && n_now && n - s->n_parked < s->n_least && !s->is_short; i++)
		if (is_parked(s, i)) {
			s->is_short = !unpark(s, i);
			n_now--;
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
	for (uint32_t i = s->pool->n_chunks, n = have / 2; i-- > 0 && n && have > s->n_least;)
		if (ABI_STATE_OF(load(&s->pool->states[i])) == ABI_FREE) {
			park(s, i);
			n--;
			have--;
		}
}

void pool_memory_recount(struct pool_memory *s)
{
	s->n_parked = 0;
	for (uint32_t i = 0; i < s->pool->n_chunks; i++)
		s->n_parked += is_parked(s, i);
}
