/* SPDX-License-Identifier: MIT */
/*
 * trace/stream/stream.h - one stream file: its list of packets, and a cursor over its events.
 *
 * What always holds between calls:
 *
 *   (1) the cursor is on one item: an event, a loss, or the end (TRACE_END)
 *   (2) packets[] is sorted by offset; packets before `packet` are opened, the last of them is open
 *   (3) nothing at or behind byte `size` is read
 *   (4) a packet that was listed by the index is compared with its header before it is opened
 *
 * A stream does not know the trace it is part of.
 */
#ifndef TRACE_STREAM_STREAM_H
#define TRACE_STREAM_STREAM_H

#include "ctf/compressed/compressed.h"
#include "ctf/decode/public.h"
#include "trace/stream/info.h"

enum { STREAM_KEEP_MIN = 1 << 16, STREAM_KEEP_MAX = 4 << 20 };
/* Events, or packets, that a stream can have lost: a larger number is damage. */
#define STREAM_LOST_MAX (1ull << 44)

struct stream_packet {
	uint64_t offset;		    /* bytes in the file */
	uint64_t end;			    /* clock */
	uint64_t lost_events, lost_packets; /* before or during this packet */
	bool has_end;
	bool reported;	    /* its damage */
	bool is_disordered; /* an event of it is earlier than the one before; reported */
	bool is_checked;    /* its header agrees: by_index.c */
	bool is_misplaced;  /* it begins before an event of the packet before; reported */
	bool has_births;    /* its entry in the index has it: abi/ctf.h */
};

/* Where an event begins, and the state its decoder needs there. */
struct stream_bookmark {
	uint64_t at, clock, idle;
};

/* The last events before the current one: a ring, allocated by the first backward step. */
enum { STREAM_BOOKMARKS = 16384 };
struct stream_back {
	uint32_t packet;
	uint32_t n, top;  /* entries; index behind the newest */
	bool is_complete; /* the oldest entry is the packet's first event */
	bool is_current;  /* the cursor is on the event right after the newest entry */
	struct stream_bookmark bookmarks[STREAM_BOOKMARKS];
};

/* Events decoded ahead of the cursor: see trace/batch.c. */
struct stream_batch {
	uint32_t n_given;
	/* slots of the decoder that runs ahead; those in struct stream belong to the current
	 * event */
	uint64_t slots[CTF_SLOTS];
	struct ctf_batch ctf;
};

#define STREAM_CLASSES UINT64_MAX /* several, or not the first packet's */

struct stream {
	struct trace_stream_info info;
	const struct trace_options *options;
	const uint8_t *bytes; /* plain bytes; NULL if the file is empty */
	uint64_t size;	      /* bytes that may be read */
	/* not NULL: `bytes` is decompressed on demand, ask compressed_need() first */
	struct compressed_file *packed;
	bool is_sparse;	  /* the plain file has holes */
	bool is_by_index; /* packets[] was listed from the file in index/ */
	/* is_by_index: the stream class of all packets, as the index has it; or STREAM_CLASSES */
	uint64_t indexed_class;
	bool knows_births;     /* is_by_index, and all entries have whether there are births */
	bool has_births_alone; /* other packets are left out */
	bool has_other_uuid;   /* its first packet's uuid differs from the metadata's */
	uint8_t other_uuid[16];
	const uint8_t *map; /* of the file itself */
	uint64_t map_size;
	uint64_t indexed;	     /* bytes up to the end of the last packet listed */
	struct ctf_packet_info last; /* the last packet listed, if n_packets > 0 */
	uint64_t sum_lost_events, sum_lost_packets; /* of the packets listed */
	uint64_t n_repeated, n_disordered; /* packets that are left out; whose number falls */
	/* the counter before the last one, if that was impossible */
	uint64_t sound_discarded;
	bool has_sound_discarded;
	/* while it grows: bytes of complete packets, as the index file reports */
	uint64_t complete_bytes;
	bool just_ended;  /* it has stopped growing since the last round */
	bool was_removed; /* the file was removed before all of it was read */
	/* an incomplete packet at the end of the file may become complete */
	bool grows;
	struct stream_packet *packets;
	uint32_t n_packets, capacity;
	uint32_t packet;   /* the next to open */
	uint64_t released; /* bytes of the map that are unmapped */
	/* bytes behind the cursor that stay mapped: its share of the trace's memory */
	uint64_t keep_bytes;
	uint64_t trim_at; /* bit of the open packet where stream_trim() next has work to do */
	/* bytes of packets opened in a row; the kernel reads the file ahead: stream_read_ahead() */
	uint64_t run_bytes;
	bool is_read_ahead;
	bool holds; /* everything that was read stays mapped: see trace_hold() */
	/* Clock to ns: time = base_ns + clock; freq != 0 scales a clock that does not count ns. */
	uint64_t base_ns;
	uint64_t freq;
	/* the current item */
	enum trace_item item;
	int64_t time_ns;
	uint32_t cpu;
	uint64_t lost_events, lost_packets;
	struct ctf_event event;
	struct ctf_reader reader;
	uint64_t slots[CTF_SLOTS];
	struct stream_back *back;
	struct stream_batch *batch; /* allocated by the first trace_batch() */
	bool has_rows;	  /* the cursor is on batch->ctf.rows[n_given]; `reader` is ahead of it */
	bool is_at_begin; /* it was moved back beyond its first item: `item` is TRACE_END */
	bool is_part;	  /* map and path belong to another stream */
	uint32_t n_warnings;
	uint64_t n_damages;
	bool lacks_begin; /* a packet has no time of its begin */
	bool has_failed;  /* damaged and is_strict, or `progress` asked to stop */
	struct diag damage;
};

/* stream_open - map @path and index its packets; nothing is read yet if the file @grows.  Returns
 * 0, also if packets are damaged; or -errno with the reason in @d. */
int stream_open(struct stream *s, const struct trace_source *source, const char *path,
		const struct trace_options *o, bool grows, struct diag *d);
/* stream_grow - list the packets that were added to the file.  @size: bytes of complete packets, if
 * it still grows; else all of the file is used.  The current item stays valid.  Returns 0 or
 * -errno. */
int stream_grow(struct stream *s, uint64_t size, struct diag *d);
/* stream_release - free map and packet list.  Only at the end of a stream that will not grow. */
void stream_release(struct stream *s);
void stream_close(struct stream *s);

/* stream_next_packet - go on to the next item, from the end of a packet (@got 0) or from damage
 * (@got < 0). */
void stream_next_packet(struct stream *s, int got);

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
		return stream_next_packet(s, got);
	s->item = TRACE_EVENT;
	s->time_ns = stream_to_ns(s, s->reader.clock);
}

/* stream_trim - unmap pages far behind the cursor, also in the middle of a packet. */
void stream_trim(struct stream *s);

static inline void stream_trim_sometimes(struct stream *s)
{
	if (unlikely(s->reader.at > s->trim_at))
		stream_trim(s);
}

void stream_skip_to(struct stream *s, int64_t time_ns);

/* stream_place - the byte where the open packet begins; UINT64_MAX: it is at the end.
 * stream_is_place, stream_resume - whether a packet begins there; move to the first item at @time_ns or
 * later, as stream_seek, but read from @place on. */
uint64_t stream_place(const struct stream *s);
bool stream_is_place(const struct stream *s, uint64_t place);
void stream_resume(struct stream *s, int64_t time_ns, uint64_t place);

/* stream_seek, stream_previous, stream_forward - move to the first item at @time_ns or later; to
 * the item before; to the item after, also from the beginning.  The cursor is then on an item or on
 * TRACE_END.  stream_previous() returns 0 or -ENOMEM. */
void stream_seek(struct stream *s, int64_t time_ns);
int stream_previous(struct stream *s);
void stream_forward(struct stream *s);

/* stream_read_ahead - the packet of @size bytes at @offset is read next: its first megabyte is
 * requested from the disk at once.  After a megabyte in a row the kernel reads ahead by itself. */
void stream_read_ahead(struct stream *s, uint64_t offset, uint64_t size);

/* stream_open_packet - let the reader begin the next packet.  Returns true if the packet reports a
 * loss: it is then the current item. */
bool stream_open_packet(struct stream *s);

/* stream_damaged - report the fault at which the reader stopped, once per packet, and skip the rest
 * of the packet. */
void stream_damaged(struct stream *s);

#endif
