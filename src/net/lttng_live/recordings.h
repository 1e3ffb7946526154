/* SPDX-License-Identifier: MIT */
/*
 * net/lttng_live/recordings.h - the recordings on this disk as a viewer sees them: sessions, traces,
 * streams.
 *
 * A recording, trace or stream keeps its number once it is listed.  Each update goes in the order
 * of docs/formats/trace.md, "Reading while it is written": first how far the recording is, then
 * which streams exist, then their indexes.  So a stream with an event before `known_ns` is
 * listed, and its packets are found, before any viewer receives that known_ns.
 *
 * Indexes and names were written by a recorder, or by a relay for other hosts: they are checked
 * before use.
 */
#ifndef NET_LTTNG_LIVE_RECORDINGS_H
#define NET_LTTNG_LIVE_RECORDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/progress.h"

enum { LIVE_STREAMS_MAX = 65536, LIVE_PACKET_MAX = 64 << 20, LIVE_NAME_MAX = 255 };

struct live_recording {
	char *path;
	char host[64], name[LIVE_NAME_MAX];
	struct progress progress;
	uint64_t known_ns;   /* by the trace's clock: complete up to here; 0: not known */
	uint64_t checked_ns; /* when it was last updated; monotonic */
	uint64_t listed_ns;  /* written_ns when its streams were listed */
	uint32_t n_streams;
};

struct live_trace {
	uint32_t recording;
	char *path;
	char *below; /* the part below the recording; points into path */
	uint8_t uuid[16];
	bool has_uuid;
};

struct live_stream {
	uint32_t recording, trace;
	char *name; /* NULL: the metadata of the trace */
};

struct live_packet {
	uint64_t offset, bytes, content_bits; /* in the stream's file */
	uint64_t begin_ns, end_ns, discarded, class_id;
};

struct live_files {
	char **roots;
	int n_roots;
	char host[64]; /* of this machine */
	struct live_recording *recordings;
	struct live_trace *traces;
	struct live_stream *streams;
	uint32_t n_recordings, n_traces, n_streams;
	uint64_t scanned_ns;
};

/* live_files_open - @roots are recordings, or output directories of a relay.  0 or -ENOMEM. */
int live_files_open(struct live_files *f, const char *const *roots, int n);
void live_files_close(struct live_files *f);

/* live_files_scan - search for recordings; at most a few times a second. */
void live_files_scan(struct live_files *f);
/* live_files_update - read how far recording @number is, and list its streams; at most some times
 * a second. */
void live_files_update(struct live_files *f, uint32_t number);

/* live_files_packet - packet @i of a stream, from its index.  False: it does not exist yet, or
 * the entry is invalid. */
bool live_files_packet(const struct live_files *f, uint32_t stream, uint64_t i,
		       struct live_packet *p);
/* live_files_n_packets - the number of packets in the index of a stream. */
uint64_t live_files_n_packets(const struct live_files *f, uint32_t stream);
/* live_files_read - read @n bytes of a stream's file.  0 or -errno. */
int live_files_read(const struct live_files *f, uint32_t stream, uint64_t offset, uint8_t *to,
		    uint32_t n);
/* live_files_metadata - complete blocks of the metadata from byte @from on, at most @most bytes.
 * The caller frees @text.  Returns the number of bytes, 0 if there are none, or -errno. */
long live_files_metadata(struct live_files *f, uint32_t stream, uint64_t from, uint32_t most,
			 char **text);
/* live_files_metadata_size - its size now, complete blocks or not. */
uint64_t live_files_metadata_size(const struct live_files *f, uint32_t stream);

#endif
