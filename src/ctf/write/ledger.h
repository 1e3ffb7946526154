/* SPDX-License-Identifier: MIT */
/*
 * ctf/write/ledger.h - events and bytes of the packets written so far, exact to the packet at any
 * kill.
 *
 * It lies in memory that outlives the writer: a successor continues it.  A packet is entered in
 * three steps:
 *
 *   ctf_ledger_begin    what the packet will add
 *   the packet and its index entry are written
 *   ctf_ledger_end      the sum is made beside the valid one, then one store makes it valid
 *
 * A writer killed in between leaves a packet that is in the files and not in the sum, or in
 * neither.  ctf_ledger_settle() finds out which: it is given the bytes that the files have.
 *
 * One process writes at a time; others may read at any time and see a sum that was valid.
 */
#ifndef CTF_WRITE_LEDGER_H
#define CTF_WRITE_LEDGER_H

#include <stdint.h>

#include "base/atomic.h"

struct ctf_sum {
	uint64_t events, bytes;
};

struct ctf_ledger {
	struct ctf_sum sums[2];
	uint32_t valid; /* index of the valid one */
	struct ctf_sum begun;
};

/* ctf_ledger_read - what is written.  Zeroes for NULL. */
static inline struct ctf_sum ctf_ledger_read(const struct ctf_ledger *l)
{
	return l ? l->sums[load_acquire(&l->valid) & 1] : (struct ctf_sum){ 0 };
}

static inline struct ctf_sum ctf_ledger_less(struct ctf_sum a, struct ctf_sum b)
{
	return (struct ctf_sum){ a.events - b.events, a.bytes - b.bytes };
}

static inline struct ctf_sum ctf_ledger_plus(struct ctf_sum a, struct ctf_sum b)
{
	return (struct ctf_sum){ a.events + b.events, a.bytes + b.bytes };
}

/* ctf_ledger_set - replace the sum, in one step. */
static inline void ctf_ledger_set(struct ctf_ledger *l, struct ctf_sum sum)
{
	uint32_t next = !(load(&l->valid) & 1);

	l->sums[next] = sum;
	store_release(&l->valid, next); /* after the sum */
}

static inline void ctf_ledger_begin(struct ctf_ledger *l, uint64_t events, uint64_t bytes)
{
	if (l)
		l->begun = (struct ctf_sum){ events, bytes };
}

static inline void ctf_ledger_end(struct ctf_ledger *l)
{
	if (l)
		ctf_ledger_set(l, ctf_ledger_plus(ctf_ledger_read(l), l->begun));
}

/*
 * ctf_ledger_settle - after a kill, and after the recovery of the trace that was being written.
 *
 * @before: the sum when that trace was begun.  @found: bytes in its files.  Does nothing when
 * called again.
 */
static inline void ctf_ledger_settle(struct ctf_ledger *l, struct ctf_sum before, uint64_t found)
{
	struct ctf_sum now = ctf_ledger_read(l);

	if (now.bytes - before.bytes == found)
		return;
	if (now.bytes - before.bytes + l->begun.bytes == found)
		now.events += l->begun.events;
	now.bytes = before.bytes + found;
	ctf_ledger_set(l, now);
}

#endif
