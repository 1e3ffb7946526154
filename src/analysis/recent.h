/* SPDX-License-Identifier: MIT */
/*
 * analysis/recent.h - the programs that recorded lately, from the end of a recording that is still
 * written.
 *
 * The collector moves bytes and does not count events, and programs pay for no counter that is not
 * asked for. So the reader pays: it decodes the newest second for which everything is in the files.
 * That second ended up to about one second ago. Its counts are exact unless it has more than
 * `max_events` events.
 *
 * Bytes are those of events with their headers, as they are in the files before any compression.
 */
#ifndef ANALYSIS_RECENT_H
#define ANALYSIS_RECENT_H

#include <stdint.h>

#include "base/diag.h"

struct recent_program {
	int64_t pid; /* from its events: in its own pid namespace */
	uint64_t events, bytes;
};

struct recent {
	int64_t begin_ns, end_ns; /* the interval that was read, since the Epoch */
	uint64_t events, bytes;	  /* of applications */
	uint64_t kernel_events, kernel_bytes;
	struct recent_program *programs; /* by pid */
	uint32_t n_programs;
};

/*
 * recent_scan - count the last @window_ns, up to the time until which the recording @path is
 * complete.
 *
 * If there are more than @max_events events, end_ns is the time at which it stopped. Returns 0;
 * -EAGAIN: nothing is known yet; or another -errno.
 */
int recent_scan(struct recent *r, const char *path, int64_t window_ns, uint64_t max_events,
		struct diag *d);
void recent_fini(struct recent *r);
/* recent_find - the line of @pid, or NULL. */
const struct recent_program *recent_find(const struct recent *r, int64_t pid);

#endif
