/* SPDX-License-Identifier: MIT */
/*
 * trace/stream/stream.c - the cursor of a stream: opens packets, moves forward, reports damage.
 *
 * Decoding an event is inline (stream_next()); this file has the rare cases: the end of a packet, a
 * loss, damage, memory to give back.
 */
#include "trace/stream/stream.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "trace/stream/internal.h"

void stream_report_damage(struct stream *s, const char *format, ...)
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
			 "more damage follows; it is counted, not shown");
		s->options->warn(s->options->context, s->damage.text);
	}
}

void stream_report_fault(struct stream *s, uint32_t packet, uint64_t offset, uint64_t end_bits,
			 const struct ctf_fault *f)
{
	uint64_t at = offset + f->at_bits / 8;
	char field[100] = "";

	if (f->name)
		snprintf(field, sizeof field, "field `%.60s` ", f->name);
	if (f->wanted_bits)
		stream_report_damage(s,
				     "packet %u at byte %" PRIu64 ": %sclaims %" PRIu64
				     " bytes, %" PRIu64 " remain\n  all before it is shown",
				     packet, at, field, f->wanted_bits / 8 + !!(f->wanted_bits % 8),
				     (end_bits > f->at_bits ? end_bits - f->at_bits : 0) / 8);
	else
		stream_report_damage(
			s, "packet %u at byte %" PRIu64 ": %s%s\n  all before it is shown", packet,
			at, field, f->what ? f->what : "damaged");
}

void stream_release_behind(struct stream *s, uint64_t read)
{
	enum { STEP = 1 << 16 }; /* a multiple of the page size of every machine */
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
	stream_release_behind(s, s->packed ? packet : packet + s->reader.at / 8);
	if (!s->packed)
		s->trim_at = s->reader.at + s->keep_bytes * 8;
}

/* A packet is decompressed as a whole, and few compressed bytes can claim very many.  Sub-buffers of
 * tracers are far smaller. */
enum { PACKET_UNPACKED_MAX = 256 << 20 };

/* Decompresses the content of the packet.  If a frame is damaged, the events before it are used. */
static bool unpack_packet(struct stream *s, struct stream_packet *p, struct ctf_packet_info *info)
{
	uint64_t size = (info->content_bits + 7) / 8, got;
	bool is_large = size > PACKET_UNPACKED_MAX;

	got = compressed_need(s->packed, p->offset, is_large ? PACKET_UNPACKED_MAX : size);
	if (got == size)
		return true;
	if (is_large && got == PACKET_UNPACKED_MAX) {
		if (!p->reported)
			stream_report_damage(s,
					     "packet %u at byte %" PRIu64
					     " of the plain file has %" PRIu64
					     " bytes: at most %d are decompressed\n"
					     "  its events in them are shown",
					     s->packet - 1, p->offset, size, PACKET_UNPACKED_MAX);
		p->reported = true;
		info->content_bits = got * 8;
		return true;
	}
	if (!p->reported)
		stream_report_damage(s,
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
	struct ctf_packet_info info;
	struct ctf_fault fault = { 0 };
	struct stream_packet *p;
	uint64_t room;
	bool is_next;

	assert(s->packet < s->n_packets);
	s->reader.at = s->reader.end = 0;
	p = &s->packets[s->packet];
	stream_read_ahead(s, p->offset,
			  (s->packet + 1 < s->n_packets ? p[1].offset : s->size) - p->offset);
	if (stream_check_packet(s, s->packet) && s->packet == s->n_packets)
		return false;
	p = &s->packets[s->packet++];
	room = ((s->packet < s->n_packets ? s->packets[s->packet].offset : s->size) - p->offset) *
	       8;
	if (s->options->progress && s->options->progress(s->options->context, room / 8)) {
		diag_fail(&s->damage, -EINVAL, "interrupted");
		s->has_failed = true;
		return false;
	}
	stream_release_behind(s, p->offset);
	/* only if the file changes while it is read */
	if (stream_read_packet(s, p->offset, &info, &fault))
		return false;
	if (info.content_bits > room)
		info.content_bits = room;
	if (s->packed && !unpack_packet(s, p, &info))
		return false;
	if (info.body_bits > info.content_bits)
		return false;
	order_check_begin(s, &info);
	is_next = s->packet > 1 && s->reader.packet == s->bytes + p[-1].offset;
	if (!info.has_begin) {
		s->lacks_begin = true;
		info.begin = s->reader.clock;
	}
	ctf_reader_init(&s->reader, s->bytes + p->offset, &info, s->slots);
	if (!info.has_begin && is_next)
		s->reader.first = UINT64_MAX; /* the last event of the packet before is before it */
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

	assert(s->packet > 0);
	if (!p->reported)
		stream_report_fault(s, s->packet - 1, p->offset, r->end, &r->fault);
	p->reported = true;
	r->at = r->end = 0;
}

/* At the end of a packet. */
static void report_disorder(struct stream *s)
{
	struct stream_packet *p = s->packet ? &s->packets[s->packet - 1] : NULL;

	if (!p || !s->reader.back_at || p->is_disordered)
		return;
	stream_report_damage(s,
			     "packet %u at byte %" PRIu64
			     ": an event is earlier than the one before it\n"
			     "  they are shown in the order of the file",
			     s->packet - 1, p->offset + s->reader.back_at / 8);
	p->is_disordered = true;
}

static void pass_over_packets(struct stream *s)
{
	while (s->has_births_alone && s->packet < s->n_packets && !s->packets[s->packet].has_births)
		s->packet++;
}

void stream_next_packet(struct stream *s, int got)
{
	for (; got <= 0; got = ctf_reader_next(&s->reader, &s->event)) {
		if (got < 0)
			stream_damaged(s);
		report_disorder(s);
		pass_over_packets(s);
		if (s->packet >= s->n_packets || s->has_failed) {
			if (s->packed)
				stream_release_behind(s, s->size);
			s->item = TRACE_END;
			return;
		}
		if (stream_open_packet(s))
			return;
	}
	s->item = TRACE_EVENT;
	s->time_ns = stream_to_ns(s, s->reader.clock);
}

static bool ends_before(const struct stream *s, uint32_t packet, int64_t time_ns)
{
	return s->packets[packet].has_end && stream_to_ns(s, s->packets[packet].end) < time_ns;
}

/* Returns the first packet from s->packet on that ends at @time_ns or later.  In an index the ends
 * ascend. */
static uint32_t first_ending_at(const struct stream *s, int64_t time_ns)
{
	uint32_t low = s->packet, high = s->is_by_index ? s->n_packets : low;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ends_before(s, middle, time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	while (low < s->n_packets && ends_before(s, low, time_ns))
		low++;
	return low;
}

void stream_skip_to(struct stream *s, int64_t time_ns)
{
	uint32_t packet;

	do
		packet = first_ending_at(s, time_ns);
	while (packet < s->n_packets && stream_check_packet(s, packet));
	s->packet = packet;
}
