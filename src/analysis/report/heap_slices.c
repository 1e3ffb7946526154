/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/heap_slices.c - live bytes of all processes over time, in at most HEAP_SLICES
 * slices of equal length.
 *
 * The length of the recording is not known before its end: when the slices are full, pairs are
 * joined, and each lasts twice as long.
 */
#include <assert.h>
#include <string.h>

#include "analysis/report/heap.h"

/* Joins pairs of slices, so that each lasts twice as long. */
static void halve_slices(struct heap *h)
{
	for (uint32_t i = 0; i < HEAP_SLICES / 2; i++) {
		struct heap_slice *a = &h->slices[2 * i], *b = &h->slices[2 * i + 1];
		struct heap_slice both = *a;

		if (b->is_seen) {
			both.is_seen = true;
			both.last_bytes = b->last_bytes;
			both.peak_bytes =
				a->peak_bytes > b->peak_bytes ? a->peak_bytes : b->peak_bytes;
		}
		h->slices[i] = both;
	}
	memset(h->slices + HEAP_SLICES / 2, 0, sizeof h->slices / 2);
	h->slice_ns *= 2;
}

void heap_slices_add(struct heap *h, int64_t now_ns)
{
	struct heap_slice *s;
	int64_t i;

	if (!h->slice_ns) {
		h->slice_ns = 1000000;
		h->slices_begin_ns = now_ns;
	}
	while ((i = (now_ns - h->slices_begin_ns) / h->slice_ns) >= HEAP_SLICES)
		halve_slices(h);
	if (i < 0)
		i = 0;
	assert(i < HEAP_SLICES);
	s = &h->slices[i];
	if (!s->is_seen || h->all.live_bytes > s->peak_bytes)
		s->peak_bytes = h->all.live_bytes;
	s->is_seen = true;
	s->last_bytes = h->all.live_bytes;
}

void heap_slices_finalize(struct heap *h, int64_t end_ns)
{
	if (h->slice_ns)
		h->n_slices = (uint32_t)((end_ns - h->slices_begin_ns) / h->slice_ns) + 1;
	h->n_slices = h->n_slices < HEAP_SLICES ? h->n_slices : HEAP_SLICES;
	for (uint32_t i = 1; i < h->n_slices; i++)
		if (!h->slices[i].is_seen)
			h->slices[i].peak_bytes = h->slices[i].last_bytes =
				h->slices[i - 1].last_bytes;
}
