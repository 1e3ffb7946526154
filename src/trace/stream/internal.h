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

/* file.c: the next packet is somewhere else: single pages are read, until a row has begun. */
void stream_read_pages(struct stream *s);

/* index.c: read header and context of the packet at byte @offset.  0; else the fault is in @f. */
int stream_read_packet(struct stream *s, uint64_t offset, struct ctf_packet_info *info,
		       struct ctf_fault *f);

/* index.c: an empty entry at the end of the list; NULL: more than the file can have, or no memory. */
struct stream_packet *stream_add_packet(struct stream *s);

/* by_index.c: list the packets from the file in index/.  False if it does not fit, or is not to be
 * used; then nothing is listed. */
bool stream_list_by_index(struct stream *s);

/* by_index.c: compare packet @k with its header, unless that has been done.  True if it differed and
 * all packets were listed anew: their numbers have changed, s->packet's with them. */
bool stream_check_packet(struct stream *s, uint32_t k);

/* by_index.c: the first packet that begins at byte @offset or later; n_packets: none. */
uint32_t stream_packet_from(const struct stream *s, uint64_t offset);

/* index.c: add the packets from s->indexed on to the list.  A packet that reaches beyond the file
 * is the last one and is read as far as it goes; if the file still grows, it is left for later. */
void stream_index_packets(struct stream *s);

/* order.c - of the packet that was added last; @before: the one before it, or NULL.
 * order_count_lost: fill in the losses of @p.  order_check: report a packet in the wrong place. */
void order_count_lost(struct stream *s, struct stream_packet *p, const struct ctf_packet_info *now,
		      const struct ctf_packet_info *before);
void order_check(struct stream *s, const struct ctf_packet_info *info, uint64_t offset);

/* order.c - report the packet that is opened, @info, if it begins before the event that was read
 * last. */
void order_check_begin(struct stream *s, const struct ctf_packet_info *info);

/* order.c - whether the packet at @offset, not added yet, repeats an earlier one; it is reported
 * then. */
bool order_is_repeated(struct stream *s, const struct ctf_packet_info *info, uint64_t offset);

#endif
