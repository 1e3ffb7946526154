/* SPDX-License-Identifier: MIT */
/*
 * ctf/write/ledger.h - events and bytes of the packets written so far, exact to the packet at any
 * kill.
 *
 * It lies in memory that outlives the writer: a successor continues it.  The packets of one write
 * are entered in three steps:
 *
 *   ctf_ledger_begin    the events and bytes of each packet, in order
 *   the packets and their index entries are written
 *   ctf_ledger_end      the sum is made beside the valid one, then one store makes it valid
 *
 * A writer killed in between leaves the first of them in the files, or none or all, and none in the
 * sum.  ctf_ledger_settle() finds out which: it is given the bytes that the files have.
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

enum { CTF_PACKETS_MOST = 4 }; /* that one write adds to a stream */

struct ctf_ledger {
	struct ctf_sum sums[2];
	uint32_t valid; /* index of the valid one */
	uint32_t n_begun;
	struct ctf_sum begun[CTF_PACKETS_MOST]; /* of the first packet, the first two, .. */
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

/* ctf_ledger_begin - @n packets of one write will add @each; 0: none is being written. */
static inline void ctf_ledger_begin(struct ctf_ledger *l, const struct ctf_sum *each, uint32_t n)
{
	struct ctf_sum sum = { 0 };

	if (!l)
		return;
	store(&l->n_begun, 0); /* we may be killed */
	for (uint32_t i = 0; i < n && i < CTF_PACKETS_MOST; i++)
		l->begun[i] = sum = ctf_ledger_plus(sum, each[i]);
	store_release(&l->n_begun, n < CTF_PACKETS_MOST ? n : CTF_PACKETS_MOST);
}

static inline void ctf_ledger_end(struct ctf_ledger *l)
{
	if (l && l->n_begun && l->n_begun <= CTF_PACKETS_MOST)
		ctf_ledger_set(l, ctf_ledger_plus(ctf_ledger_read(l), l->begun[l->n_begun - 1]));
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
	for (uint32_t i = 0; i < load(&l->n_begun) && i < CTF_PACKETS_MOST; i++)
		if (now.bytes - before.bytes + l->begun[i].bytes == found) {
			now.events += l->begun[i].events;
			break;
		}
	now.bytes = before.bytes + found;
	ctf_ledger_set(l, now);
}

#endif
