/* SPDX-License-Identifier: MIT */
/* cmd/export/proto.c - encodes fields of protocol buffers: protobuf.dev, "Encoding". */
#include "base/text.h"
#include "cmd/export/proto.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "trace/text/public.h"

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, VARINT_MAX = 10, LENGTH_BYTES = 4 };
static const size_t LENGTH_MAX = (1u << 28) - 1;

void proto_fini(struct proto *p)
{
	free(p->bytes);
	*p = (struct proto){ 0 };
}

void proto_clear(struct proto *p)
{
	p->size = 0;
	p->failed = false;
}

static bool make_room(struct proto *p, size_t size)
{
	size_t capacity = p->capacity ? p->capacity : 4096;
	char *bigger;

	if (p->failed || size > LENGTH_MAX)
		p->failed = true;
	if (p->failed || p->size + size <= p->capacity)
		return !p->failed;
	while (capacity < p->size + size)
		capacity *= 2;
	bigger = realloc(p->bytes, capacity);
	p->failed = !bigger;
	if (bigger) {
		p->bytes = bigger;
		p->capacity = capacity;
	}
	return bigger;
}

static void put_varint(struct proto *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		p->bytes[p->size++] = (char)(v | 0x80);
	p->bytes[p->size++] = (char)v;
}

static bool put_tag(struct proto *p, uint32_t field, uint32_t tls, size_t more)
{
	if (!make_room(p, VARINT_MAX + more))
		return false;
	put_varint(p, (uint64_t)field << 3 | tls);
	return true;
}

void proto_uint(struct proto *p, uint32_t field, uint64_t v)
{
	if (put_tag(p, field, WIRE_VARINT, VARINT_MAX))
		put_varint(p, v);
}

void proto_int(struct proto *p, uint32_t field, int64_t v)
{
	proto_uint(p, field, (uint64_t)v);
}

void proto_fixed64(struct proto *p, uint32_t field, uint64_t v)
{
	if (!put_tag(p, field, WIRE_64, sizeof v))
		return;
	v = htole64(v);
	memcpy(p->bytes + p->size, &v, sizeof v);
	p->size += sizeof v;
}

void proto_double(struct proto *p, uint32_t field, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	proto_fixed64(p, field, bits);
}

/* An invalid byte becomes three. */
static void put_utf8(struct proto *p, const char *s, size_t n)
{
	const unsigned char *at = (const unsigned char *)s, *end = at + n;

	while (at < end) {
		size_t size = *at < 0x80 ? 1 : text_utf8_length(at, (size_t)(end - at));

		memcpy(p->bytes + p->size, size ? (const void *)at : "\xef\xbf\xbd",
		       size ? size : 3);
		p->size += size ? size : 3;
		at += size ? size : 1;
	}
}

void proto_text(struct proto *p, uint32_t field, const char *s, size_t n)
{
	size_t opened = proto_open(p, field);

	if (n <= LENGTH_MAX / 3 && make_room(p, n * 3))
		put_utf8(p, s, n);
	else
		p->failed = true;
	proto_close(p, opened);
}

size_t proto_open(struct proto *p, uint32_t field)
{
	if (put_tag(p, field, WIRE_BYTES, LENGTH_BYTES))
		p->size += LENGTH_BYTES;
	return p->size;
}

void proto_close(struct proto *p, size_t opened)
{
	size_t n = p->size - opened;

	p->failed |= n > LENGTH_MAX;
	if (p->failed)
		return;
	assert(opened >= LENGTH_BYTES && opened <= p->size);
	for (int i = 0; i < LENGTH_BYTES; i++, n >>= 7)
		p->bytes[opened - LENGTH_BYTES + (size_t)i] =
			(char)((n & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
}
