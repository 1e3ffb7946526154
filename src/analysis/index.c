/* SPDX-License-Identifier: MIT */
/*
 * analysis/index.c - a hash table with chains; its entries lie in one array, in the order of
 * insertion.
 */
#include "analysis/index.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "analysis/pass.h"

static const uint32_t KEYS_MAX = 1u << 26;

static uint32_t hash(const uint64_t of[3])
{
	uint64_t h = 0;

	for (int i = 0; i < 3; i++) {
		h = (h ^ of[i]) * 0x9E3779B97F4A7C15u;
		h ^= h >> 29;
	}
	return (uint32_t)(h >> 32);
}

static int rehash(struct index *k)
{
	uint32_t n = k->n_buckets ? k->n_buckets * 2 : 256;
	uint32_t *buckets = calloc(n, sizeof *buckets);

	if (!buckets)
		return -ENOMEM;
	for (uint32_t i = 0; i < k->n; i++) {
		uint32_t *b = &buckets[hash(k->at[i].of) & (n - 1)];

		k->at[i].next = *b;
		*b = i + 1;
	}
	free(k->buckets);
	k->buckets = buckets;
	k->n_buckets = n;
	return 0;
}

int64_t index_find(struct index *k, uint64_t a, uint64_t b, uint64_t c, bool may_add)
{
	const uint64_t of[3] = { a, b, c };
	uint32_t *bucket, i;

	if (k->n >= k->n_buckets && rehash(k))
		return -ENOMEM;
	assert(k->n < k->n_buckets && !(k->n_buckets & (k->n_buckets - 1)));
	bucket = &k->buckets[hash(of) & (k->n_buckets - 1)];
	for (i = *bucket; i; i = k->at[i - 1].next)
		if (k->at[i - 1].of[0] == a && k->at[i - 1].of[1] == b && k->at[i - 1].of[2] == c)
			return i - 1;
	if (!may_add)
		return -1;
	if (k->n == KEYS_MAX || pass_grow(&k->at, &k->n_rooms, k->n, sizeof *k->at))
		return -ENOMEM;
	k->at[k->n] = (struct index_key){ { a, b, c }, 0, *bucket };
	assert(k->n < k->n_rooms);
	*bucket = ++k->n;
	return k->n - 1;
}

void index_fini(struct index *k)
{
	free(k->at);
	free(k->buckets);
	*k = (struct index){ 0 };
}
