/* SPDX-License-Identifier: MIT */
/*
 * net/lttng_live/live_packets.c - the commands of a viewer for packets and metadata.
 *
 * The promises (1) to (4) of protocol.h are kept here: each stream has a floor, and no packet or
 * beacon before it is sent.
 */
#include "net/lttng_live/internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "abi/ctf.h"

enum { METADATA_MAX = 1 << 20, METADATA_HEAD = 37 };
enum { FLAG_NEW_METADATA = 1, FLAG_NEW_STREAM = 2 };
enum { INDEX_OK = 1, INDEX_RETRY, INDEX_HUP, INDEX_ERROR, INDEX_INACTIVE };
enum { PACKET_OK = 1, PACKET_ERROR = 3 };
enum { METADATA_OK = 1, METADATA_NONE, METADATA_ERROR };

static void put_index(struct live_connection *c, const struct live_packet *p, uint32_t status,
		      uint32_t flags)
{
	live_put64(c, p->offset);
	live_put64(c, p->bytes * 8);
	live_put64(c, p->content_bits);
	live_put64(c, p->begin_ns);
	live_put64(c, p->end_ns);
	live_put64(c, p->discarded);
	live_put64(c, p->class_id);
	live_put32(c, status);
	live_put32(c, flags);
}

/* The empty packet that opens a stream (ctf/write/writer.h). Babeltrace 2.0 gives up at a stream that
 * begins with an empty packet, so it is left out. A packet that reports losses is not. */
static bool is_opening(const struct live_packet *p, uint64_t number)
{
	return !number && p->bytes == sizeof(struct abi_ctf_packet) && !p->discarded;
}

/* Everything before this time is in the files: see (1) in protocol.h. */
static uint64_t complete_until_ns(const struct live_connection *c, uint32_t stream)
{
	const struct live_recording *r = &c->files->recordings[c->files->streams[stream].recording];

	return r->progress.state == PROGRESS_GROWS ? r->known_ns : UINT64_MAX;
}

/* Moves the cursor past opening and late packets: see (2) in protocol.h.  Returns whether there is
 * a packet after them; then it is in @p. */
static bool look_at_packet(struct live_connection *c, uint32_t stream, struct live_cursor *cursor,
			   struct live_packet *p)
{
	for (; live_files_packet(c->files, stream, cursor->next, p); cursor->next++) {
		cursor->class_id = p->class_id;
		cursor->has_class = true;
		if (is_opening(p, cursor->next))
			continue;
		if (p->end_ns >= cursor->floor_ns)
			return true;
		c->n_late++;
	}
	return false;
}

/* Sets the next packet, which is at @p. */
static void take_packet(struct live_cursor *cursor, struct live_packet p)
{
	p.begin_ns = p.begin_ns < cursor->floor_ns ? cursor->floor_ns : p.begin_ns;
	cursor->next++;
	cursor->packet = p;
	cursor->has_packet = true;
	cursor->is_dummy = false;
	assert(p.begin_ns >= cursor->floor_ns && p.end_ns >= p.begin_ns); /* promise (2) */
	cursor->floor_ns = p.end_ns;
}

/* Makes an empty packet after the last one that was sent. */
static bool make_dummy(struct live_connection *c, uint32_t stream, struct live_cursor *cursor)
{
	enum { BYTES = sizeof(struct abi_ctf_packet) };
	struct live_packet p;

	if (!cursor->has_packet || !live_files_packet(c->files, stream, cursor->next - 1, &p))
		return false;
	p.begin_ns = p.end_ns = p.end_ns > cursor->floor_ns ? p.end_ns : cursor->floor_ns;
	p.bytes = BYTES;
	p.content_bits = BYTES * 8;
	cursor->packet = p;
	cursor->is_dummy = true;
	cursor->floor_ns = p.end_ns;
	cursor->n_dummies++;
	return true;
}

static bool has_new_metadata(const struct live_connection *c, uint32_t stream)
{
	for (uint32_t i = 0; i < c->n_cursors; i++)
		if (live_is_metadata(c, i) &&
		    c->files->streams[i].trace == c->files->streams[stream].trace)
			return live_files_metadata_size(c->files, i) > c->cursors[i].sent;
	return false;
}

/* A beacon must contain the class of its stream. */
static bool has_class(struct live_connection *c, uint32_t stream, struct live_cursor *cursor)
{
	struct live_packet first;

	if (!cursor->has_class && live_files_packet(c->files, stream, 0, &first)) {
		cursor->class_id = first.class_id;
		cursor->has_class = true;
	}
	return cursor->has_class;
}

/* @held: a packet that cannot be sent yet; NULL if there is none. */
static void put_beacon(struct live_connection *c, uint32_t stream, struct live_cursor *cursor,
		       const struct live_packet *held)
{
	const struct live_recording *r = &c->files->recordings[c->files->streams[stream].recording];
	uint64_t *floor_ns = &c->floors[c->files->streams[stream].recording];
	/* Different for each stream: Babeltrace 2 complains about messages that look alike. */
	uint64_t known_ns = r->known_ns > stream ? r->known_ns - stream % 1000 : 0;
	struct live_packet beacon = { .offset = 0 };

	if (held && known_ns > held->begin_ns)
		known_ns = held->begin_ns;
	if (r->progress.state != PROGRESS_GROWS) {
		cursor->is_over = true;
		return put_index(c, &beacon, INDEX_HUP, FLAG_NEW_STREAM);
	}
	if (known_ns <= cursor->floor_ns || !has_class(c, stream, cursor))
		return put_index(c, &beacon, INDEX_RETRY, 0);
	assert(known_ns <= r->known_ns && known_ns > cursor->floor_ns); /* promise (1) */
	cursor->floor_ns = known_ns;
	*floor_ns = *floor_ns < known_ns ? known_ns : *floor_ns;
	beacon.end_ns = known_ns;
	beacon.class_id = cursor->class_id;
	put_index(c, &beacon, INDEX_INACTIVE, 0);
}

/* Sets the packet that the viewer gets now, with or without @flags.  Returns false if it gets none:
 * then @held is a packet that must wait, if it has bytes. */
static bool choose_packet(struct live_connection *c, uint32_t stream, struct live_cursor *cursor,
			  uint32_t flags, struct live_packet *held)
{
	uint64_t until_ns = complete_until_ns(c, stream);
	uint64_t *floor_ns = &c->floors[c->files->streams[stream].recording];
	bool has_next = look_at_packet(c, stream, cursor, held);

	/* Before the new streams the viewer gets nothing newer than it has: see (3). */
	if (flags && make_dummy(c, stream, cursor))
		return true;
	if (!has_next) {
		held->bytes = 0;
		return false;
	}
	if (held->end_ns > until_ns)
		return false;
	take_packet(cursor, *held);
	if (!flags && until_ns != UINT64_MAX && *floor_ns < cursor->floor_ns)
		*floor_ns = cursor->floor_ns;
	return true;
}

void live_next_index(struct live_connection *c, const uint8_t *body)
{
	struct live_packet nothing = { .offset = 0 }, held = nothing;
	struct live_cursor *cursor;
	uint32_t stream, flags;

	if (!live_cursor_of(c, live_get64(body), &stream) || live_is_metadata(c, stream))
		return put_index(c, &nothing, INDEX_ERROR, 0);
	live_files_update(c->files, c->files->streams[stream].recording);
	if (!live_extend(c)) {
		c->is_over = true;
		return;
	}
	cursor = &c->cursors[stream];
	flags = live_count_unreported(c, c->files->streams[stream].recording) ? FLAG_NEW_STREAM : 0;
	if (choose_packet(c, stream, cursor, flags, &held))
		put_index(c, &cursor->packet, INDEX_OK,
			  flags | (has_new_metadata(c, stream) ? FLAG_NEW_METADATA : 0));
	else if (flags)
		put_index(c, &nothing, INDEX_RETRY, flags);
	else
		put_beacon(c, stream, cursor, held.bytes ? &held : NULL);
}

/* Changes the header to the values that the viewer received: bytes [from, from + n) of the packet
 * are at @to. */
static void set_header(const struct live_connection *c, uint32_t stream,
		       const struct live_cursor *cursor, uint64_t from, uint8_t *to, uint32_t n)
{
	struct abi_ctf_packet h;

	if (from >= sizeof h ||
	    live_files_read(c->files, stream, cursor->packet.offset, (uint8_t *)&h, sizeof h))
		return;
	h.begin_ns = cursor->packet.begin_ns;
	h.sequence += cursor->n_dummies;
	if (cursor->is_dummy) {
		h.end_ns = cursor->packet.end_ns;
		h.content_bits = h.packet_bits = cursor->packet.bytes * 8;
	}
	memcpy(to, (const uint8_t *)&h + from, n < sizeof h - from ? n : sizeof h - from);
}

void live_get_packet(struct live_connection *c, const uint8_t *body)
{
	uint64_t offset = live_get64(body + 8);
	uint32_t n = live_get32(body + 16), stream;
	struct live_cursor *cursor = live_cursor_of(c, live_get64(body), &stream);
	const struct live_packet *p = cursor && cursor->has_packet ? &cursor->packet : NULL;
	uint8_t *bytes = NULL;

	if (p && n && offset >= p->offset && offset - p->offset < p->bytes &&
	    n <= p->bytes - (offset - p->offset))
		bytes = malloc(n);
	if (!bytes || live_files_read(c->files, stream, offset, bytes, n)) {
		live_put32(c, PACKET_ERROR);
		live_put32(c, 0);
		live_put32(c, 0);
	} else {
		set_header(c, stream, cursor, offset - p->offset, bytes, n);
		live_put32(c, PACKET_OK);
		live_put32(c, n);
		live_put32(c, 0);
		text_add(&c->out, (const char *)bytes, n);
	}
	free(bytes);
}

/* Sends the metadata as packets, which viewers accept one after another.  Their words are in the
 * byte order of this machine, as in streams. */
static void put_metadata(struct live_connection *c, uint32_t stream, const char *text, uint32_t n)
{
	const struct live_trace *trace = &c->files->traces[c->files->streams[stream].trace];
	uint32_t head[3] = { 0, (METADATA_HEAD + n) * 8, (METADATA_HEAD + n) * 8 },
		 magic = 0x75D11D57;
	const char schemes[5] = { 0, 0, 0, 1, 8 };

	live_put64(c, METADATA_HEAD + n);
	live_put32(c, METADATA_OK);
	text_add(&c->out, (const char *)&magic, sizeof magic);
	text_add(&c->out, (const char *)trace->uuid, sizeof trace->uuid);
	text_add(&c->out, (const char *)head, sizeof head);
	text_add(&c->out, schemes, sizeof schemes);
	text_add(&c->out, text, n);
}

void live_get_metadata(struct live_connection *c, const uint8_t *body)
{
	uint32_t stream;
	struct live_cursor *cursor = live_cursor_of(c, live_get64(body), &stream);
	char *text = NULL;
	long n = -EINVAL;

	if (cursor && live_is_metadata(c, stream))
		n = live_files_metadata(c->files, stream, cursor->sent, METADATA_MAX, &text);
	if (n > 0) {
		put_metadata(c, stream, text, (uint32_t)n);
		cursor->sent += (uint64_t)n;
	} else {
		live_put64(c, 0);
		live_put32(c, n ? METADATA_ERROR : METADATA_NONE);
	}
	free(text);
}
