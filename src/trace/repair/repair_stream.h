/* SPDX-License-Identifier: MIT */
/* trace/repair/repair_stream.h - shared by repair.c, repair_stream.c, cut.c: writes the sound packets of one stream. */
#ifndef TRACE_REPAIR_REPAIR_STREAM_H
#define TRACE_REPAIR_REPAIR_STREAM_H

#include "trace/repair/repair.h"
#include "trace/stream/stream.h"

/* One packet, and how much of it is sound. */
struct measured_packet {
	struct ctf_packet_info info;
	uint64_t offset;   /* in the file */
	uint64_t room;	   /* bytes in the file */
	uint64_t end_bits; /* of the sound part */
	uint64_t clock;	   /* of the last sound event, or the packet's beginning */
	uint64_t n_events;
	bool is_complete;
	const char *reason; /* if not complete: why */
	uint64_t at_bits;   /* if not complete: where */
	/* of a part of the recording: the events that stay */
	uint64_t first_bits, last_bits, n_kept;
	uint64_t candidate_bits, n_candidates; /* where they may begin; events since */
	uint64_t first_clock;		       /* of the event there */
	bool has_begun;
};

/* The part of a stream that is copied, in units of its clock; and what came before it. */
struct cut {
	uint64_t from, to;
	bool is_given, has_written;
	uint64_t discarded, sequence; /* of what came before */
	/* the counters of the last packet written, as they were before the part counts anew */
	uint64_t last_discarded, last_sequence;
	bool has_last;
};

/* cut.c - cut_open: of stream @s.  cut_is_outside: whether no event of the packet may stay; it is
 * noted then.  cut_latest: the latest time of the stream's clock that readers can show.
 * cut_note_event: an event that begins at p->end_bits and ends at @end. */
uint64_t cut_latest(const struct stream *s);
void cut_open(struct cut *c, const struct stream *s, const struct repair_options *o);
bool cut_is_outside(struct cut *c, const struct ctf_packet_info *info);
uint64_t cut_alignment(const struct stream *s, const struct ctf_stream_class *class);
void cut_note_event(const struct cut *c, struct measured_packet *p, uint64_t end, uint64_t clock,
		    uint64_t alignment);
/* cut_packet - change @header and p->info to the part that stays; false: all of it must stay. */
bool cut_packet(struct cut *c, struct measured_packet *p, uint8_t *header);

/* Whether a field of a header can be changed; change it. */
static inline bool is_patchable(const struct ctf_location *p)
{
	return p->at_bits % 8 == 0 && p->size_bits % 8 == 0;
}
static inline void patch(uint8_t *packet, const struct ctf_location *p, uint64_t v)
{
	uint32_t n = p->size_bits / 8;

	for (uint32_t i = 0; i < n; i++, v >>= 8)
		packet[p->at_bits / 8 + (p->is_big ? n - 1 - i : i)] = (uint8_t)v;
}

/* repair_stream - write the sound part of @s, as @m describes it, to @fd.  Returns 0 or -errno. */
int repair_stream(struct stream *s, const struct ctf_meta *m, int fd,
		  const struct repair_options *o, struct repaired *r);

#endif
