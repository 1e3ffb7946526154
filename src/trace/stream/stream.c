/* SPDX-License-Identifier: MIT */
/*
 * trace/stream/stream.c - opens stream files, indexes their packets and moves the cursor forward.
 *
 * The index is built from the packet headers, never from the files in index/.  Those may be stale
 * or wrong, and reading one page per packet costs little.  After a packet with a damaged header,
 * the next packet is found by its magic number and the trace's UUID.
 */
#include "trace/stream/stream.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"

enum { PACKET_HEAD_MAX = 1 << 16 }; /* of a compressed file from another program */

static void report_damage(struct stream *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void report_damage(struct stream *s, const char *format, ...)
{
	size_t n =
		(size_t)snprintf(s->damage.text, sizeof s->damage.text, "%.500s: ", s->info.path);
	va_list ap;

	s->n_damages++;
	va_start(ap, format);
	vsnprintf(s->damage.text + n, sizeof s->damage.text - n, format, ap);
	va_end(ap);
	if (s->options->is_strict)
		s->has_failed = true;
	else if (s->options->warn && s->n_warnings < TRACE_WARNINGS_MAX)
		s->options->warn(s->options->context, s->damage.text);
	if (++s->n_warnings == TRACE_WARNINGS_MAX && s->options->warn && !s->has_failed) {
		snprintf(s->damage.text + n, sizeof s->damage.text - n,
			 "more damage follows; it is counted, not told");
		s->options->warn(s->options->context, s->damage.text);
	}
}

/* Reports a decoding fault in packet @packet, at its byte in the file. */
static void report_fault(struct stream *s, uint32_t packet, uint64_t offset, uint64_t end_bits,
			 const struct ctf_fault *f)
{
	uint64_t at = offset + f->at_bits / 8;
	char field[100] = "";

	if (f->name)
		snprintf(field, sizeof field, "field `%.60s` ", f->name);
	if (f->wanted_bits)
		report_damage(s,
			      "packet %u at byte %" PRIu64 ": %sclaims %" PRIu64 " bytes, %" PRIu64
			      " remain\n  all before it is shown",
			      packet, at, field, f->wanted_bits / 8 + !!(f->wanted_bits % 8),
			      (end_bits > f->at_bits ? end_bits - f->at_bits : 0) / 8);
	else
		report_damage(s, "packet %u at byte %" PRIu64 ": %s%s\n  all before it is shown",
			      packet, at, field, f->what ? f->what : "damaged");
}

/* Traces with several clocks have not been seen in the field: the first clock is used. */
static void set_clock(struct stream *s)
{
	const struct ctf_clock *c = ctf_meta_clock(s->info.source->meta, NULL);
	unsigned __int128 offset;

	if (!c)
		return;
	s->freq = c->freq == 1000000000 ? 0 : c->freq;
	offset = (unsigned __int128)(uint64_t)(c->offset < 0 ? -(uint64_t)c->offset
							     : (uint64_t)c->offset);
	if (s->freq)
		offset = offset * 1000000000u / s->freq;
	s->base_ns = (uint64_t)c->offset_s * 1000000000u +
		     (c->offset < 0 ? -(uint64_t)offset : (uint64_t)offset);
}

static struct stream_packet *add_packet(struct stream *s)
{
	/* A header has dozens of bytes: a file of smaller packets is hostile. */
	uint32_t most =
		s->size / 32 < UINT32_MAX / 2 ? (uint32_t)(s->size / 32) + 64 : UINT32_MAX / 2;

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

/* The counters of the first packet belong to this file only if it is the stream's first packet. */
static void count_lost(struct stream_packet *p, const struct ctf_packet_info *now,
		       const struct ctf_packet_info *before)
{
	uint64_t base = before ? before->discarded : now->sequence ? now->discarded : 0;

	if (now->has_discarded && now->discarded > base)
		p->lost_events = now->discarded - base;
	if (now->has_sequence && before && now->sequence > before->sequence + 1)
		p->lost_packets = now->sequence - before->sequence - 1;
}

/* Returns the first offset in [@from, @to) that holds the magic number and UUID of this trace, or
 * @to. */
static uint64_t find_packet(const struct stream *s, uint64_t from, uint64_t to)
{
	const struct ctf_meta *m = s->info.source->meta;
	uint8_t key[20];
	uint32_t magic = m->order == CTF_BIG ? htobe32(0xC1FC1FC1) : htole32(0xC1FC1FC1);
	const uint8_t *found;
	uint64_t end;

	memcpy(key, &magic, 4);
	memcpy(key + 4, m->uuid, 16);
	if (!m->has_uuid || from >= to)
		return to;
	/* every frame would have to be decompressed; packets begin where frames begin */
	if (s->packed)
		return to;
	end = to + sizeof key - 1 < s->size ? to + sizeof key - 1 : s->size;
	found = memmem(s->bytes + from, end - from, key, sizeof key);
	return found ? (uint64_t)(found - s->bytes) : to;
}

static int read_packet(struct stream *s, uint64_t offset, struct ctf_packet_info *info,
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

static void update_times(struct stream *s, const struct ctf_packet_info *info)
{
	if (info->has_begin && s->n_packets == 1) /* of the first packet */
		s->info.begin_ns = stream_to_ns(s, info->begin);
	if (info->has_end)
		s->info.end_ns = stream_to_ns(s, info->end);
}

/* Unmaps pages far behind the cursor, so that memory does not grow with the file.  They stay in
 * the page cache and are read again when needed.  STEP is a multiple of the page size of every
 * machine. */
static void release_behind(struct stream *s, uint64_t read)
{
	enum { STEP = 1 << 16 };
	uint64_t end = read & ~(uint64_t)(STEP - 1);

	if (s->holds)
		return;
	if (s->packed)
		return compressed_let_go(s->packed, read);
	if (end < s->released + s->keep_bytes)
		return;
	madvise((void *)(s->bytes + s->released), end - s->released, MADV_DONTNEED);
	s->released = end;
}

void stream_trim(struct stream *s)
{
	uint64_t packet;

	s->trim_at = UINT64_MAX;
	if (!s->bytes || !s->reader.packet)
		return;
	packet = (uint64_t)(s->reader.packet - s->bytes);
	/* a decompressed packet is needed to its end */
	release_behind(s, s->packed ? packet : packet + s->reader.at / 8);
	if (!s->packed)
		s->trim_at = s->reader.at + s->keep_bytes * 8;
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
		if (!read_packet(s, at, &found, &unused) &&
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
	report_damage(s,
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

/* Adds the packets from s->indexed on to the list.  A packet that reaches beyond the file is the
 * last one and is read as far as it goes; if the file still grows, it is left for later. */
static void index_packets(struct stream *s)
{
	/* Packets whose size was checked: once each, or garbage would be searched again and again. */
	uint32_t n_checked = s->n_packets ? s->n_packets - 1 : 0;
	struct ctf_packet_info info;
	uint64_t within, claimed;
	int err;

	while (s->indexed < s->size && !s->has_failed) {
		uint64_t offset = s->indexed, room = s->size - offset;
		struct ctf_fault fault = { 0 };
		struct stream_packet *p;

		release_behind(s, offset);
		err = read_packet(s, offset, &info, &fault);
		if (s->n_packets > n_checked && (err || !may_follow(&s->last, &info))) {
			n_checked = s->n_packets;
			within = find_overlapping(s, &s->last, offset);
			if (within < offset) {
				s->indexed = within;
				continue;
			}
		}
		if (err) {
			report_fault(s, s->n_packets, offset, room * 8, &fault);
			s->indexed = find_packet(s, offset + 1, s->size);
			continue;
		}
		if (s->grows && info.packet_bits / 8 > room)
			return;
		p = add_packet(s);
		if (!p)
			return report_damage(s,
					     "more packets than can be: those from byte %" PRIu64
					     " on are left out",
					     offset);
		p->offset = offset;
		p->end = info.end;
		p->has_end = info.has_end && info.end;
		count_lost(p, &info, s->n_packets > 1 ? &s->last : NULL);
		update_times(s, &info);
		s->last = info;
		claimed = info.packet_bits ? info.packet_bits / 8 : room;
		within = claimed >= room && !s->grows ? find_overlapping(s, &info, s->size)
						      : s->size;
		s->indexed = within < s->size ? within
			     : claimed > room ? s->size
					      : offset + claimed;
		if (claimed > room && within == s->size)
			report_damage(s,
				      "packet %u at byte %" PRIu64 " claims %" PRIu64
				      " bytes, %" PRIu64
				      " remain\n  the trace was cut here; all before it is shown",
				      s->n_packets - 1, p->offset, info.packet_bits / 8, room);
	}
}

static int unpack_file(struct stream *s, struct diag *d)
{
	struct diag why = { "" };
	int err;

	s->bytes = NULL;
	s->size = 0;
	err = compressed_open(&s->packed, s->map, s->map_size, &why);
	if (err)
		return diag_fail(d, err, "%s: %s", s->info.path, why.text);
	if (*why.text)
		report_damage(s, "%s", why.text);
	s->bytes = compressed_bytes(s->packed);
	s->size = compressed_size(s->packed);
	return 0;
}

static void list_packets(struct stream *s)
{
	uint64_t released = s->released;

	index_packets(s);
	if (s->packed)
		compressed_let_go(s->packed, s->size);
	else if (s->bytes && !s->reader.packet) /* no event is being read: the whole map can go */
		madvise((void *)s->bytes, s->map_size, MADV_DONTNEED);
	s->released = released; /* pages that were unmapped here are read again */
	s->info.n_packets = s->n_packets;
	s->info.size_bytes = s->packed ? s->map_size : s->size;
}

/* The beginning of a relayed or retained copy may be a hole.  Returns the offset of the first byte
 * that is not zero. */
static uint64_t skip_hole(int fd, const uint8_t *bytes, uint64_t size)
{
	off_t data = lseek(fd, 0, SEEK_DATA);
	uint64_t at = data > 0 ? (uint64_t)data : 0;

	while (data > 0 && at < size && !bytes[at])
		at++;
	return at < size ? at : size;
}

static int map_file(struct stream *s, const char *path, struct diag *d)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes = NULL;
	int err = 0;

	if (fd < 0)
		return diag_errno(d, "cannot open %s", path);
	if (fstat(fd, &st))
		err = diag_errno(d, "cannot read %s", path);
	else if (st.st_size)
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		err = diag_errno(d, "cannot map %s", path);
	if (!err && bytes && s->options->follows && !s->n_packets)
		s->indexed = skip_hole(fd, bytes, (uint64_t)st.st_size);
	close(fd);
	if (err)
		return err;
	s->bytes = bytes;
	s->map = bytes;
	s->size = s->map_size = (uint64_t)st.st_size;
	return compressed_is_name(path) ? unpack_file(s, d) : 0;
}

int stream_open(struct stream *s, const struct trace_source *source, const char *path,
		const struct trace_options *o, bool grows, struct diag *d)
{
	const char *slash = strrchr(path, '/');
	int err;

	*s = (struct stream){ .options = o,
			      .cpu = TRACE_CPU_UNKNOWN,
			      .grows = grows,
			      .keep_bytes = STREAM_KEEP_MAX };
	s->info.source = source;
	s->info.path = strdup(path);
	if (!s->info.path)
		return diag_fail(d, -ENOMEM, "no memory for %s", path);
	s->info.name = s->info.path + (slash ? slash + 1 - path : 0);
	err = grows ? 0 : map_file(s, path, d);
	if (err) {
		stream_close(s);
		return err;
	}
	set_clock(s);
	list_packets(s);
	return 0;
}

/* The map may move; the pointers of the cursor move with it. */
static int extend_map(struct stream *s, uint64_t size)
{
	const uint8_t *old = s->bytes;
	uint8_t *bytes;

	if (size <= s->map_size)
		return 0;
	bytes = mremap((void *)old, s->map_size, size, MREMAP_MAYMOVE);
	if (bytes == MAP_FAILED)
		return -errno;
	s->bytes = s->map = bytes;
	s->map_size = size;
	if (s->reader.packet)
		s->reader.packet = bytes + (s->reader.packet - old);
	if (s->event.packet)
		s->event.packet = bytes + (s->event.packet - old);
	return 0;
}

/* Lists packets again; the current item stays valid. */
static void list_added_packets(struct stream *s, uint64_t at)
{
	list_packets(s); /* first: it unmaps the pages it read */
	if (s->packed && s->reader.packet) {
		compressed_need(s->packed, at, (s->reader.end + 7) / 8);
		s->reader.packet = s->event.packet = s->bytes + at;
	}
}

/* Returns where the open packet begins in the file. */
static uint64_t packet_offset(const struct stream *s)
{
	return s->bytes && s->reader.packet ? (uint64_t)(s->reader.packet - s->bytes) : 0;
}

/* The archiver compressed the file before all of it was read.  The plain bytes are the same; the
 * first @size of them may be read.  Returns 0; -ENOENT if there is no compressed file either; or
 * -errno. */
static int change_to_packed(struct stream *s, uint64_t size, struct diag *d)
{
	uint64_t at = packet_offset(s), old_size = s->map_size;
	const uint8_t *old = s->map;
	char *path;
	int err;

	if (asprintf(&path, "%s" COMPRESSED_SUFFIX, s->info.path) < 0)
		return -ENOMEM;
	err = map_file(s, path, d);
	free(path);
	if (err)
		return err;
	s->released = 0;
	s->size = size < s->size ? size : s->size;
	list_added_packets(s, at);
	if (old)
		munmap((void *)old, old_size);
	return 0;
}

static int grow_packed(struct stream *s, uint64_t size)
{
	uint64_t plain = compressed_size(s->packed);

	size = size < plain ? size : plain;
	if (size > s->size) {
		s->size = size;
		list_added_packets(s, packet_offset(s));
	}
	return 0;
}

int stream_grow(struct stream *s, uint64_t size, struct diag *d)
{
	struct stat st;
	int err;

	if (!s->grows)
		size = UINT64_MAX;
	else if (size <= s->size)
		return 0;
	if (s->packed)
		return grow_packed(s, size);
	if (stat(s->info.path, &st) || !S_ISREG(st.st_mode)) {
		err = change_to_packed(s, size, d);
		/* If it was removed, as retention does, the map stays valid. */
		s->was_removed = err == -ENOENT && !s->grows;
		return err == -ENOENT ? 0 : err;
	}
	if (s->grows && size > (uint64_t)st.st_size)
		return 0; /* the index names bytes that are not in the file */
	size = s->grows ? size : (uint64_t)st.st_size;
	err = s->bytes ? extend_map(s, size) : map_file(s, s->info.path, d);
	if (err)
		return diag_fail(d, err, "cannot map %s: %s", s->info.path, strerror(-err));
	s->size = size < s->map_size ? size : s->map_size;
	list_packets(s);
	return 0;
}

void stream_release(struct stream *s)
{
	compressed_close(s->packed);
	if (s->map && !s->is_part)
		munmap((void *)s->map, s->map_size);
	free(s->packets);
	s->packed = NULL;
	s->bytes = s->map = NULL;
	s->packets = NULL;
	s->size = s->map_size = 0;
	s->packet = s->n_packets = s->capacity = 0;
}

void stream_close(struct stream *s)
{
	free(s->back);
	free(s->batch);
	stream_release(s);
	if (!s->is_part)
		free((void *)s->info.path);
	*s = (struct stream){ 0 };
}

/* Decompresses the content of the packet.  If a frame is damaged, the events before it are used. */
static bool unpack_packet(struct stream *s, struct stream_packet *p, struct ctf_packet_info *info)
{
	uint64_t size = (info->content_bits + 7) / 8,
		 got = compressed_need(s->packed, p->offset, size);

	if (got == size)
		return true;
	if (!p->reported)
		report_damage(s,
			      "packet %u at byte %" PRIu64
			      " of the plain file: its compressed bytes are damaged\n"
			      "  all before it is shown",
			      s->packet - 1, p->offset);
	p->reported = true;
	info->content_bits = got * 8;
	return got > 0;
}

bool stream_open_packet(struct stream *s)
{
	struct stream_packet *p = &s->packets[s->packet++];
	uint64_t room =
		((s->packet < s->n_packets ? s->packets[s->packet].offset : s->size) - p->offset) *
		8;
	struct ctf_packet_info info;
	struct ctf_fault fault = { 0 };

	s->reader.at = s->reader.end = 0;
	if (s->options->progress && s->options->progress(s->options->context, room / 8)) {
		diag_fail(&s->damage, -EINVAL, "interrupted");
		s->has_failed = true;
		return false;
	}
	release_behind(s, p->offset);
	/* only if the file changes while it is read */
	if (read_packet(s, p->offset, &info, &fault))
		return false;
	if (info.content_bits > room)
		info.content_bits = room;
	if (s->packed && !unpack_packet(s, p, &info))
		return false;
	if (info.body_bits > info.content_bits)
		return false;
	if (!info.has_begin)
		info.begin = s->reader.clock;
	ctf_reader_init(&s->reader, s->bytes + p->offset, &info, s->slots);
	s->trim_at = s->reader.at + s->keep_bytes * 8;
	s->cpu = info.cpu;
	if (!p->lost_events && !p->lost_packets)
		return false;
	s->item = TRACE_LOST;
	s->time_ns = stream_to_ns(s, s->reader.clock);
	s->lost_events = p->lost_events;
	s->lost_packets = p->lost_packets;
	return true;
}

void stream_damaged(struct stream *s)
{
	struct stream_packet *p = &s->packets[s->packet - 1];
	struct ctf_reader *r = &s->reader;

	if (!p->reported)
		report_fault(s, s->packet - 1, p->offset, r->end, &r->fault);
	p->reported = true;
	r->at = r->end = 0;
}

void stream_next_packet(struct stream *s, int got)
{
	for (; got <= 0; got = ctf_reader_next(&s->reader, &s->event)) {
		if (got < 0)
			stream_damaged(s);
		if (s->packet >= s->n_packets || s->has_failed) {
			if (s->packed)
				release_behind(s, s->size);
			s->item = TRACE_END;
			return;
		}
		if (stream_open_packet(s))
			return;
	}
	s->item = TRACE_EVENT;
	s->time_ns = stream_to_ns(s, s->reader.clock);
}

void stream_skip_to(struct stream *s, int64_t time_ns)
{
	while (s->packet < s->n_packets && s->packets[s->packet].has_end &&
	       stream_to_ns(s, s->packets[s->packet].end) < time_ns)
		s->packet++;
}
