/* SPDX-License-Identifier: MIT */
/*
 * collect/options/disk_losses.h - events that found no room on the disk, by part of the recording.
 *
 * Plain data without pointers, as collect/options/result.h, of which it is a part.  A tenant that took
 * over its collector may write anything into its own: texts are cut, reasons checked where they are
 * used.
 */
#ifndef COLLECT_OPTIONS_DISK_LOSSES_H
#define COLLECT_OPTIONS_DISK_LOSSES_H

#include <stdint.h>
#include <stdio.h>

#include "disk/disk.h"

enum { DISK_LOSSES_MAX = 12 };

struct disk_loss {
	char of[64];	    /* the tenant's label; "": the recording's own part */
	uint32_t reason;    /* enum disk_reason */
	uint32_t n_removed; /* trace chunks that were removed for it */
	uint64_t events;
};

struct disk_losses {
	uint32_t n;
	uint64_t more; /* events of those for which there was no room */
	struct disk_loss at[DISK_LOSSES_MAX];
};

static inline void disk_losses_add(struct disk_losses *l, const char *of,
				   const struct disk_loss *one)
{
	struct disk_loss *to = &l->at[l->n];

	if (l->n >= DISK_LOSSES_MAX) {
		l->more += one->events;
		return;
	}
	*to = *one;
	snprintf(to->of, sizeof to->of, "%s", of);
	l->n++;
}

/* disk_losses_of - the counts of @b. */
static inline void disk_losses_of(struct disk_losses *l, const struct disk_budget *b)
{
	uint32_t n_removed = load(&b->n_removed);

	for (uint32_t r = DISK_FITS + 1; r < DISK_REASONS; r++) {
		struct disk_loss one = { .reason = r, .events = load(&b->lost[r]) };

		if (r == (b->rule.limit ? DISK_LIMIT : DISK_SHARE))
			one.n_removed = n_removed;
		if (one.events || one.n_removed)
			disk_losses_add(l, "", &one);
	}
}

#endif
