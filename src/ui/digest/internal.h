/* SPDX-License-Identifier: MIT */
/*
 * ui/digest/internal.h - chunks, shared by the files of this room:
 *
 *   chunks.c   bins; chunks made, and kept for as long as the index lives
 *   digest.c   spans put together from chunks: sums, distributions, the slowest
 */
#ifndef UI_DIGEST_INTERNAL_H
#define UI_DIGEST_INTERNAL_H

#include <pthread.h>
#include <stddef.h>

#include "ui/digest/digest.h"

enum { CHUNK = 4096, TABLE = 2 * CHUNK };

struct bin {
	uint16_t bin, n;
};

/* The intervals of one name in a chunk. */
struct part {
	uint32_t what, n, errors, max_i;
	uint64_t sum, min, max;
	uint32_t first_bin, n_bins; /* in the bins of its chunk, ascending */
};

struct chunk {
	uint32_t n_parts, n_bins;
	struct bin *bins; /* behind the parts */
	struct part parts[];
};

/* The chunks of all tracks, for as long as the index lives. */
struct digests {
	pthread_mutex_t lock;
	struct {
		struct chunk **chunks;
		uint32_t n;
	} * tracks;
	uint32_t n_tracks;
	size_t bytes;
	pthread_t thread; /* that makes all chunks: ui_digest_warm() */
	bool has_thread;
	uint32_t stops; /* atomic: it ends soon */
	struct ui_index *x;
};

struct digest_scratch {
	struct ui_interval read[CHUNK];
	uint32_t table[TABLE]; /* by hash of the name: part plus 1 */
	uint32_t part_of[CHUNK];
	struct part parts[CHUNK];
	uint32_t order[CHUNK]; /* intervals by part */
	struct bin bins[CHUNK];
	uint16_t counts[UI_BINS];
};

static inline uint64_t length_of(const struct ui_interval *v)
{
	return (uint64_t)(v->end_ns - v->begin_ns);
}

static inline bool is_error(const struct ui_interval *v)
{
	return v->aux < 0 && v->aux > -4096;
}

static inline void add_to_part(struct part *p, const struct ui_interval *v, uint32_t i)
{
	uint64_t ns = length_of(v);

	if (!p->n || ns > p->max) {
		p->max = ns;
		p->max_i = i;
	}
	if (ns < p->min)
		p->min = ns;
	p->n++;
	p->errors += is_error(v);
	p->sum += ns;
}

/* digests_of - those of @x; NULL: no memory. */
struct digests *digests_of(struct ui_index *x);
/* chunk_find - chunk @chunk of @track if it was kept; NULL. */
const struct chunk *chunk_find(struct digests *k, uint32_t track, uint32_t chunk);
/* chunk_make - the chunk of the @n intervals in @s->read, of which the first is number @first; NULL: no
 * memory. */
struct chunk *chunk_make(struct digest_scratch *s, uint32_t first, uint32_t n);
/* chunk_keep - whether @c is kept now; else the caller frees it. */
bool chunk_keep(struct digests *k, uint32_t track, uint32_t chunk, struct chunk *c);

#endif
