/* SPDX-License-Identifier: MIT */
/* trace/summary.h - counts the events of a recording by name and by stream, and its losses. */
#ifndef TRACE_SUMMARY_H
#define TRACE_SUMMARY_H

#include "trace/trace.h"

struct summary_event {
	const char *name; /* borrowed from the trace */
	enum trace_domain domain;
	uint64_t n;
};

struct summary_stream {
	const struct trace_stream_info *info; /* borrowed from the trace */
	uint64_t n_events;
	uint64_t lost_events, lost_packets;
	int64_t first_ns, last_ns; /* of its events; both 0 if there is none */
};

struct summary {
	struct summary_event *events; /* most frequent first; only names that occurred */
	uint32_t n_event_names;
	struct summary_stream *streams; /* by stream number */
	uint32_t n_streams;
	uint64_t n_events, lost_events, lost_packets, size_bytes;
	int64_t first_ns, last_ns;
};

/*
 * trace_summary - read @t to its end and count everything.
 *
 * Returns 0 and *@s, to be freed with summary_fini() before the trace is closed; or -errno.
 */
int trace_summary(struct trace *t, struct summary *s, struct diag *d);
void summary_fini(struct summary *s);

#endif
