/* SPDX-License-Identifier: MIT */
/*
 * trace/stream/stream.h - one stream file: its packets, and a cursor over its events.
 *
 * Between calls the cursor stands on one item: an event, a loss, or the end.
 */
#ifndef TRACE_STREAM_STREAM_H
#define TRACE_STREAM_STREAM_H

#include "ctf/compressed/compressed.h"
#include "ctf/decode/next.h"
#include "trace/trace.h"

enum { STREAM_KEEP_MIN = 1 << 16, STREAM_KEEP_MAX = 4 << 20 };

struct stream_packet {
	uint64_t offset;		    /* bytes in the file */
	uint64_t end;			    /* clock */
	uint64_t lost_events, lost_packets; /* before or during this packet */
	bool has_end;
	bool reported; /* its damage */
};

/* Where an event begins, and what its reader must know there. */
struct stream_bookmark {
	uint64_t at, clock, idle;
};

/* The last events before the one the cursor is on: a ring, made when somebody goes backward. */
enum { STREAM_PLACES = 16384 };
struct stream_back {
	uint32_t packet;
	uint32_t n, top;  /* entries, and one behind the newest */
	bool is_complete; /* the oldest is the packet's first */
	bool is_current;  /* what comes before the newest entry's successor, on which the cursor is
			   */
	struct stream_bookmark places[STREAM_PLACES];
};

/* Events that were decoded ahead of the cursor: see trace/batch.c. */
struct stream_batch {
	uint32_t given;
	uint64_t slots[CTF_SLOTS]; /* to decode ahead with: the stream's are of the event that it
				      stands on */
	struct ctf_batch ctf;
};

struct stream {
	struct trace_stream_info info;
	const struct trace_options *options;
	const uint8_t *bytes;		/* the map; NULL if the file is empty */
	uint64_t size;			/* what may be looked at */
	struct compressed_file *packed; /* `bytes` is its plain file: ask before looking.  NULL: it
					   is the file itself */
	const uint8_t *map;		/* of the file */
	uint64_t map_size;
	uint64_t indexed;	     /* bytes whose packets are listed */
	struct ctf_packet_info last; /* the last packet listed; if there is one */
	uint64_t whole;		     /* of the file, as its index says; while it grows */
	bool has_grown;		     /* it has come to its end since it was looked at last */
	bool is_gone;		     /* before all of it was read */
	bool grows;		     /* what is not whole at the end of the file may yet come */
	struct stream_packet *packets;
	uint32_t n_packets, capacity;
	uint32_t packet; /* the next to open */
	uint64_t gone;	 /* bytes of the map given back */
	uint64_t keep; /* bytes behind the cursor that are not given back: its share of the trace's
			  memory */
	uint64_t archiver_at; /* the reader's place from which on there is more: stream_trim() */
	bool holds;	      /* what was read stays where it is: see trace_hold() */
	/* clock to ns: time = base_ns + clock, or scaled if the clock is no nanosecond clock */
	uint64_t base_ns;
	uint64_t freq;
	/* the item it stands on */
	enum trace_item item;
	int64_t time_ns;
	uint32_t cpu;
	uint64_t lost_events, lost_packets;
	struct ctf_event event;
	struct ctf_reader reader;
	uint64_t slots[CTF_SLOTS];
	struct stream_back *back;
	struct stream_batch *rows; /* made when somebody asks for many events at once */
	bool rows_left;	  /* it stands on rows->ctf.rows[rows->given]; its reader is ahead */
	bool is_at_begin; /* went backward beyond its first item: `item` is TRACE_END */
	bool is_part;	  /* the map and the path are another's */
	uint32_t n_warnings;
	uint64_t n_damages;
	bool has_failed; /* strict, and damaged; or somebody wants no more */
	struct diag damage;
};

/* stream_open - map @path and index its packets; of a file that @grows nothing yet.  Returns 0,
 * also if it is damaged; or -errno. */
int stream_open(struct stream *s, const struct trace_source *source, const char *path,
		const struct trace_options *o, bool grows, struct diag *d);
/* stream_grow - the file has @size bytes of whole packets now; or, if it does not grow any more, is
 * as long as it is.  What the cursor stands on stays.  Returns 0 or -errno. */
int stream_grow(struct stream *s, uint64_t size, struct diag *d);
/* stream_release - it is at its end, and will never be asked again: gives back map and list. */
void stream_release(struct stream *s);
void stream_close(struct stream *s);

/* The end of a packet, or (@got < 0) damage: to the next item. */
void stream_turn(struct stream *s, int got);

static inline int64_t stream_to_ns(const struct stream *s, uint64_t clock)
{
	if (likely(!s->freq))
		return (int64_t)(s->base_ns + clock);
	return (int64_t)(s->base_ns + (uint64_t)((unsigned __int128)clock * 1000000000u / s->freq));
}

static inline void stream_next(struct stream *s)
{
	int got = next_event(&s->reader, &s->event);

	if (unlikely(got <= 0))
		return stream_turn(s, got);
	s->item = TRACE_EVENT;
	s->time_ns = stream_to_ns(s, s->reader.clock);
}

/* Gives back what lies far behind the cursor, in the midst of a packet too. */
void stream_trim(struct stream *s);

static inline void stream_trim_sometimes(struct stream *s)
{
	if (unlikely(s->reader.at > s->archiver_at))
		stream_trim(s);
}

void stream_skip_to(struct stream *s, int64_t time_ns);

/* seek.c: to the first item at @time_ns or later; to the item before; to the one after, also from
 * the beginning.  All leave the stream on an item or TRACE_END.  -ENOMEM. */
void stream_seek(struct stream *s, int64_t time_ns);
int stream_previous(struct stream *s);
void stream_forward(struct stream *s);

/* Makes the reader ready for the next packet; true if it has something to give first: a loss. */
bool stream_open_packet(struct stream *s);

/* What stopped the reader, told once; the rest of the packet is passed over. */
void stream_damaged(struct stream *s);

#endif
