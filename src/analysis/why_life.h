/* SPDX-License-Identifier: MIT */
/* analysis/why_life.h - what why.c knows of a thread while it reads, for why_chain.c, which walks back. */
#ifndef ANALYSIS_WHY_LIFE_H
#define ANALYSIS_WHY_LIFE_H

#include "analysis/why.h"

struct why_segment {
	int64_t begin_ns, end_ns;
	uint8_t state;
	uint32_t call; /* plus 1 */
	uint32_t waker; /* BLOCKED: who ended it; 0: no thread */
	struct why_cause cause;
};

struct life { /* of a thread */
	struct why_segment now; /* goes on: its end is INT64_MAX */
	bool is_seen;
	bool is_fault; /* a page fault since it came to its CPU */
	bool in_call; /* with call.call == 0: in one that was begun before the recording */
	bool has_called; /* its system calls are recorded */
	bool waits;
	bool is_in_span;
	uint32_t cpu; /* plus 1, while it runs */
	uint32_t epoch; /* of all, when the span began */
	struct call_made call;
	struct why_wait wait; /* until it runs again */
	struct why_account account;
	struct why_span span;
	struct why_segment *kept; /* a ring */
	uint32_t n_kept, first, room;
};

/* why_keep - remember that @s is over.  Without memory it is forgotten, which shows as UNKNOWN. */
void why_keep(struct life *l, const struct why_segment *s);

/* why_part_add - charge @ns from @at_ns on to the part like @like. */
int why_part_add(struct why_parts *p, const struct why_part *like, uint64_t ns, int64_t at_ns);
void why_parts_settle(struct why_parts *p); /* most time first */

/*
 * why_chain - what [@begin_ns, @end_ns] of thread @of, which @waker ended, was spent on.
 *
 * @lives, @n_lives: by thread; each `now` is its segment that goes on.
 * @pieces: room for WHY_PIECES_MAX; filled by descending time.
 *
 * Returns how many pieces; they cover the interval without gaps.
 */
uint32_t why_chain(const struct life *lives, uint32_t n_lives, uint32_t waker, int64_t begin_ns,
		   int64_t end_ns, struct why_piece *pieces);

#endif
