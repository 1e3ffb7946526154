/* SPDX-License-Identifier: MIT */
/* net/lttng_live/protocol.c - see protocol.h. */
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
enum { METADATA_MOST = 1 << 20, METADATA_HEAD = 37 };
enum { FLAG_NEW_METADATA = 1, FLAG_NEW_STREAM = 2 };
enum { ATTACH_OK = 1, ATTACH_UNKNOWN = 3, SEEK_BEGINNING = 1 };
enum { INDEX_OK = 1, INDEX_RETRY, INDEX_HUP, INDEX_ERROR, INDEX_INACTIVE };
enum { PACKET_OK = 1, PACKET_ERROR = 3 };
enum { METADATA_OK = 1, METADATA_NONE, METADATA_ERROR };
enum { STREAMS_OK = 1, STREAMS_NONE, STREAMS_ERROR, STREAMS_HUP };
enum { DONE = 1, DETACH_UNKNOWN = 2 };

static void put32(struct live_talk *t, uint32_t v)
{
	v = htobe32(v);
	text_add(&t->out, (const char *)&v, sizeof v);
}

static void put64(struct live_talk *t, uint64_t v)
{
	v = htobe64(v);
	text_add(&t->out, (const char *)&v, sizeof v);
}

/* A text in a field of fixed size, always ended by a NUL. */
static void put_name(struct live_talk *t, const char *name, size_t size)
{
	static const char zeros[PATH_BYTES];
	size_t n = strnlen(name, size - 1);

	text_add(&t->out, name, n);
	text_add(&t->out, zeros, size - n);
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

/* ---------------------------------------------------------------- what this viewer knows */

/* Room for all that is listed by now. */
static bool extend(struct live_talk *t)
{
	uint32_t n = t->files->n_streams, m = t->files->n_recordings;
	struct live_cursor *cursors = realloc(t->cursors, (n + (size_t)1) * sizeof *cursors);
	uint64_t *floors = realloc(t->floors, (m + (size_t)1) * sizeof *floors);
	bool *is_attached = realloc(t->is_attached, (m + (size_t)1) * sizeof *is_attached);

	t->cursors = cursors ? cursors : t->cursors;
	t->floors = floors ? floors : t->floors;
	t->is_attached = is_attached ? is_attached : t->is_attached;
	if (!cursors || !floors || !is_attached)
		return false;
	memset(cursors + t->n_cursors, 0, (n - t->n_cursors) * sizeof *cursors);
	memset(floors + t->n_floors, 0, (m - t->n_floors) * sizeof *floors);
	memset(is_attached + t->n_floors, 0, (m - t->n_floors) * sizeof *is_attached);
	t->n_cursors = n;
	t->n_floors = m;
	return true;
}

/* The stream that the viewer calls @id, if it was told of it. */
static struct live_cursor *cursor_of(struct live_talk *t, uint64_t id, uint32_t *stream)
{
	*stream = (uint32_t)(id - 1);
	if (!id || id > t->n_cursors || !t->cursors[id - 1].reported)
		return NULL;
	return t->is_attached[t->files->streams[*stream].recording] ? &t->cursors[*stream] : NULL;
}

static bool is_metadata(const struct live_talk *t, uint32_t stream)
{
	return !t->files->streams[stream].name;
}

static uint32_t count_unreported(const struct live_talk *t, uint32_t recording)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_cursors; i++)
		n += t->files->streams[i].recording == recording && !t->cursors[i].reported;
	return n;
}

static bool is_all_over(const struct live_talk *t, uint32_t recording)
{
	for (uint32_t i = 0; i < t->n_cursors; i++)
		if (t->files->streams[i].recording == recording && !is_metadata(t, i) &&
		    !t->cursors[i].is_over)
			return false;
	return t->files->recordings[recording].progress.state != PROGRESS_GROWS;
}

/* The streams of @recording that were not told yet, and from which packet on they are given. */
static void put_streams(struct live_talk *t, uint32_t recording, bool from_now)
{
	for (uint32_t i = 0; i < t->n_cursors; i++) {
		const struct live_stream *s = &t->files->streams[i];
		struct live_cursor *c = &t->cursors[i];

		if (s->recording != recording || c->reported)
			continue;
		*c = (struct live_cursor){ .reported = true, .floor_ns = t->floors[recording] };
		if (from_now && s->name)
			c->next = live_files_n_packets(t->files, i);
		put64(t, i + (uint64_t)1);
		put64(t, s->trace + (uint64_t)1);
		put32(t, !s->name);
		put_name(t, t->files->traces[s->trace].below, PATH_BYTES);
		put_name(t, s->name ? s->name : "metadata", NAME_BYTES);
	}
}

/* ---------------------------------------------------------------- sessions */

static void connect_viewer(struct live_talk *t, const uint8_t *body)
{
	uint32_t major = get32(body + 8), minor = get32(body + 12);

	if (major != MAJOR) {
		t->is_over = true;
		return;
	}
	t->is_known = true;
	put64(t, 1);
	put32(t, MAJOR);
	put32(t, minor < MINOR ? minor : MINOR);
	put32(t, get32(body + 16));
}

/* What has ended is offered only if somebody asked for it to be. */
static bool is_offered(const struct live_files *f, uint32_t recording)
{
	const struct live_recording *r = &f->recordings[recording];

	for (int i = 0; i < f->n_roots; i++)
		if (!strcmp(f->roots[i], r->path))
			return true;
	return r->progress.state == PROGRESS_GROWS;
}

static void list_sessions(struct live_talk *t)
{
	const struct live_files *f = t->files;
	uint32_t n = 0;

	live_files_scan(t->files);
	for (uint32_t i = 0; i < f->n_recordings; i++)
		n += is_offered(f, i);
	put32(t, n);
	for (uint32_t i = 0; i < f->n_recordings; i++) {
		const struct live_recording *r = &f->recordings[i];

		if (!is_offered(f, i))
			continue;
		put64(t, i + (uint64_t)1);
		put32(t, LIVE_TIMER_US);
		put32(t, 0);
		put32(t, r->n_streams);
		put_name(t, r->host, HOST_BYTES);
		put_name(t, r->name, NAME_BYTES);
	}
}

static void attach(struct live_talk *t, const uint8_t *body)
{
	uint64_t id = get64(body);
	uint32_t recording = (uint32_t)(id - 1);

	live_files_scan(t->files);
	if (!id || id > t->files->n_recordings || !extend(t)) {
		put32(t, ATTACH_UNKNOWN);
		put32(t, 0);
		return;
	}
	live_files_ask(t->files, recording);
	if (!extend(t)) {
		t->is_over = true;
		return;
	}
	for (uint32_t i = 0; i < t->n_cursors; i++)
		if (t->files->streams[i].recording == recording)
			t->cursors[i] = (struct live_cursor){ .reported = false };
	t->is_attached[recording] = true;
	t->floors[recording] = 0;
	put32(t, ATTACH_OK);
	put32(t, count_unreported(t, recording));
	put_streams(t, recording, !t->from_begin && get32(body + 16) != SEEK_BEGINNING);
}

static void detach(struct live_talk *t, const uint8_t *body)
{
	uint64_t id = get64(body);
	bool is_known = id && id <= t->n_floors && t->is_attached[id - 1];

	if (is_known)
		t->is_attached[id - 1] = false;
	put32(t, is_known ? DONE : DETACH_UNKNOWN);
}

static void new_streams(struct live_talk *t, const uint8_t *body)
{
	uint64_t id = get64(body);
	uint32_t recording = (uint32_t)(id - 1), n;

	if (!id || id > t->n_floors || !t->is_attached[recording]) {
		put32(t, STREAMS_ERROR);
		put32(t, 0);
		return;
	}
	live_files_ask(t->files, recording);
	if (!extend(t)) {
		t->is_over = true;
		return;
	}
	n = count_unreported(t, recording);
	put32(t, n ? STREAMS_OK : is_all_over(t, recording) ? STREAMS_HUP : STREAMS_NONE);
	put32(t, n);
	put_streams(t, recording, false);
}

/* ---------------------------------------------------------------- packets */

static void put_index(struct live_talk *t, const struct live_packet *p, uint32_t status,
		      uint32_t flags)
{
	put64(t, p->offset);
	put64(t, p->bytes * 8);
	put64(t, p->content_bits);
	put64(t, p->begin_ns);
	put64(t, p->end_ns);
	put64(t, p->discarded);
	put64(t, p->class_id);
	put32(t, status);
	put32(t, flags);
}

/* The next packet that is not late: (2) of protocol.h. */
static bool find_packet(struct live_talk *t, uint32_t stream, struct live_cursor *c)
{
	struct live_packet p;

	while (live_files_packet(t->files, stream, c->next, &p)) {
		c->next++;
		c->class_id = p.class_id;
		c->has_class = true;
		if (p.end_ns < c->floor_ns) {
			t->n_late++;
			continue;
		}
		p.begin_ns = p.begin_ns < c->floor_ns ? c->floor_ns : p.begin_ns;
		c->packet = p;
		c->has_packet = true;
		c->is_bell = false;
		c->floor_ns = p.end_ns;
		return true;
	}
	return false;
}

/* An empty packet behind the last one. */
static bool make_bell(struct live_talk *t, uint32_t stream, struct live_cursor *c)
{
	enum { BYTES = sizeof(struct abi_ctf_packet) };
	struct live_packet p;

	if (!c->next || !live_files_packet(t->files, stream, c->next - 1, &p))
		return false;
	p.begin_ns = p.end_ns = p.end_ns > c->floor_ns ? p.end_ns : c->floor_ns;
	p.bytes = BYTES;
	p.content_bits = BYTES * 8;
	c->packet = p;
	c->has_packet = c->is_bell = true;
	c->floor_ns = p.end_ns;
	c->n_bells++;
	return true;
}

static bool has_new_metadata(const struct live_talk *t, uint32_t stream)
{
	for (uint32_t i = 0; i < t->n_cursors; i++)
		if (is_metadata(t, i) &&
		    t->files->streams[i].trace == t->files->streams[stream].trace)
			return live_files_metadata_size(t->files, i) > t->cursors[i].sent;
	return false;
}

/* A beacon must say of which class its stream is. */
static bool has_class(struct live_talk *t, uint32_t stream, struct live_cursor *c)
{
	struct live_packet first;

	if (!c->has_class && live_files_packet(t->files, stream, 0, &first)) {
		c->class_id = first.class_id;
		c->has_class = true;
	}
	return c->has_class;
}

static void put_nothing(struct live_talk *t, uint32_t stream, struct live_cursor *c)
{
	const struct live_recording *r = &t->files->recordings[t->files->streams[stream].recording];
	uint64_t *floor_ns = &t->floors[t->files->streams[stream].recording];
	/* Each its own: Babeltrace 2 complains about messages that it cannot tell apart. */
	uint64_t known_ns = r->known_ns > stream ? r->known_ns - stream % 1000 : 0;
	struct live_packet beacon = { .offset = 0 };

	if (r->progress.state != PROGRESS_GROWS) {
		c->is_over = true;
		return put_index(t, &beacon, INDEX_HUP, FLAG_NEW_STREAM);
	}
	if (known_ns <= c->floor_ns || !has_class(t, stream, c))
		return put_index(t, &beacon, INDEX_RETRY, 0);
	c->floor_ns = known_ns;
	*floor_ns = *floor_ns < known_ns ? known_ns : *floor_ns;
	beacon.end_ns = known_ns;
	beacon.class_id = c->class_id;
	put_index(t, &beacon, INDEX_INACTIVE, 0);
}

static void next_index(struct live_talk *t, const uint8_t *body)
{
	const struct live_packet nothing = { .offset = 0 };
	struct live_cursor *c;
	uint32_t stream, flags;

	if (!cursor_of(t, get64(body), &stream) || is_metadata(t, stream))
		return put_index(t, &nothing, INDEX_ERROR, 0);
	live_files_ask(t->files, t->files->streams[stream].recording);
	if (!extend(t)) {
		t->is_over = true;
		return;
	}
	c = &t->cursors[stream];
	flags = count_unreported(t, t->files->streams[stream].recording) ? FLAG_NEW_STREAM : 0;
	if (find_packet(t, stream, c) || (flags && make_bell(t, stream, c)))
		put_index(t, &c->packet, INDEX_OK,
			  flags | (has_new_metadata(t, stream) ? FLAG_NEW_METADATA : 0));
	else if (flags)
		put_index(t, &nothing, INDEX_RETRY, flags);
	else
		put_nothing(t, stream, c);
}

/* The packet's header as it was told: bytes [from, from + n) of the packet are at @to. */
static void set_header(const struct live_talk *t, uint32_t stream, const struct live_cursor *c,
		       uint64_t from, uint8_t *to, uint32_t n)
{
	struct abi_ctf_packet h;

	if (from >= sizeof h ||
	    live_files_read(t->files, stream, c->packet.offset, (uint8_t *)&h, sizeof h))
		return;
	h.begin_ns = c->packet.begin_ns;
	h.sequence += c->n_bells;
	if (c->is_bell) {
		h.end_ns = c->packet.end_ns;
		h.content_bits = h.packet_bits = c->packet.bytes * 8;
	}
	memcpy(to, (const uint8_t *)&h + from, n < sizeof h - from ? n : sizeof h - from);
}

static void get_packet(struct live_talk *t, const uint8_t *body)
{
	uint64_t offset = get64(body + 8);
	uint32_t n = get32(body + 16), stream;
	struct live_cursor *c = cursor_of(t, get64(body), &stream);
	const struct live_packet *p = c && c->has_packet ? &c->packet : NULL;
	uint8_t *bytes = NULL;

	if (p && n && offset >= p->offset && offset - p->offset < p->bytes &&
	    n <= p->bytes - (offset - p->offset))
		bytes = malloc(n);
	if (!bytes || live_files_read(t->files, stream, offset, bytes, n)) {
		put32(t, PACKET_ERROR);
		put32(t, 0);
		put32(t, 0);
	} else {
		set_header(t, stream, c, offset - p->offset, bytes, n);
		put32(t, PACKET_OK);
		put32(t, n);
		put32(t, 0);
		text_add(&t->out, (const char *)bytes, n);
	}
	free(bytes);
}

/* As packets, which viewers take piece by piece; the words in the order of this machine, as in
 * streams. */
static void put_metadata(struct live_talk *t, uint32_t stream, const char *text, uint32_t n)
{
	const struct live_trace *trace = &t->files->traces[t->files->streams[stream].trace];
	uint32_t head[3] = { 0, (METADATA_HEAD + n) * 8, (METADATA_HEAD + n) * 8 },
		 magic = 0x75D11D57;
	const char schemes[5] = { 0, 0, 0, 1, 8 };

	put64(t, METADATA_HEAD + n);
	put32(t, METADATA_OK);
	text_add(&t->out, (const char *)&magic, sizeof magic);
	text_add(&t->out, (const char *)trace->uuid, sizeof trace->uuid);
	text_add(&t->out, (const char *)head, sizeof head);
	text_add(&t->out, schemes, sizeof schemes);
	text_add(&t->out, text, n);
}

static void get_metadata(struct live_talk *t, const uint8_t *body)
{
	uint32_t stream;
	struct live_cursor *c = cursor_of(t, get64(body), &stream);
	char *text = NULL;
	long n = -EINVAL;

	if (c && is_metadata(t, stream))
		n = live_files_metadata(t->files, stream, c->sent, METADATA_MOST, &text);
	if (n > 0) {
		put_metadata(t, stream, text, (uint32_t)n);
		c->sent += (uint64_t)n;
	} else {
		put64(t, 0);
		put32(t, n ? METADATA_ERROR : METADATA_NONE);
	}
	free(text);
}

/* ---------------------------------------------------------------- commands */

static void create_session(struct live_talk *t)
{
	put32(t, DONE);
}

/* How many bytes follow the head of each; -1: no such command. */
static int body_size(uint32_t command)
{
	static const int sizes[] = { -1, 20, 0, 20, 8, 20, 8, 8, 0, 8 };

	return command < sizeof sizes / sizeof *sizes ? sizes[command] : -1;
}

static void answer(struct live_talk *t, uint32_t command, const uint8_t *body)
{
	if (command != CONNECT && !t->is_known) {
		t->is_over = true;
		return;
	}
	switch ((enum command)command) {
	case CONNECT:
		return connect_viewer(t, body);
	case LIST_SESSIONS:
		return list_sessions(t);
	case ATTACH:
		return attach(t, body);
	case NEXT_INDEX:
		return next_index(t, body);
	case GET_PACKET:
		return get_packet(t, body);
	case GET_METADATA:
		return get_metadata(t, body);
	case NEW_STREAMS:
		return new_streams(t, body);
	case CREATE_SESSION:
		return create_session(t);
	case DETACH:
		return detach(t, body);
	}
}

uint32_t live_talk_took(struct live_talk *t, const uint8_t *bytes, uint32_t n)
{
	enum { HEAD = 16 };
	uint32_t done = 0;

	while (done < n && !t->is_over && !t->out.size) {
		uint32_t command;
		int size;

		t->in[t->n_in++] = bytes[done++];
		if (t->n_in < HEAD)
			continue;
		command = get32(t->in + 8);
		size = body_size(command);
		if (size < 0 || get64(t->in) != (uint64_t)size) {
			t->is_over = true;
		} else if (t->n_in == HEAD + (uint32_t)size) {
			t->n_in = 0;
			answer(t, command, t->in + HEAD);
			t->is_over |= t->out.failed;
		}
	}
	return done;
}

void live_talk_sent(struct live_talk *t, size_t n)
{
	t->n_sent += n;
	if (t->n_sent < t->out.size)
		return;
	if (t->out.capacity > METADATA_MOST) /* a large packet's; few are */
		text_fini(&t->out);
	t->out.size = t->n_sent = 0;
}

void live_talk_fini(struct live_talk *t)
{
	text_fini(&t->out);
	free(t->cursors);
	free(t->floors);
	free(t->is_attached);
	*t = (struct live_talk){ 0 };
}
