/* SPDX-License-Identifier: MIT */
/*
 * net/message.c - encoding and decoding of messages, and the check of names.
 *
 * A reader takes each field through `struct in`, which remembers whether a byte was missing.  So
 * a message is read to its end, and checked once.
 */
#include "net/message.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

enum { DIRECTORIES_DEEP = 10 };

struct in {
	const uint8_t *at, *end;
	bool failed;
};

static const uint8_t *take(struct in *in, size_t n)
{
	const uint8_t *p = in->at;

	if ((size_t)(in->end - in->at) < n) {
		in->failed = true;
		return NULL;
	}
	in->at += n;
	return p;
}

static uint32_t take_u32(struct in *in)
{
	const uint8_t *p = take(in, 4);
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, 4);
	return le32toh(v);
}

static uint64_t take_u64(struct in *in)
{
	const uint8_t *p = take(in, 8);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, 8);
	return le64toh(v);
}

/* Reads a length of one byte, and that many bytes of printable ASCII: texts reach terminals. */
static void take_text(struct in *in, char *to, size_t most)
{
	const uint8_t *n = take(in, 1), *p = n ? take(in, *n) : NULL;

	*to = 0;
	if (!p || *n > most) {
		in->failed = true;
		return;
	}
	for (size_t i = 0; i < *n; i++)
		in->failed |= p[i] < ' ' || p[i] >= 0x7f;
	memcpy(to, p, *n);
	to[*n] = 0;
}

static void take_zeros(struct in *in, size_t n)
{
	const uint8_t *p = take(in, n);

	for (size_t i = 0; p && i < n; i++)
		in->failed |= p[i];
}

static void take_magic(struct in *in)
{
	const uint8_t *magic = take(in, 8);

	in->failed |= !magic || memcmp(magic, MESSAGE_MAGIC, 8) != 0;
}

static void read_hello(struct message *m, struct in *in)
{
	const uint8_t *id;

	take_magic(in);
	m->hello.version = take_u32(in);
	in->failed |= !m->hello.version;
	id = take(in, MESSAGE_ID);
	if (id)
		memcpy(m->hello.id, id, MESSAGE_ID);
	take_text(in, m->hello.host, MESSAGE_TEXT);
	take_text(in, m->hello.session, MESSAGE_TEXT);
	take_text(in, m->hello.date, MESSAGE_TEXT);
}

static void read_body(struct message *m, struct in *in)
{
	switch (m->type) {
	case MESSAGE_HELLO:
		read_hello(m, in);
		break;
	case MESSAGE_WELCOME:
		m->welcome.version = take_u32(in);
		take_text(in, m->welcome.path, MESSAGE_NAME);
		break;
	case MESSAGE_FILE:
		m->file.number = take_u32(in);
		take_text(in, m->file.name, MESSAGE_NAME);
		break;
	case MESSAGE_SIZE:
		m->size.number = take_u32(in);
		take_zeros(in, 4);
		m->size.size = take_u64(in);
		break;
	case MESSAGE_DATA:
		m->data.number = take_u32(in);
		m->data.plain = take_u32(in);
		m->data.offset = take_u64(in);
		m->data.bytes = in->at;
		m->data.n = (uint32_t)(in->end - in->at);
		in->at = in->end;
		in->failed |= !m->data.n || m->data.offset > INT64_MAX - MESSAGE_MAX;
		in->failed |= m->data.plain &&
			      (m->data.plain <= m->data.n || m->data.plain > MESSAGE_PAYLOAD);
		break;
	case MESSAGE_TIME:
		for (int i = 0; i < 4; i++)
			m->time.t[i] = take_u64(in);
		m->time.now = take_u64(in);
		break;
	case MESSAGE_TIMED:
		for (int i = 0; i < 3; i++)
			m->timed[i] = take_u64(in);
		break;
	case MESSAGE_END:
	case MESSAGE_ENDED:
		break;
	case MESSAGE_TROUBLE:
	case MESSAGE_REFUSED:
		take_text(in, m->text, MESSAGE_NAME);
		break;
	case MESSAGE_WATCH:
		take_magic(in);
		m->watch.version = take_u32(in);
		in->failed |= !m->watch.version;
		m->watch.from_ns = take_u64(in);
		take_text(in, m->watch.wanted, MESSAGE_NAME);
		break;
	case MESSAGE_LISTED:
		m->listed.grows = take_u32(in);
		m->listed.known_ns = take_u64(in);
		take_text(in, m->listed.path, MESSAGE_NAME);
		in->failed |= m->listed.grows > 1;
		break;
	case MESSAGE_TYPES:
		break;
	}
}

long message_read(struct message *m, const uint8_t *bytes, size_t n, size_t most)
{
	struct in in = { bytes, bytes + n, false };
	uint32_t size;

	assert(most >= MESSAGE_HEAD && most <= MESSAGE_MAX);
	if (n < MESSAGE_HEAD)
		return 0;
	size = take_u32(&in);
	m->type = *take(&in, 1);
	take_zeros(&in, 3);
	if (size < MESSAGE_HEAD || size > most || !m->type || m->type >= MESSAGE_TYPES || in.failed)
		return -EPROTO;
	if (n < size)
		return 0;
	in.end = bytes + size;
	read_body(m, &in);
	return in.failed || in.at != in.end ? -EPROTO : (long)size;
}

/* ---------------------------------------------------------------- writing */

static uint8_t *put(uint8_t *to, const void *bytes, size_t n)
{
	memcpy(to, bytes, n);
	return to + n;
}

static uint8_t *put_u32(uint8_t *to, uint32_t v)
{
	v = htole32(v);
	return put(to, &v, 4);
}

static uint8_t *put_u64(uint8_t *to, uint64_t v)
{
	v = htole64(v);
	return put(to, &v, 8);
}

static uint8_t *put_text(uint8_t *to, const char *text, size_t most)
{
	size_t n = strnlen(text, most);

	*to++ = (uint8_t)n;
	for (size_t i = 0; i < n; i++)
		*to++ = text[i] < ' ' || text[i] >= 0x7f ? '?' : (uint8_t)text[i];
	return to;
}

static uint8_t *put_hello(uint8_t *to, const struct message *m)
{
	to = put(to, MESSAGE_MAGIC, 8);
	to = put_u32(to, m->hello.version);
	to = put(to, m->hello.id, MESSAGE_ID);
	to = put_text(to, m->hello.host, MESSAGE_TEXT);
	to = put_text(to, m->hello.session, MESSAGE_TEXT);
	return put_text(to, m->hello.date, MESSAGE_TEXT);
}

static uint8_t *put_body(uint8_t *to, const struct message *m)
{
	switch (m->type) {
	case MESSAGE_HELLO:
		return put_hello(to, m);
	case MESSAGE_WELCOME:
		return put_text(put_u32(to, m->welcome.version), m->welcome.path, MESSAGE_NAME);
	case MESSAGE_FILE:
		return put_text(put_u32(to, m->file.number), m->file.name, MESSAGE_NAME);
	case MESSAGE_SIZE:
		return put_u64(put_u32(put_u32(to, m->size.number), 0), m->size.size);
	case MESSAGE_DATA:
		return put_u64(put_u32(put_u32(to, m->data.number), m->data.plain), m->data.offset);
	case MESSAGE_TIME:
		for (int i = 0; i < 4; i++)
			to = put_u64(to, m->time.t[i]);
		return put_u64(to, m->time.now);
	case MESSAGE_TIMED:
		for (int i = 0; i < 3; i++)
			to = put_u64(to, m->timed[i]);
		return to;
	case MESSAGE_TROUBLE:
	case MESSAGE_REFUSED:
		return put_text(to, m->text, MESSAGE_NAME);
	case MESSAGE_WATCH:
		to = put_u64(put_u32(put(to, MESSAGE_MAGIC, 8), m->watch.version),
			     m->watch.from_ns);
		return put_text(to, m->watch.wanted, MESSAGE_NAME);
	case MESSAGE_LISTED:
		to = put_u64(put_u32(to, m->listed.grows), m->listed.known_ns);
		return put_text(to, m->listed.path, MESSAGE_NAME);
	case MESSAGE_END:
	case MESSAGE_ENDED:
	case MESSAGE_TYPES:
		break;
	}
	return to;
}

size_t message_write(const struct message *m, uint8_t *to)
{
	size_t n = (size_t)(put_body(to + MESSAGE_HEAD, m) - to);
	const uint8_t type[4] = { (uint8_t)m->type };

	assert(m->type && m->type < MESSAGE_TYPES);
	assert(n <= MESSAGE_FIRST_MAX); /* room that callers have */
	put(put_u32(to, (uint32_t)(n + (m->type == MESSAGE_DATA ? m->data.n : 0))), type, 4);
	return n;
}

/* ---------------------------------------------------------------- names */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

bool message_is_name(const char *name, size_t n)
{
	if (!n || n > MESSAGE_TEXT + 16 || !is_plain(*name))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_plain(name[i]) && !memchr(".-+@", name[i], 4))
			return false;
	return true;
}

void message_name(char to[MESSAGE_TEXT + 1], const char *from)
{
	size_t n = strnlen(from, MESSAGE_TEXT);

	memcpy(to, from, n);
	to[n] = 0;
	for (char *c = to; *c; c++)
		if (!message_is_name(c, 1) && (c == to || !strchr(".-+@", *c)))
			*c = '_';
	if (!*to)
		strcpy(to, "_");
}

/* Names in .duet that a relay or a sender writes itself. */
static bool is_reserved(const char *name, bool of_relay)
{
	if (!strncmp(name, "clock-relay", 11))
		return !of_relay || name[11];
	return !strncmp(name, "relay", 5) || !strncmp(name, "stream", 6);
}

bool message_is_path(const char *path, bool of_relay)
{
	bool is_hidden = false;

	for (int depth = 0; depth < DIRECTORIES_DEEP; depth++) {
		size_t n = strcspn(path, "/");

		if (is_hidden && is_reserved(path, of_relay))
			return false;
		is_hidden = n == 5 && !memcmp(path, ".duet", 5) && path[n];
		if (!is_hidden && !message_is_name(path, n))
			return false;
		if (!path[n])
			return true;
		path += n + 1;
	}
	return false;
}
