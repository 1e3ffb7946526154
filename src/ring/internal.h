/* SPDX-License-Identifier: MIT */
/* ring/internal.h - the event header, which both write paths write. */
#ifndef RING_INTERNAL_H
#define RING_INTERNAL_H

#include <string.h>

#include "abi/ctf.h"
#include "ring/write.h"

#define RING_GAP_NS (1ull << 32) /* the short header holds the time modulo this */

bool ring_write_exclusive(struct pool *p, uint32_t id, ring_context context, const void *payload,
			  uint32_t size);

/*
 * Gives back the chunk of an event that this thread left: ring/held.h (2).
 *
 * @place, @word: as the event found them; RING_WORD_UNKNOWN: it had not read the word yet.
 * @order: of this use of a chunk that was in no place.
 */
void ring_give_back(struct pool *p, struct abi_chunk *c, uint64_t *place, uint64_t word,
		    uint64_t order);
#define RING_WORD_UNKNOWN UINT64_MAX

/* Writes header and context of an event at @t_ns; returns their size. */
static inline uint32_t ring_put_header(char *at, uint32_t id, ring_context context, uint64_t t_ns,
				       uint64_t last_ns)
{
	uint32_t n = sizeof(struct abi_ctf_event);

	if (t_ns - last_ns < RING_GAP_NS) {
		struct abi_ctf_event h = { (uint16_t)id, (uint32_t)t_ns };

		memcpy(at, &h, sizeof h);
	} else {
		struct abi_ctf_event_extended h = { ABI_CTF_EXTENDED, id, t_ns };

		memcpy(at, &h, sizeof h);
		n = sizeof h;
	}
	memcpy(at + n, &context, sizeof context);
	return n + (uint32_t)sizeof context;
}

#endif
