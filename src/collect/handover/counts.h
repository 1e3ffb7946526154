/* SPDX-License-Identifier: MIT */
/*
 * collect/handover/counts.h - what a recording has, and each of its traces: events and bytes.
 *
 * Collectors enter each packet into a ledger (ctf/write/ledger.h) in the handover's memory, one for
 * the applications and one for the kernel.  A mark is the ledger's sum when a trace was begun, so
 * the sum of a trace is the difference of two marks.  So whoever dies, any collector can say what
 * was recorded and what a trace chunk has, without reading the recording.
 *
 * A trace has the number of its trace chunk, or without chunks of the collector that began it.
 */
#ifndef COLLECT_HANDOVER_COUNTS_H
#define COLLECT_HANDOVER_COUNTS_H

#include "ctf/write/public.h"

/* Unfinished traces at any time: the one being written, and a few that could not be finished. */
enum { COUNTS_MARKS = 8 };

struct counts_mark {
	uint32_t number; /* 0: unused */
	struct ctf_sum before;
};

/* Of one half of a recording.  Zeroed memory is valid. */
struct counts {
	struct ctf_ledger ledger;
	struct counts_mark marks[COUNTS_MARKS];
};

/* counts_begin - trace @number is begun: later packets are its own. */
void counts_begin(struct counts *c, uint32_t number);
/* counts_settle - after the recovery of trace @number, whose files have @found bytes. */
void counts_settle(struct counts *c, uint32_t number, uint64_t found);
/* counts_of - what trace @number has; zeroes if its beginning is not known any more. */
struct ctf_sum counts_of(const struct counts *c, uint32_t number);

#endif
