/* SPDX-License-Identifier: MIT */
/*
 * collect/chunks/rotate.h - a running collector ends one piece of its recording and goes on in the
 *next.
 *
 * The pools stay as they are; what has been read out of them is in the old piece, what has not will
 *be in the new one, as it is when a killed collector is succeeded (collect/resume.h).  So every
 *event is in one of both, once, and what a piece tells as lost the next one does not.
 *
 *	new directory, metadata    the old one still goes on if this fails: disk full
 *	last packets of the old    losses
 *	marked as finished         from here on the new one may have packets
 *	state in the new           names of programs, processes, mappings
 *
 * Whoever dies in between leaves at most a new piece without packets, which the successor removes.
 */
#ifndef COLLECT_CHUNKS_ROTATE_H
#define COLLECT_CHUNKS_ROTATE_H

#include "collect/collector.h"

/* rotate_first - in collector_open: where the first traces go. */
int rotate_first(struct collector *c, struct diag *d);
/* rotate_resume - in collector_resume: the old piece is settled and finished, the next one is made.
 */
int rotate_resume(struct collector *c, struct diag *d);

/* rotate_now - 0 or -errno: then all is as before.  -EBUSY: a snapshot is being written. */
int rotate_now(struct collector *c, struct diag *d);
/* rotate_if_due - after a pass.  rotate_due_ms - when it is to be asked next; UINT32_MAX: after the
 * next pass, whenever that is. */
void rotate_if_due(struct collector *c);
uint32_t rotate_due_ms(const struct collector *c, uint64_t now_ns);
/* rotate_last - in collector_finish, when everything is closed. */
int rotate_last(struct collector *c, struct diag *d);

#endif
