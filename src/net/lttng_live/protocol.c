/* SPDX-License-Identifier: MIT */
/*
 * net/lttng_live/protocol.c - the commands of a viewer: sessions and streams; packets are in
 * live_packets.c.
 */
#include "net/lttng_live/internal.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

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
enum { ANSWER_KEPT_MAX = 1 << 20 }; /* larger buffers are freed after the answer */
enum { PATH_BYTES = 4096, NAME_BYTES = 255, HOST_BYTES = 64, LIVE_TIMER_US = 1000000 };
enum { ATTACH_OK = 1, ATTACH_UNKNOWN = 3, SEEK_BEGINNING = 1 };
enum { STREAMS_OK = 1, STREAMS_NONE, STREAMS_ERROR, STREAMS_HUP };
enum { DONE = 1, DETACH_UNKNOWN = 2 };

/* A text in a field of fixed size, always terminated by a NUL. */
static void put_name(struct live_connection *c, const char *name, size_t size)
{
	static const char zeros[PATH_BYTES];
	size_t n = strnlen(name, size - 1);

	text_add(&c->out, name, n);
	text_add(&c->out, zeros, size - n);
}

/* ---------------------------------------------------------------- streams of one viewer */

bool live_extend(struct live_connection *c)
{
	uint32_t n = c->files->n_streams, m = c->files->n_recordings;
	struct live_cursor *cursors = realloc(c->cursors, (n + (size_t)1) * sizeof *cursors);
	uint64_t *floors = realloc(c->floors, (m + (size_t)1) * sizeof *floors);
	bool *is_attached = realloc(c->is_attached, (m + (size_t)1) * sizeof *is_attached);

	assert(c->n_cursors <= n && c->n_floors <= m); /* numbers stay */
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

struct live_cursor *live_cursor_of(struct live_connection *c, uint64_t id, uint32_t *stream)
{
	*stream = (uint32_t)(id - 1);
	if (!id || id > c->n_cursors || !c->cursors[id - 1].is_announced)
		return NULL;
	return c->is_attached[c->files->streams[*stream].recording] ? &c->cursors[*stream] : NULL;
}

bool live_is_metadata(const struct live_connection *c, uint32_t stream)
{
	return !c->files->streams[stream].name;
}

uint32_t live_count_unreported(const struct live_connection *c, uint32_t recording)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n_cursors; i++)
		n += c->files->streams[i].recording == recording && !c->cursors[i].is_announced;
	return n;
}

static bool all_are_over(const struct live_connection *c, uint32_t recording)
{
	for (uint32_t i = 0; i < c->n_cursors; i++)
		if (c->files->streams[i].recording == recording && !live_is_metadata(c, i) &&
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

		if (s->recording != recording || cursor->is_announced)
			continue;
		*cursor = (struct live_cursor){ .is_announced = true,
						.floor_ns = c->floors[recording] };
		if (from_now && s->name)
			cursor->next = live_files_n_packets(c->files, i);
		live_put64(c, i + (uint64_t)1);
		live_put64(c, s->trace + (uint64_t)1);
		live_put32(c, !s->name);
		put_name(c, c->files->traces[s->trace].below, PATH_BYTES);
		put_name(c, s->name ? s->name : "metadata", NAME_BYTES);
	}
}

/* ---------------------------------------------------------------- sessions */

static void connect_viewer(struct live_connection *c, const uint8_t *body)
{
	uint32_t major = live_get32(body + 8), minor = live_get32(body + 12);

	if (major != MAJOR) {
		c->is_over = true;
		return;
	}
	c->has_connected = true;
	live_put64(c, 1);
	live_put32(c, MAJOR);
	live_put32(c, minor < MINOR ? minor : MINOR);
	live_put32(c, live_get32(body + 16));
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
	live_put32(c, n);
	for (uint32_t i = 0; i < f->n_recordings; i++) {
		const struct live_recording *r = &f->recordings[i];

		if (!is_offered(f, i))
			continue;
		live_put64(c, i + (uint64_t)1);
		live_put32(c, LIVE_TIMER_US);
		live_put32(c, 0);
		live_put32(c, r->n_streams);
		put_name(c, r->host, HOST_BYTES);
		put_name(c, r->name, NAME_BYTES);
	}
}

static void attach(struct live_connection *c, const uint8_t *body)
{
	uint64_t id = live_get64(body);
	uint32_t recording = (uint32_t)(id - 1);

	live_files_scan(c->files);
	if (!id || id > c->files->n_recordings || !live_extend(c)) {
		live_put32(c, ATTACH_UNKNOWN);
		live_put32(c, 0);
		return;
	}
	live_files_update(c->files, recording);
	if (!live_extend(c)) {
		c->is_over = true;
		return;
	}
	for (uint32_t i = 0; i < c->n_cursors; i++)
		if (c->files->streams[i].recording == recording)
			c->cursors[i] = (struct live_cursor){ .is_announced = false };
	c->is_attached[recording] = true;
	c->floors[recording] = 0;
	live_put32(c, ATTACH_OK);
	live_put32(c, live_count_unreported(c, recording));
	put_streams(c, recording, !c->from_begin && live_get32(body + 16) != SEEK_BEGINNING);
}

static void detach(struct live_connection *c, const uint8_t *body)
{
	uint64_t id = live_get64(body);
	bool has_connected = id && id <= c->n_floors && c->is_attached[id - 1];

	if (has_connected)
		c->is_attached[id - 1] = false;
	live_put32(c, has_connected ? DONE : DETACH_UNKNOWN);
}

static void new_streams(struct live_connection *c, const uint8_t *body)
{
	uint64_t id = live_get64(body);
	uint32_t recording = (uint32_t)(id - 1), n;

	if (!id || id > c->n_floors || !c->is_attached[recording]) {
		live_put32(c, STREAMS_ERROR);
		live_put32(c, 0);
		return;
	}
	live_files_update(c->files, recording);
	if (!live_extend(c)) {
		c->is_over = true;
		return;
	}
	n = live_count_unreported(c, recording);
	live_put32(c, n ? STREAMS_OK : all_are_over(c, recording) ? STREAMS_HUP : STREAMS_NONE);
	live_put32(c, n);
	put_streams(c, recording, false);
}

/* ---------------------------------------------------------------- commands */

static void create_session(struct live_connection *c)
{
	live_put32(c, DONE);
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
		return live_next_index(c, body);
	case GET_PACKET:
		return live_get_packet(c, body);
	case GET_METADATA:
		return live_get_metadata(c, body);
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

		assert(c->n_in < sizeof c->in);
		c->in[c->n_in++] = bytes[done++];
		if (c->n_in < HEAD)
			continue;
		command = live_get32(c->in + 8);
		size = body_size(command);
		if (size < 0 || live_get64(c->in) != (uint64_t)size) {
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
	assert(c->n_sent <= c->out.size);
	if (c->n_sent < c->out.size)
		return;
	if (c->out.capacity > ANSWER_KEPT_MAX) /* for a large packet; few are large */
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
