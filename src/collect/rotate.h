/* SPDX-License-Identifier: MIT */
/*
 * collect/rotate.h - a running collector finishes one trace chunk and continues in the next
 * one.
 *
 * The pools stay as they are.  Data read from them before is in the old trace chunk, the rest goes
 * into the new one, as after the death of a collector (collect/resume.h).  So each event is in
 * exactly one of them, and losses reported by one are not reported by the next.
 *
 * 	new directory, metadata    on failure the old one continues: disk full
 * 	last packets of the old    losses
 * 	marked as finished         from here on the new one may have packets
 * 	state in the new           names of programs, processes, mappings
 *
 * A collector that dies in between leaves at most a new trace chunk without packets, which its
 * successor removes.
 */
#ifndef COLLECT_ROTATE_H
#define COLLECT_ROTATE_H

#include "collect/collector.h"

/* rotate_first - in collector_open: create the first output directory. */
int rotate_first(struct collector *c, struct diag *d);
/*
 * rotate_resume - in collector_resume: recover and finish the old trace chunk, begin the next one.
 */
int rotate_resume(struct collector *c, struct diag *d);

/*
 * rotate_now - begin a new trace chunk.
 *
 * 0 or -errno; on error everything is as before.  -EBUSY: a snapshot is being written.
 */
int rotate_now(struct collector *c, struct diag *d);
/*
 * rotate_if_due - call it after a pass.
 *
 * rotate_due_ms - when to call it next, in ms; UINT32_MAX: after the next pass.
 */
void rotate_if_due(struct collector *c);
uint32_t rotate_due_ms(const struct collector *c, uint64_t now_ns);
/* rotate_has_size - whether the size of a trace chunk is limited. */
bool rotate_has_size(const struct collector *c);
/* rotate_last - in collector_finish, after everything is closed. */
int rotate_last(struct collector *c, struct diag *d);

#endif
