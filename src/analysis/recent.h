/* SPDX-License-Identifier: MIT */
/*
 * analysis/recent.h - what was recorded lately, and by whom: a look at the end of recordings still
 * written.
 *
 * The collector moves bytes and does not count events, and programs pay for nothing they were not
 * asked.  So who asks pays: he decodes the newest second of which everything is in the files.  It
 * ended up to about a second ago; of that second the counts are exact, unless there were more than
 * `max_events`.
 *
 * Bytes are those of events with their headers, as they lie in the files before any compression.
 */
#ifndef ANALYSIS_RECENT_H
#define ANALYSIS_RECENT_H

#include <stdint.h>

#include "base/diag.h"

struct recent_program {
	int64_t pid; /* as its events tell: in its own pid namespace */
	uint64_t events, bytes;
};

struct recent {
	int64_t begin_ns, end_ns; /* what was looked at, since the Epoch */
	uint64_t events, bytes;	  /* of applications */
	uint64_t kernel_events, kernel_bytes;
	struct recent_program *programs; /* by pid */
	uint32_t n_programs;
};

/*
 * recent_scan - at the @window_ns of the recording @path up to which all is there.
 *
 * Should there be more than @max_events, end_ns is where it stopped.  -EAGAIN: nothing is known
 * yet; -errno.
 */
int recent_scan(struct recent *r, const char *path, int64_t window_ns, uint64_t max_events,
		struct diag *d);
void recent_fini(struct recent *r);
/* recent_find - its line, or NULL. */
const struct recent_program *recent_find(const struct recent *r, int64_t pid);

#endif
