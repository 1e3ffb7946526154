/* SPDX-License-Identifier: MIT */
/*
 * net/lttng_live/files.h - recordings on this disk as viewers are shown them: sessions, traces,
 * streams.
 *
 * What is listed once keeps its number.  Each look goes by docs/formats/trace.md, "Reading while it
 * is written": how far a recording is, then which streams there are, then their indexes.  So a
 * stream that has an event before `known_ns` is listed, and its packets are found, when known_ns is
 * told to anybody.
 *
 * Indexes and names are what a recorder, or a relay of others' recorders, wrote: checked before
 * use.
 */
#ifndef NET_LTTNG_LIVE_FILES_H
#define NET_LTTNG_LIVE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/progress.h"

enum { LIVE_STREAMS_MAX = 65536, LIVE_PACKET_MAX = 64 << 20, LIVE_NAME_MAX = 255 };

struct live_recording {
	char *path;
	char host[64], name[LIVE_NAME_MAX];
	struct progress progress;
	uint64_t known_ns;  /* of the trace's clock; 0: not known */
	uint64_t asked_ns;  /* when, by our clock */
	uint64_t listed_ns; /* written_ns when its streams were listed */
	uint32_t n_streams;
};

struct live_trace {
	uint32_t recording;
	char *path;
	char *below; /* the same below the recording; within path */
	uint8_t uuid[16];
	bool has_uuid;
};

struct live_stream {
	uint32_t recording, trace;
	char *name; /* NULL: the trace's metadata */
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

/* live_files_open - recordings @roots, or directories of a relay.  0 or -ENOMEM. */
int live_files_open(struct live_files *f, const char *const *roots, int n);
void live_files_close(struct live_files *f);

/* live_files_scan - look for recordings; at most some times a second. */
void live_files_scan(struct live_files *f);
/* live_files_ask - how far recording @number is, and its streams; the same. */
void live_files_ask(struct live_files *f, uint32_t number);

/* live_files_packet - packet @i of a stream, as its index tells.  1; 0: there is none yet, or what
 * the index says cannot be. */
bool live_files_packet(const struct live_files *f, uint32_t stream, uint64_t i,
		       struct live_packet *p);
/* How many there are. */
uint64_t live_files_n_packets(const struct live_files *f, uint32_t stream);
/* live_files_read - @n bytes of a stream's file.  0 or -errno. */
int live_files_read(const struct live_files *f, uint32_t stream, uint64_t offset, uint8_t *to,
		    uint32_t n);
/* live_files_metadata - whole blocks of the metadata from byte @from on, at most @most; to be
 * freed.  How many, 0 if there are none, or -errno. */
long live_files_metadata(struct live_files *f, uint32_t stream, uint64_t from, uint32_t most,
			 char **text);
/* Its size now, whole or not. */
uint64_t live_files_metadata_size(const struct live_files *f, uint32_t stream);
uint64_t live_now_ns(void);

#endif
