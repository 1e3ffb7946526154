/* SPDX-License-Identifier: MIT */
/*
 * trace/repair/repair.h - of a damaged recording, a whole one.
 *
 * What is sound is copied, bit by bit; what is not is left out and told.  The result:
 *
 *   (1) its metadata are those blocks of the old ones that can be read
 *   (2) each of its packets was one of the old, or the sound beginning of one, whose sizes then say
 * so (3) the times of a stream never go back
 *
 * so that, compressed or not before, readers that give up at the first damage read all of it. Index
 * files are not copied: readers that want them make them from the packets.
 */
#ifndef TRACE_REPAIR_REPAIR_H
#define TRACE_REPAIR_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

struct trace;

struct repair_options {
	void (*warn)(void *context, const char *text);	     /* told of each damage; not NULL */
	void (*begin)(void *context, const struct trace *t); /* told what is read; may be NULL */
	bool (*progress)(
		void *context,
		uint64_t bytes); /* told of each packet read; true ends everything; may be NULL */
	void *context;
};

struct repaired {
	uint32_t n_traces, n_streams; /* written */
	uint32_t n_gaps;	      /* blocks of metadata left out */
	uint64_t n_packets, n_events; /* written */
	uint64_t n_cut;		      /* packets of which only the beginning was written */
	uint64_t n_left_out; /* packets whose header could be read, but nothing behind it */
	uint64_t n_retimed;  /* packets whose end was said to be later than the next one's beginning
			      */
};

/*
 * repair - read the recording @from, write it whole as @to.
 *
 * @to: a directory that does not exist, or is empty.  It is there only when all of it is: until
 * then, and if that fails, there is a directory beside it.
 *
 * Returns 0 or -errno with the reason in @d.
 */
int repair(const char *from, const char *to, const struct repair_options *o,
	   struct repaired *result, struct diag *d);

#endif
