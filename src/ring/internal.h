/* SPDX-License-Identifier: MIT */
/* ring/internal.h - the event header, which both write paths write. */
#ifndef RING_INTERNAL_H
#define RING_INTERNAL_H

#include <string.h>

#include "abi/ctf.h"
#include "ring/write.h"

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

/* Writes header and threads of an event at @t_ns; returns their size. */
static inline uint32_t ring_put_header(const struct pool *p, char *at, uint32_t id,
				       ring_context context, uint64_t t_ns, uint64_t last_ns)
{
	struct abi_ctf_event_wide wide = { ABI_CTF_HEAD(ABI_CTF_WIDE, t_ns), (uint16_t)id };
	struct abi_ctf_event_extended extended = { ABI_CTF_EXTENDED, id, t_ns };
	uint32_t head = ABI_CTF_HEAD(id, t_ns), n = sizeof head;

	if (t_ns - last_ns > p->gap_max_ns) {
		n = sizeof extended;
		memcpy(at, &extended, sizeof extended);
	} else if (id >= ABI_CTF_WIDE) {
		n = sizeof wide;
		memcpy(at, &wide, sizeof wide);
	} else {
		memcpy(at, &head, sizeof head);
	}
	memcpy(at + n, &context, p->context_bytes);
	return n + (uint32_t)p->context_bytes;
}

#endif
