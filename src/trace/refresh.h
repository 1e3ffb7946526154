/* SPDX-License-Identifier: MIT */
/* trace/refresh.h - the recordings that are followed: shared by refresh.c and forget.c. */
#ifndef TRACE_REFRESH_H
#define TRACE_REFRESH_H

#include "base/progress.h"
#include "trace/internal.h"

#define REFRESH_NONE UINT32_MAX

struct recording {
	char *path;
	/* the recording it is a trace chunk of, or REFRESH_NONE; the parent reports the progress */
	uint32_t parent;
	struct progress progress;
	/* trace chunks up to this number were read and forgotten: forget.c */
	uint32_t forgotten_to;
	bool is_new;	/* its progress has changed since the last round */
	bool is_unread; /* it was added since the last round */
	bool grew;	/* at the last round */
	bool is_silent;
	bool has_base;
	/* zero of its clock, from the Epoch, with the shift of its sources */
	int64_t base_ns;
	uint64_t last_read_ns; /* CLOCK_MONOTONIC: when its progress changed last */
};

struct refresh {
	char **paths;
	int n_paths;
	struct recording *recordings;
	uint32_t n_recordings;
	int64_t given_ns; /* time of the last item */
	/* that the last trace_forget() left */
	uint32_t n_classes_left, n_sources_left;
	uint32_t *was; /* by source: its number before that */
	struct trace_following public;
};

bool refresh_recording_grows(const struct refresh *f, const struct recording *r);

#endif
