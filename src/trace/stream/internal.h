/* SPDX-License-Identifier: MIT */
/* trace/stream/internal.h - functions that the files of src/trace/stream share. */
#ifndef TRACE_STREAM_INTERNAL_H
#define TRACE_STREAM_INTERNAL_H

#include "trace/stream/stream.h"

/* stream.c: count a damage and report it; with is_strict the stream has failed then.  The second
 * one describes a decoding fault in packet @packet, which begins at byte @offset. */
void stream_report_damage(struct stream *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void stream_report_fault(struct stream *s, uint32_t packet, uint64_t offset, uint64_t end_bits,
			 const struct ctf_fault *f);

/* stream.c: unmap the pages more than keep_bytes before byte @read, so that memory does not grow
 * with the file.  They stay in the page cache and are read again when needed. */
void stream_release_behind(struct stream *s, uint64_t read);

/* index.c: read header and context of the packet at byte @offset.  0; else the fault is in @f. */
int stream_read_packet(struct stream *s, uint64_t offset, struct ctf_packet_info *info,
		       struct ctf_fault *f);

/* index.c: add the packets from s->indexed on to the list.  A packet that reaches beyond the file
 * is the last one and is read as far as it goes; if the file still grows, it is left for later. */
void stream_index_packets(struct stream *s);

#endif
