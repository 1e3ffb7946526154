/* SPDX-License-Identifier: MIT */
/*
 * trace/stream/by_index.c - lists the packets of a stream file from its index.
 *
 * Listing packets from their headers reads a page of each: seconds, if the file is large and not in
 * memory.  The index has the same numbers in one small file.  It may be stale or wrong, so:
 *
 *   (1) it is used only if its packets fill the file without gap, in ascending order
 *   (2) the first and the last packet are compared with their headers when the stream is opened; their
 *       numbers give the number of packets
 *   (3) a packet is compared with its header, and that of the packet before it, before it is opened
 *   (4) if one differs, all packets are listed from their headers, and the cursor stays where it is
 *
 * So whatever is returned agrees with the headers.  A wrong entry between two packets that are never
 * opened has no effect.  Notes of births (abi/ctf.h) are in no header: they are not verified, and only the
 * processes of threads depend on them.  Packets are skipped by the times of entries: as these ascend, and the
 * header before the packet that is opened confirms its own, the skipped packets end earlier.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "base/io.h"
#include "trace/stream/internal.h"

enum { ENTRIES_READ = 512, PACKET_BYTES_MIN = 32 };

/* Opens the index of the stream, and counts its entries.  A negative errno if there is none. */
static int open_index(const struct stream *s, uint32_t *n)
{
	int directory = (int)(s->info.name - s->info.path), fd;
	size_t size = strlen(s->info.name);
	struct abi_ctf_index_header h;
	struct stat st;
	char *path;

	if (compressed_is_name(s->info.name))
		size -= sizeof COMPRESSED_SUFFIX - 1;
	if (asprintf(&path, "%.*sindex/%.*s.idx", directory, s->info.path, (int)size,
		     s->info.name) < 0)
		return -ENOMEM;
	fd = io_open_file(AT_FDCWD, path);
	free(path);
	if (fd < 0)
		return fd;
	if (!fstat(fd, &st) && io_read(fd, &h, sizeof h) == sizeof h &&
	    h.magic == htobe32(ABI_CTF_INDEX_MAGIC) && h.major == htobe32(1) &&
	    h.entry_size == htobe32(sizeof(struct abi_ctf_index_entry))) {
		uint64_t bytes = (uint64_t)st.st_size - sizeof h;

		if (bytes % sizeof(struct abi_ctf_index_entry) == 0 &&
		    bytes / sizeof(struct abi_ctf_index_entry) <= s->size / PACKET_BYTES_MIN) {
			*n = (uint32_t)(bytes / sizeof(struct abi_ctf_index_entry));
			return fd;
		}
	}
	close(fd);
	return -EINVAL;
}

/* The entry of the packet at byte @offset whose header is @now.  @before: that of the packet before it;
 * NULL: it is the first.  The index is used only where this is simple: order.c has the rest. */
static struct stream_packet describe(uint64_t offset, const struct ctf_packet_info *now,
				     const struct ctf_packet_info *before)
{
	uint64_t base = before ? before->discarded : now->sequence ? now->discarded : 0;

	return (struct stream_packet){
		.offset = offset,
		.end = now->end,
		.has_end = now->has_end && now->end,
		.lost_events = now->discarded > base ? now->discarded - base : 0,
	};
}

/* Adds the packet of @e if it follows directly on those added, of which @before is the last; s->last
 * holds its numbers. */
static bool add_entry(struct stream *s, const struct abi_ctf_index_entry *e)
{
	struct ctf_packet_info now = {
		.packet_bits = be64toh(e->packet_bits),
		.content_bits = be64toh(e->content_bits),
		.end = be64toh(e->end_ns),
		.sequence = be64toh(e->sequence),
		.discarded = be64toh(e->discarded),
		.has_end = true,
		.has_sequence = true,
		.has_discarded = true,
	};
	const struct ctf_packet_info *before = s->n_packets ? &s->last : NULL;
	uint64_t upper = be64toh(e->stream_instance_id) & ~ABI_CTF_INDEX_INSTANCE;
	struct stream_packet *p, described;

	if (be64toh(e->offset) != s->indexed || now.packet_bits % 8 ||
	    now.packet_bits / 8 < PACKET_BYTES_MIN || now.packet_bits / 8 > s->size - s->indexed ||
	    now.content_bits > now.packet_bits || be64toh(e->begin_ns) > now.end || !now.end)
		return false;
	/* After a gap the size of the packet before it is in doubt: stream_index_packets(). */
	if (before && (now.sequence != before->sequence + 1 || now.end < before->end))
		return false;
	described = describe(s->indexed, &now, before);
	if (described.lost_events > STREAM_LOST_MAX - s->sum_lost_events)
		return false; /* impossible: the headers decide, and it is reported */
	p = stream_add_packet(s);
	if (!p)
		return false;
	*p = described;
	p->has_births = upper == ABI_CTF_INDEX_BIRTHS;
	s->knows_births =
		(!before || s->knows_births) && (p->has_births || upper == ABI_CTF_INDEX_NO_BIRTHS);
	if (!before)
		s->indexed_class = be64toh(e->stream_id);
	else if (s->indexed_class != be64toh(e->stream_id))
		s->indexed_class = STREAM_CLASSES;
	s->sum_lost_events += p->lost_events;
	s->last = now;
	s->indexed += now.packet_bits / 8;
	return true;
}

static bool add_entries(struct stream *s, int fd, uint32_t n)
{
	struct abi_ctf_index_entry entries[ENTRIES_READ];

	while (n) {
		uint32_t some = n < ENTRIES_READ ? n : ENTRIES_READ;

		if (io_read(fd, entries, some * sizeof *entries) !=
		    (ssize_t)(some * sizeof *entries))
			return false;
		for (uint32_t i = 0; i < some; i++)
			if (!add_entry(s, &entries[i]))
				return false;
		n -= some;
	}
	return s->indexed == s->size;
}

/* Reads the header of packet @k.  False if it is not as long as the list says, or damaged. */
static bool read_listed(struct stream *s, uint32_t k, struct ctf_packet_info *info)
{
	uint64_t end = k + 1 < s->n_packets ? s->packets[k + 1].offset : s->size;
	struct ctf_fault unused;

	return !stream_read_packet(s, s->packets[k].offset, info, &unused) &&
	       info->packet_bits == (end - s->packets[k].offset) * 8;
}

/* Whether the headers of packet @k and of the packet before it agree with the list.  @k's is
 * returned in @info. */
static bool is_as_listed(struct stream *s, uint32_t k, struct ctf_packet_info *info)
{
	const struct stream_packet *p = &s->packets[k], *q = k ? p - 1 : NULL;
	struct ctf_packet_info before;
	struct stream_packet wanted;

	if (!read_listed(s, k, info) || !info->has_sequence || !info->has_discarded)
		return false;
	if (info->other_uuid_at) /* which is reported where the headers are listed */
		return false;
	if (q && (!read_listed(s, k - 1, &before) || !before.has_sequence || !before.has_end ||
		  before.sequence + 1 != info->sequence || before.end != q->end ||
		  before.instance != info->instance || before.stream != info->stream))
		return false;
	wanted = describe(p->offset, info, q ? &before : NULL);
	return wanted.has_end && wanted.end == p->end && wanted.lost_events == p->lost_events;
}

static void forget_list(struct stream *s)
{
	free(s->packets);
	s->packets = NULL;
	s->n_packets = s->capacity = 0;
	s->indexed = s->sum_lost_events = s->sum_lost_packets = 0;
	s->has_sound_discarded = s->is_by_index = s->knows_births = false;
}

bool stream_list_by_index(struct stream *s)
{
	struct ctf_packet_info first, last;
	uint32_t n = 0;
	int fd;

	if (!s->size || s->n_packets || s->indexed || s->options->is_strict ||
	    s->options->follows || s->options->reads_headers)
		return false;
	fd = open_index(s, &n);
	if (fd < 0)
		return false;
	s->is_by_index = add_entries(s, fd, n) && is_as_listed(s, 0, &first) &&
			 is_as_listed(s, s->n_packets - 1, &last) && first.has_begin &&
			 last.sequence - first.sequence == s->n_packets - 1;
	close(fd);
	if (!s->is_by_index) {
		forget_list(s);
		return false;
	}
	s->packets[0].is_checked = s->packets[s->n_packets - 1].is_checked = true;
	if (first.stream->id != s->indexed_class)
		s->indexed_class = STREAM_CLASSES;
	s->info.begin_ns = stream_to_ns(s, first.begin);
	s->info.end_ns = stream_to_ns(s, last.end);
	s->last = last;
	return true;
}

uint32_t stream_packet_from(const struct stream *s, uint64_t offset)
{
	uint32_t low = 0, high = s->n_packets;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->packets[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Damage of a packet is reported once, also if the packets are listed again. */
static void keep_reported(struct stream *s, const struct stream_packet *old, uint32_t n)
{
	for (uint32_t i = 0, k = 0; i < n; i++) {
		while (k < s->n_packets && s->packets[k].offset < old[i].offset)
			k++;
		if (k == s->n_packets || s->packets[k].offset != old[i].offset)
			continue;
		s->packets[k].reported |= old[i].reported;
		s->packets[k].is_disordered |= old[i].is_disordered;
		s->packets[k].is_misplaced |= old[i].is_misplaced;
	}
}

/* The next packet to open stays the same one. */
static void list_by_headers(struct stream *s)
{
	uint64_t at = s->packet < s->n_packets ? s->packets[s->packet].offset : s->size,
		 released = s->released, before = s->n_damages;
	struct stream_packet *old = s->packets;
	uint32_t n = s->n_packets;

	s->packets = NULL;
	forget_list(s);
	stream_index_packets(s);
	keep_reported(s, old, n);
	free(old);
	s->released = released;
	s->packet = stream_packet_from(s, at);
	s->info.n_packets = s->n_packets;
	if (s->back)
		s->back->is_current = false;
	if (s->n_damages == before)
		stream_report_damage(s, "its index is wrong: the packets are listed from their own "
					"headers instead\n  all events are shown");
}

bool stream_check_packet(struct stream *s, uint32_t k)
{
	struct ctf_packet_info info;

	assert(k < s->n_packets);
	if (!s->is_by_index || s->packets[k].is_checked)
		return false;
	s->packets[k].is_checked = is_as_listed(s, k, &info);
	if (s->packets[k].is_checked)
		return false;
	list_by_headers(s);
	return true;
}
