/* SPDX-License-Identifier: MIT */
/*
 * trace/stream/info.h - traces, streams and options: types shared with trace/trace.h.
 *
 * They are here, below the trace, so that src/trace/stream includes nothing of the directory that
 * uses it.
 */
#ifndef TRACE_STREAM_INFO_H
#define TRACE_STREAM_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "ctf/meta/meta.h"

#define TRACE_CPU_UNKNOWN UINT32_MAX

enum trace_domain { TRACE_OTHER, TRACE_UST, TRACE_KERNEL };

/* One CTF trace: a directory with a `metadata` file. */
struct trace_source {
	const char *path; /* as given, and the part found below it */
	enum trace_domain domain;
	const char *hostname; /* "" if unknown */
	int64_t shift_ns;     /* added to its times: see trace_hosts */
	const struct ctf_meta *meta;
	uint32_t number; /* 0 ... n_sources - 1 */
};

/* One stream file. */
struct trace_stream_info {
	const struct trace_source *source;
	const char *name; /* of the file */
	const char *path;
	uint32_t number; /* 0 ... n_streams - 1 */
	uint32_t n_packets;
	uint64_t size_bytes;
	int64_t begin_ns, end_ns; /* as the packets claim */
};

enum trace_item {
	TRACE_END,
	TRACE_EVENT,
	TRACE_LOST, /* at this place, in this stream */
};

struct trace_options {
	/* Called for each damaged place; at most TRACE_WARNINGS_MAX times for each stream. */
	void (*warn)(void *context, const char *text);
	/* Called for each packet that is opened, with its bytes in the recording; may be NULL.
	 * Returns true to stop reading. */
	bool (*progress)(void *context, uint64_t bytes);
	void *context;
	bool is_strict; /* reading ends at the first damaged place */
	bool follows;	/* recordings may still be written: see trace_refresh() */
	/* packets are listed from their headers when a stream is opened, never from index/: all damage
	 * of headers is known then.  is_strict and `follows` imply it. */
	bool reads_headers;
};
enum { TRACE_WARNINGS_MAX = 8 };

#endif
