/* SPDX-License-Identifier: MIT */
/* net/lttng_live/protocol.c - the commands of a viewer, and their answers. */
#include "net/lttng_live/protocol.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/ctf.h"

enum command {
	CONNECT = 1,
	LIST_SESSIONS,
	ATTACH,
	NEXT_INDEX,
	GET_PACKET,
	GET_METADATA,
	NEW_STREAMS,
	CREATE_SESSION,
	DETACH,
};

enum { MAJOR = 2, MINOR = 13 };
enum { PATH_BYTES = 4096, NAME_BYTES = 255, HOST_BYTES = 64, LIVE_TIMER_US = 1000000 };
enum { METADATA_MAX = 1 << 20, METADATA_HEAD = 37 };
enum { FLAG_NEW_METADATA = 1, FLAG_NEW_STREAM = 2 };
enum { ATTACH_OK = 1, ATTACH_UNKNOWN = 3, SEEK_BEGINNING = 1 };
enum { INDEX_OK = 1, INDEX_RETRY, INDEX_HUP, INDEX_ERROR, INDEX_INACTIVE };
enum { PACKET_OK = 1, PACKET_ERROR = 3 };
enum { METADATA_OK = 1, METADATA_NONE, METADATA_ERROR };
enum { STREAMS_OK = 1, STREAMS_NONE, STREAMS_ERROR, STREAMS_HUP };
enum { DONE = 1, DETACH_UNKNOWN = 2 };

static void put32(struct live_connection *c, uint32_t v)
{
	v = htobe32(v);
	text_add(&c->out, (const char *)&v, sizeof v);
}

static void put64(struct live_connection *c, uint64_t v)
{
	v = htobe64(v);
	text_add(&c->out, (const char *)&v, sizeof v);
}

/* A text in a field of fixed size, always terminated by a NUL. */
static void put_name(struct live_connection *c, const char *name, size_t size)
{
	static const char zeros[PATH_BYTES];
	size_t n = strnlen(name, size - 1);

	text_add(&c->out, name, n);
	text_add(&c->out, zeros, size - n);
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return be32toh(v);
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return be64toh(v);
}

/* ---------------------------------------------------------------- streams of one viewer */

/* Makes room for everything that is listed now. */
static bool extend(struct live_connection *c)
{
	uint32_t n = c->files->n_streams, m = c->files->n_recordings;
	struct live_cursor *cursors = realloc(c->cursors, (n + (size_t)1) * sizeof *cursors);
	uint64_t *floors = realloc(c->floors, (m + (size_t)1) * sizeof *floors);
	bool *is_attached = realloc(c->is_attached, (m + (size_t)1) * sizeof *is_attached);

	c->cursors = cursors ? cursors : c->cursors;
	c->floors = floors ? floors : c->floors;
	c->is_attached = is_attached ? is_attached : c->is_attached;
	if (!cursors || !floors || !is_attached)
		return false;
	memset(cursors + c->n_cursors, 0, (n - c->n_cursors) * sizeof *cursors);
	memset(floors + c->n_floors, 0, (m - c->n_floors) * sizeof *floors);
	memset(is_attached + c->n_floors, 0, (m - c->n_floors) * sizeof *is_attached);
	c->n_cursors = n;
	c->n_floors = m;
	return true;
}

/* The stream that the viewer calls @id, if it was sent to this viewer. */
static struct live_cursor *cursor_of(struct live_connection *c, uint64_t id, uint32_t *stream)
{
	*stream = (uint32_t)(id - 1);
	if (!id || id > c->n_cursors || !c->cursors[id - 1].reported)
		return NULL;
	return c->is_attached[c->files->streams[*stream].recording] ? &c->cursors[*stream] : NULL;
}

static bool is_metadata(const struct live_connection *c, uint32_t stream)
{
	return !c->files->streams[stream].name;
}

static uint32_t count_unreported(const struct live_connection *c, uint32_t recording)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n_cursors; i++)
		n += c->files->streams[i].recording == recording && !c->cursors[i].reported;
	return n;
}

static bool all_are_over(const struct live_connection *c, uint32_t recording)
{
	for (uint32_t i = 0; i < c->n_cursors; i++)
		if (c->files->streams[i].recording == recording && !is_metadata(c, i) &&
		    !c->cursors[i].is_over)
			return false;
	return c->files->recordings[recording].progress.state != PROGRESS_GROWS;
}

/* Sends the streams of @recording that the viewer does not know, and sets their first packets. */
static void put_streams(struct live_connection *c, uint32_t recording, bool from_now)
{
	for (uint32_t i = 0; i < c->n_cursors; i++) {
		const struct live_stream *s = &c->files->streams[i];
		struct live_cursor *cursor = &c->cursors[i];

		if (s->recording != recording || cursor->reported)
			continue;
		*cursor =
			(struct live_cursor){ .reported = true, .floor_ns = c->floors[recording] };
		if (from_now && s->name)
			cursor->next = live_files_n_packets(c->files, i);
		put64(c, i + (uint64_t)1);
		put64(c, s->trace + (uint64_t)1);
		put32(c, !s->name);
		put_name(c, c->files->traces[s->trace].below, PATH_BYTES);
		put_name(c, s->name ? s->name : "metadata", NAME_BYTES);
	}
}

/* ---------------------------------------------------------------- sessions */

static void connect_viewer(struct live_connection *c, const uint8_t *body)
{
	uint32_t major = get32(body + 8), minor = get32(body + 12);

	if (major != MAJOR) {
		c->is_over = true;
		return;
	}
	c->has_connected = true;
	put64(c, 1);
	put32(c, MAJOR);
	put32(c, minor < MINOR ? minor : MINOR);
	put32(c, get32(body + 16));
}

/* A recording that has ended is offered only if the user named it. */
static bool is_offered(const struct live_files *f, uint32_t recording)
{
	const struct live_recording *r = &f->recordings[recording];

	for (int i = 0; i < f->n_roots; i++)
		if (!strcmp(f->roots[i], r->path))
			return true;
	return r->progress.state == PROGRESS_GROWS;
}

static void list_sessions(struct live_connection *c)
{
	const struct live_files *f = c->files;
	uint32_t n = 0;

	live_files_scan(c->files);
	for (uint32_t i = 0; i < f->n_recordings; i++)
		n += is_offered(f, i);
	put32(c, n);
	for (uint32_t i = 0; i < f->n_recordings; i++) {
		const struct live_recording *r = &f->recordings[i];

		if (!is_offered(f, i))
			continue;
		put64(c, i + (uint64_t)1);
		put32(c, LIVE_TIMER_US);
		put32(c, 0);
		put32(c, r->n_streams);
		put_name(c, r->host, HOST_BYTES);
		put_name(c, r->name, NAME_BYTES);
	}
}

static void attach(struct live_connection *c, const uint8_t *body)
{
	uint64_t id = get64(body);
	uint32_t recording = (uint32_t)(id - 1);

	live_files_scan(c->files);
	if (!id || id > c->files->n_recordings || !extend(c)) {
		put32(c, ATTACH_UNKNOWN);
		put32(c, 0);
		return;
	}
	live_files_update(c->files, recording);
	if (!extend(c)) {
		c->is_over = true;
		return;
	}
	for (uint32_t i = 0; i < c->n_cursors; i++)
		if (c->files->streams[i].recording == recording)
			c->cursors[i] = (struct live_cursor){ .reported = false };
	c->is_attached[recording] = true;
	c->floors[recording] = 0;
	put32(c, ATTACH_OK);
	put32(c, count_unreported(c, recording));
	put_streams(c, recording, !c->from_begin && get32(body + 16) != SEEK_BEGINNING);
}

static void detach(struct live_connection *c, const uint8_t *body)
{
	uint64_t id = get64(body);
	bool has_connected = id && id <= c->n_floors && c->is_attached[id - 1];

	if (has_connected)
		c->is_attached[id - 1] = false;
	put32(c, has_connected ? DONE : DETACH_UNKNOWN);
}

static void new_streams(struct live_connection *c, const uint8_t *body)
{
	uint64_t id = get64(body);
	uint32_t recording = (uint32_t)(id - 1), n;

	if (!id || id > c->n_floors || !c->is_attached[recording]) {
		put32(c, STREAMS_ERROR);
		put32(c, 0);
		return;
	}
	live_files_update(c->files, recording);
	if (!extend(c)) {
		c->is_over = true;
		return;
	}
	n = count_unreported(c, recording);
	put32(c, n ? STREAMS_OK : all_are_over(c, recording) ? STREAMS_HUP : STREAMS_NONE);
	put32(c, n);
	put_streams(c, recording, false);
}

/* ---------------------------------------------------------------- packets */

static void put_index(struct live_connection *c, const struct live_packet *p, uint32_t status,
		      uint32_t flags)
{
	put64(c, p->offset);
	put64(c, p->bytes * 8);
	put64(c, p->content_bits);
	put64(c, p->begin_ns);
	put64(c, p->end_ns);
	put64(c, p->discarded);
	put64(c, p->class_id);
	put32(c, status);
	put32(c, flags);
}

/* Finds the next packet that is not late: see (2) in protocol.h. */
static bool find_packet(struct live_connection *c, uint32_t stream, struct live_cursor *cursor)
{
	struct live_packet p;

	while (live_files_packet(c->files, stream, cursor->next, &p)) {
		cursor->next++;
		cursor->class_id = p.class_id;
		cursor->has_class = true;
		if (p.end_ns < cursor->floor_ns) {
			c->n_late++;
			continue;
		}
		p.begin_ns = p.begin_ns < cursor->floor_ns ? cursor->floor_ns : p.begin_ns;
		cursor->packet = p;
		cursor->has_packet = true;
		cursor->is_dummy = false;
		cursor->floor_ns = p.end_ns;
		return true;
	}
	return false;
}

/* Makes an empty packet after the last one. */
static bool make_dummy(struct live_connection *c, uint32_t stream, struct live_cursor *cursor)
{
	enum { BYTES = sizeof(struct abi_ctf_packet) };
	struct live_packet p;

	if (!cursor->next || !live_files_packet(c->files, stream, cursor->next - 1, &p))
		return false;
	p.begin_ns = p.end_ns = p.end_ns > cursor->floor_ns ? p.end_ns : cursor->floor_ns;
	p.bytes = BYTES;
	p.content_bits = BYTES * 8;
	cursor->packet = p;
	cursor->has_packet = cursor->is_dummy = true;
	cursor->floor_ns = p.end_ns;
	cursor->n_dummies++;
	return true;
}

static bool has_new_metadata(const struct live_connection *c, uint32_t stream)
{
	for (uint32_t i = 0; i < c->n_cursors; i++)
		if (is_metadata(c, i) &&
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

static void put_beacon(struct live_connection *c, uint32_t stream, struct live_cursor *cursor)
{
	const struct live_recording *r = &c->files->recordings[c->files->streams[stream].recording];
	uint64_t *floor_ns = &c->floors[c->files->streams[stream].recording];
	/* Different for each stream: Babeltrace 2 complains about messages that it cannot tell
	 * apart. */
	uint64_t known_ns = r->known_ns > stream ? r->known_ns - stream % 1000 : 0;
	struct live_packet beacon = { .offset = 0 };

	if (r->progress.state != PROGRESS_GROWS) {
		cursor->is_over = true;
		return put_index(c, &beacon, INDEX_HUP, FLAG_NEW_STREAM);
	}
	if (known_ns <= cursor->floor_ns || !has_class(c, stream, cursor))
		return put_index(c, &beacon, INDEX_RETRY, 0);
	cursor->floor_ns = known_ns;
	*floor_ns = *floor_ns < known_ns ? known_ns : *floor_ns;
	beacon.end_ns = known_ns;
	beacon.class_id = cursor->class_id;
	put_index(c, &beacon, INDEX_INACTIVE, 0);
}

static void next_index(struct live_connection *c, const uint8_t *body)
{
	const struct live_packet nothing = { .offset = 0 };
	struct live_cursor *cursor;
	uint32_t stream, flags;

	if (!cursor_of(c, get64(body), &stream) || is_metadata(c, stream))
		return put_index(c, &nothing, INDEX_ERROR, 0);
	live_files_update(c->files, c->files->streams[stream].recording);
	if (!extend(c)) {
		c->is_over = true;
		return;
	}
	cursor = &c->cursors[stream];
	flags = count_unreported(c, c->files->streams[stream].recording) ? FLAG_NEW_STREAM : 0;
	if (find_packet(c, stream, cursor) || (flags && make_dummy(c, stream, cursor)))
		put_index(c, &cursor->packet, INDEX_OK,
			  flags | (has_new_metadata(c, stream) ? FLAG_NEW_METADATA : 0));
	else if (flags)
		put_index(c, &nothing, INDEX_RETRY, flags);
	else
		put_beacon(c, stream, cursor);
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

static void get_packet(struct live_connection *c, const uint8_t *body)
{
	uint64_t offset = get64(body + 8);
	uint32_t n = get32(body + 16), stream;
	struct live_cursor *cursor = cursor_of(c, get64(body), &stream);
	const struct live_packet *p = cursor && cursor->has_packet ? &cursor->packet : NULL;
	uint8_t *bytes = NULL;

	if (p && n && offset >= p->offset && offset - p->offset < p->bytes &&
	    n <= p->bytes - (offset - p->offset))
		bytes = malloc(n);
	if (!bytes || live_files_read(c->files, stream, offset, bytes, n)) {
		put32(c, PACKET_ERROR);
		put32(c, 0);
		put32(c, 0);
	} else {
		set_header(c, stream, cursor, offset - p->offset, bytes, n);
		put32(c, PACKET_OK);
		put32(c, n);
		put32(c, 0);
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

	put64(c, METADATA_HEAD + n);
	put32(c, METADATA_OK);
	text_add(&c->out, (const char *)&magic, sizeof magic);
	text_add(&c->out, (const char *)trace->uuid, sizeof trace->uuid);
	text_add(&c->out, (const char *)head, sizeof head);
	text_add(&c->out, schemes, sizeof schemes);
	text_add(&c->out, text, n);
}

static void get_metadata(struct live_connection *c, const uint8_t *body)
{
	uint32_t stream;
	struct live_cursor *cursor = cursor_of(c, get64(body), &stream);
	char *text = NULL;
	long n = -EINVAL;

	if (cursor && is_metadata(c, stream))
		n = live_files_metadata(c->files, stream, cursor->sent, METADATA_MAX, &text);
	if (n > 0) {
		put_metadata(c, stream, text, (uint32_t)n);
		cursor->sent += (uint64_t)n;
	} else {
		put64(c, 0);
		put32(c, n ? METADATA_ERROR : METADATA_NONE);
	}
	free(text);
}

/* ---------------------------------------------------------------- commands */

static void create_session(struct live_connection *c)
{
	put32(c, DONE);
}

/* The size of the body of each command; -1: unknown command. */
static int body_size(uint32_t command)
{
	static const int sizes[] = { -1, 20, 0, 20, 8, 20, 8, 8, 0, 8 };

	return command < sizeof sizes / sizeof *sizes ? sizes[command] : -1;
}

static void answer(struct live_connection *c, uint32_t command, const uint8_t *body)
{
	if (command != CONNECT && !c->has_connected) {
		c->is_over = true;
		return;
	}
	switch ((enum command)command) {
	case CONNECT:
		return connect_viewer(c, body);
	case LIST_SESSIONS:
		return list_sessions(c);
	case ATTACH:
		return attach(c, body);
	case NEXT_INDEX:
		return next_index(c, body);
	case GET_PACKET:
		return get_packet(c, body);
	case GET_METADATA:
		return get_metadata(c, body);
	case NEW_STREAMS:
		return new_streams(c, body);
	case CREATE_SESSION:
		return create_session(c);
	case DETACH:
		return detach(c, body);
	}
}

uint32_t live_connection_process(struct live_connection *c, const uint8_t *bytes, uint32_t n)
{
	enum { HEAD = 16 };
	uint32_t done = 0;

	while (done < n && !c->is_over && !c->out.size) {
		uint32_t command;
		int size;

		c->in[c->n_in++] = bytes[done++];
		if (c->n_in < HEAD)
			continue;
		command = get32(c->in + 8);
		size = body_size(command);
		if (size < 0 || get64(c->in) != (uint64_t)size) {
			c->is_over = true;
		} else if (c->n_in == HEAD + (uint32_t)size) {
			c->n_in = 0;
			answer(c, command, c->in + HEAD);
			c->is_over |= c->out.failed;
		}
	}
	return done;
}

void live_connection_sent(struct live_connection *c, size_t n)
{
	c->n_sent += n;
	if (c->n_sent < c->out.size)
		return;
	if (c->out.capacity > METADATA_MAX) /* for a large packet; few are large */
		text_fini(&c->out);
	c->out.size = c->n_sent = 0;
}

void live_connection_fini(struct live_connection *c)
{
	text_fini(&c->out);
	free(c->cursors);
	free(c->floors);
	free(c->is_attached);
	*c = (struct live_connection){ 0 };
}
