/* SPDX-License-Identifier: MIT */
/*
 * trace/stream/index.c - lists the packets of a stream file from their headers.
 *
 * by_index.c does the same from the file in index/, and comes here where that does not fit.  After
 * a packet with a damaged header, the next packet is found by its magic number and the trace's
 * UUID.  Offsets always ascend.
 */
#include <assert.h>
#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "trace/stream/internal.h"
#include "trace/stream/stream.h"

enum {
	PACKET_HEAD_MAX = 1 << 16, /* of a compressed file from another program */
	SEARCH_BYTES = 8 << 20	   /* at a time */
};

struct stream_packet *stream_add_packet(struct stream *s)
{
	/* A header has dozens of bytes: a file of smaller packets is hostile.  So is a compressed one of
	 * many more packets than bytes: each costs memory here. */
	uint64_t bytes = s->packed ? 16 * s->map_size + (2 << 20) : s->size,
		 fit = (bytes < s->size ? bytes : s->size) / 32;
	uint32_t most = fit < UINT32_MAX / 2 ? (uint32_t)fit + 64 : UINT32_MAX / 2;

	if (s->n_packets >= most)
		return NULL;
	if (s->n_packets == s->capacity) {
		uint32_t capacity = s->capacity ? s->capacity * 2 : 16;
		struct stream_packet *p = realloc(s->packets, capacity * sizeof *p);

		if (!p)
			return NULL;
		s->packets = p;
		s->capacity = capacity;
	}
	s->packets[s->n_packets] = (struct stream_packet){ 0 };
	return &s->packets[s->n_packets++];
}

/* Finds the next part of [@from, @to) that is no hole: a file of a kilobyte can claim terabytes, and
 * to read a hole of a tmpfs fills its memory.  Returns its begin, or @to; its end is in @end. */
static uint64_t next_data(const struct stream *s, uint64_t from, uint64_t to, uint64_t *end)
{
	int fd = s->is_sparse ? io_open_file(AT_FDCWD, s->info.path) : -1;
	off_t data, hole;

	*end = to;
	if (fd < 0)
		return from;
	data = lseek(fd, (off_t)from, SEEK_DATA);
	hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
	close(fd);
	if (data < 0 || (uint64_t)data >= to)
		return to;
	if (hole > data && (uint64_t)hole < to)
		*end = (uint64_t)hole;
	return (uint64_t)data;
}

/* Returns the first offset in [@from, @to) that holds @key, or @to. */
static uint64_t find_bytes(struct stream *s, uint64_t from, uint64_t to, const uint8_t *key,
			   size_t size)
{
	uint64_t end, last;
	const uint8_t *found;

	while ((from = next_data(s, from, to, &end)) < to) {
		end = end - from < SEARCH_BYTES ? end : from + SEARCH_BYTES;
		stream_read_ahead(s, from, end - from);
		last = end + size - 1 < s->size ? end + size - 1 : s->size;
		found = memmem(s->bytes + from, last - from, key, size);
		if (found)
			return (uint64_t)(found - s->bytes);
		from = end;
	}
	return to;
}

/* Returns the first offset in [@from, @to) that holds the magic number and UUID of this trace, or
 * @to. */
static uint64_t find_packet(struct stream *s, uint64_t from, uint64_t to)
{
	const struct ctf_meta *m = s->info.source->meta;
	uint8_t key[20];
	uint32_t magic = m->order == CTF_BIG ? htobe32(0xC1FC1FC1) : htole32(0xC1FC1FC1);

	memcpy(key, &magic, 4);
	memcpy(key + 4, s->has_other_uuid ? s->other_uuid : m->uuid, 16);
	if (!m->has_uuid || from >= to)
		return to;
	/* every frame would have to be decompressed; packets begin where frames begin */
	if (s->packed)
		return to;
	return find_bytes(s, from, to, key, sizeof key);
}

int stream_read_packet(struct stream *s, uint64_t offset, struct ctf_packet_info *info,
		       struct ctf_fault *f)
{
	const struct ctf_meta *meta = s->info.source->meta;

	/* In a file that duet compressed, header and context of a packet are a frame of their own.
	 * In other files, the first PACKET_HEAD_MAX bytes are decompressed. */
	if (s->packed && !ctf_packet_read(meta, s->bytes + offset,
					  compressed_frame(s->packed, offset), info, s->slots, f))
		return 0;
	*f = (struct ctf_fault){ 0 };
	return ctf_packet_read(meta, s->bytes + offset,
			       s->packed ? compressed_need(s->packed, offset, PACKET_HEAD_MAX)
					 : s->size - offset,
			       info, s->slots, f);
}

/* A uuid that differs is that of the whole file, if the first packet has it. */
static void note_uuid(struct stream *s, const struct ctf_packet_info *info, uint64_t offset)
{
	if (!info->other_uuid_at)
		return;
	if (s->n_packets == 1) {
		s->has_other_uuid = true;
		memcpy(s->other_uuid, s->bytes + offset + info->other_uuid_at,
		       sizeof s->other_uuid);
	} else if (s->has_other_uuid &&
		   !memcmp(s->other_uuid, s->bytes + offset + info->other_uuid_at,
			   sizeof s->other_uuid)) {
		return;
	}
	stream_report_damage(s,
			     "packet %u at byte %" PRIu64 ": its uuid is not that of the metadata\n"
			     "  it is read all the same: if its events make no sense, the file "
			     "belongs to another trace",
			     s->n_packets - 1, offset);
}

static void update_times(struct stream *s, const struct ctf_packet_info *info)
{
	if (info->has_begin && s->n_packets == 1) /* of the first packet */
		s->info.begin_ns = stream_to_ns(s, info->begin);
	if (info->has_end)
		s->info.end_ns = stream_to_ns(s, info->end);
}

/* Whether @b, which was found inside the range of @a, is a later packet of the same stream.  If
 * not, it may be the payload of an event: a recording of write() system calls holds packets of this
 * stream and of others. */
static bool comes_after(const struct ctf_packet_info *a, const struct ctf_packet_info *b)
{
	return a->stream == b->stream && a->instance == b->instance && a->cpu == b->cpu &&
	       (!a->has_sequence || !b->has_sequence || b->sequence > a->sequence) &&
	       (!a->has_end || !b->has_end || b->end > a->end);
}

/* Returns the first offset in [@from, @to) that begins a packet after @info, or @to.  If @info
 * claims bytes beyond the file, its other fields are not reliable either.  Then a packet that ends
 * exactly at the end of the file is accepted too. */
static uint64_t find_successor(struct stream *s, const struct ctf_packet_info *info, uint64_t from,
			       uint64_t to)
{
	bool is_beyond = info->packet_bits / 8 > s->size - s->packets[s->n_packets - 1].offset;
	struct ctf_packet_info found;
	struct ctf_fault unused;

	for (uint64_t at = from; (at = find_packet(s, at, to)) < to; at++)
		if (!stream_read_packet(s, at, &found, &unused) &&
		    (comes_after(info, &found) ||
		     (is_beyond && found.packet_bits / 8 == s->size - at)))
			return at;
	return to;
}

/*
 * The last packet, @info, claims to reach to @to, and no packet that could follow it begins there.
 * If another packet begins earlier, the size of @info is damaged.  The search starts behind its
 * content, then within it.  Returns where that packet begins, or @to.
 */
static uint64_t find_overlapping(struct stream *s, const struct ctf_packet_info *info, uint64_t to)
{
	uint64_t from = s->packets[s->n_packets - 1].offset, content = info->content_bits / 8,
		 at = to;

	if (content && content < to - from)
		at = find_successor(s, info, from + content, to);
	if (at == to)
		at = find_successor(s, info, from + 1, to);
	if (at == to)
		return to;
	stream_report_damage(s,
			     "packet %u at byte %" PRIu64 " claims %" PRIu64
			     " bytes, but another begins after %" PRIu64,
			     s->n_packets - 1, from, info->packet_bits / 8, at - from);
	return at;
}

/* Whether packet @b can follow directly after @a. */
static bool may_follow(const struct ctf_packet_info *a, const struct ctf_packet_info *b)
{
	return !a->has_sequence || !b->has_sequence || b->sequence == a->sequence + 1;
}

void stream_index_packets(struct stream *s)
{
	/* Packets with a checked size: once each, or garbage would be searched again and again. */
	uint32_t n_checked = s->n_packets ? s->n_packets - 1 : 0;
	struct ctf_packet_info info;
	uint64_t within, claimed;
	int err;

	while (s->indexed < s->size && !s->has_failed) {
		uint64_t offset = s->indexed, room = s->size - offset;
		struct ctf_fault fault = { 0 };
		struct stream_packet *p;

		stream_release_behind(s, offset);
		err = stream_read_packet(s, offset, &info, &fault);
		if (s->n_packets > n_checked && (err || !may_follow(&s->last, &info))) {
			n_checked = s->n_packets;
			within = find_overlapping(s, &s->last, offset);
			if (within < offset) {
				s->indexed = within;
				continue;
			}
		}
		if (err) {
			stream_report_fault(s, s->n_packets, offset, room * 8, &fault);
			s->indexed = find_packet(s, offset + 1, s->size);
			continue;
		}
		if (s->grows && info.packet_bits / 8 > room)
			return;
		if (order_is_repeated(s, &info, offset)) {
			s->indexed = offset + info.packet_bits / 8;
			continue;
		}
		p = stream_add_packet(s);
		if (!p)
			return stream_report_damage(
				s,
				"more packets than its size allows: those from byte %" PRIu64
				" on are left out",
				offset);
		assert(s->n_packets <= s->capacity);
		assert(s->n_packets < 2 || p[-1].offset < offset);
		p->offset = offset;
		p->end = info.end;
		p->has_end = info.has_end && info.end;
		order_count_lost(s, p, &info, s->n_packets > 1 ? &s->last : NULL);
		order_check(s, &info, offset);
		update_times(s, &info);
		note_uuid(s, &info, offset);
		s->last = info;
		claimed = info.packet_bits ? info.packet_bits / 8 : room;
		within = claimed >= room && !s->grows ? find_overlapping(s, &info, s->size)
						      : s->size;
		s->indexed = within < s->size ? within
			     : claimed > room ? s->size
					      : offset + claimed;
		if (claimed > room && within == s->size)
			stream_report_damage(
				s,
				"packet %u at byte %" PRIu64 " claims %" PRIu64 " bytes, %" PRIu64
				" remain\n  the trace was cut here; all before it is shown",
				s->n_packets - 1, p->offset, info.packet_bits / 8, room);
	}
}
