/* SPDX-License-Identifier: MIT */
/*
 * trace/repair/repair.h - makes a readable recording from a damaged one, or from a part of one.
 *
 * Everything sound is copied bit by bit; damaged parts are left out and reported.  The result:
 *
 *   (1) its metadata is those blocks of the old one that can be parsed
 *   (2) each packet is one of the old, or the sound beginning of one, and its sizes say so
 *   (3) the times of a stream never go back
 *
 * With `is_cut` only events from from_ns up to to_ns are copied, bytes unchanged:
 *
 *   (4) packets outside of the time are left out; those that reach into it from outside keep the
 *       events inside, and claim no other time.  Where fields are aligned to more than bytes, up to
 *       a few events before from_ns stay
 *   (5) streams of states (`state_0`, `statedump`), which name threads and files, begin as in the
 *       old recording, so that the part can be read alone
 *   (6) losses of packets before the part are not counted; sequence numbers begin with 0
 *
 * Readers that stop at the first damage therefore read all of it.  The result is not compressed.
 * Index files are not copied: readers rebuild them from the packets.
 */
#ifndef TRACE_REPAIR_REPAIR_H
#define TRACE_REPAIR_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

struct trace;

struct repair_options {
	void (*warn)(void *context, const char *text);	     /* called for each damage; not NULL */
	void (*begin)(void *context, const struct trace *t); /* called after opening; may be NULL */
	/* Called for each packet read, with its bytes; returns true to stop.  May be NULL. */
	bool (*progress)(void *context, uint64_t bytes);
	void *context;
	bool is_cut;
	int64_t from_ns, to_ns; /* from the Epoch, both included; INT64_MIN, INT64_MAX: no limit */
};

struct repaired {
	uint32_t n_traces, n_streams; /* written */
	uint32_t n_gaps;	      /* blocks of metadata left out */
	uint64_t n_packets, n_events; /* written */
	uint64_t n_cut;		      /* packets written up to the first damaged event */
	uint64_t n_left_out;	      /* packets left out: a sound header, but no sound event */
	uint64_t n_retimed; /* packets with an end later than the beginning of the next one */
};

/*
 * The place of the copy.  It appears only when it is complete: until then there is a temporary
 * directory beside it.  It is made before the recording is read, so that a process which may write
 * nowhere else can read it.
 */
struct repair_target {
	char path[4096], work[4096 + 32];
};
/* repair_prepare - @to: a directory that does not exist, or is empty.  Returns 0 or -errno. */
int repair_prepare(struct repair_target *t, const char *to, struct diag *d);
void repair_drop(struct repair_target *t); /* removes what repair() did not complete */

/*
 * repair - read the recording @from, write a repaired copy to @to, which was prepared.
 *
 * Returns 0 or -errno with the reason in @d.
 */
int repair(const char *from, struct repair_target *to, const struct repair_options *o,
	   struct repaired *result, struct diag *d);

#endif
