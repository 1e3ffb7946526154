/* SPDX-License-Identifier: MIT */
/*
 * base/json_line.c - parse and write the one-line JSON objects of the control protocol.
 *
 * The parser allocates nothing: members point into the text.  It checks every length.
 */
#include "base/json_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct cursor {
	const char *p, *end;
};

static void skip_spaces(struct cursor *c)
{
	while (c->p < c->end && memchr(" \t\r\n", *c->p, 4))
		c->p++;
}

static bool take(struct cursor *c, char wanted)
{
	skip_spaces(c);
	if (c->p == c->end || *c->p != wanted)
		return false;
	c->p++;
	return true;
}

/* Consumes a string; returns the bytes between its quotes. */
static bool take_string(struct cursor *c, const char **begin, size_t *size)
{
	if (!take(c, '"'))
		return false;
	for (*begin = c->p; c->p < c->end && *c->p != '"'; c->p++)
		if ((unsigned char)*c->p < ' ' || (*c->p == '\\' && ++c->p == c->end))
			return false;
	*size = (size_t)(c->p - *begin);
	return take(c, '"');
}

static bool take_value(struct cursor *c, struct json_line_member *m)
{
	skip_spaces(c);
	m->is_text = c->p < c->end && *c->p == '"';
	if (m->is_text)
		return take_string(c, &m->value, &m->value_size);
	for (m->value = c->p;
	     c->p < c->end && memchr("+-.0123456789abcdefghijklmnopqrstuvwxyzE", *c->p, 40);)
		c->p++;
	m->value_size = (size_t)(c->p - m->value);
	return m->value_size;
}

int json_line_parse(struct json_line *l, const char *text, size_t size)
{
	struct cursor c = { text, text + size };

	l->n = 0;
	if (!take(&c, '{'))
		return -EBADMSG;
	if (!take(&c, '}')) {
		do {
			struct json_line_member *m = &l->members[l->n];

			if (l->n == JSON_LINE_MEMBERS || !take_string(&c, &m->key, &m->key_size) ||
			    !take(&c, ':') || !take_value(&c, m))
				return -EBADMSG;
			l->n++;
		} while (take(&c, ','));
		if (!take(&c, '}'))
			return -EBADMSG;
	}
	skip_spaces(&c);
	return c.p == c.end ? 0 : -EBADMSG;
}

static const struct json_line_member *find(const struct json_line *l, const char *key)
{
	for (int i = 0; i < l->n; i++)
		if (l->members[i].key_size == strlen(key) &&
		    !memcmp(l->members[i].key, key, l->members[i].key_size))
			return &l->members[i];
	return NULL;
}

bool json_line_has(const struct json_line *l, const char *key)
{
	return find(l, key);
}

/* The four digits of \u; -1 if they are none. */
static int unescape_number(const char *p, const char *end)
{
	static const char digits[] = "0123456789abcdef";
	int v = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		const char *digit = strchr(digits, p[i] >= 'A' && p[i] <= 'F' ? p[i] | 0x20 : p[i]);

		if (!p[i] || !digit)
			return -1;
		v = v << 4 | (int)(digit - digits);
	}
	return v;
}

/* The UTF-8 of character @v; returns its bytes. */
static size_t write_utf8(char bytes[4], uint32_t v)
{
	size_t n = v < 0x80 ? 1 : v < 0x800 ? 2 : v < 0x10000 ? 3 : 4;
	static const uint8_t first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = n; i-- > 1; v >>= 6)
		bytes[i] = (char)(0x80 | (v & 0x3f));
	bytes[0] = (char)(first[n == 1 ? 0 : n] | v);
	return n;
}

/*
 * The bytes of the escape at *@p, which is after the backslash and is moved to the escape's end; 0 of
 * them if it is none, or a NUL.  \udc80 to \udcff that complete no pair are the bytes 0x80 to 0xff,
 * which are no UTF-8 there: paths may be any bytes (the way of Python's PEP 383).
 */
static size_t unescape(const char **p, const char *end, char bytes[4])
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *one = *p < end && **p ? strchr(from, **p) : NULL;
	int v, low = -1;

	if (one) {
		bytes[0] = to[one - from];
		return 1;
	}
	if (*p == end || **p != 'u')
		return 0;
	v = unescape_number(*p + 1, end);
	*p += 4;
	if (v >= 0xd800 && v < 0xdc00 && end - *p > 2 && (*p)[1] == '\\' && (*p)[2] == 'u')
		low = unescape_number(*p + 3, end);
	if (low >= 0xdc00 && low < 0xe000) {
		*p += 6;
		return write_utf8(bytes, 0x10000 + (((uint32_t)v & 0x3ff) << 10) +
						 ((uint32_t)low & 0x3ff));
	}
	if (v >= 0xdc80 && v <= 0xdcff) {
		bytes[0] = (char)(v & 0xff);
		return 1;
	}
	return v <= 0 || (v >= 0xd800 && v < 0xe000) ? 0 : write_utf8(bytes, (uint32_t)v);
}

bool json_line_text(const struct json_line *l, const char *key, char *value, size_t size)
{
	const struct json_line_member *m = find(l, key);
	size_t n = 0;

	if (!m || !m->is_text)
		return false;
	for (const char *p = m->value, *end = p + m->value_size; p < end; p++) {
		char bytes[4] = { *p };
		size_t length = 1;

		if (*p == '\\') {
			p++;
			length = unescape(&p, end, bytes);
		}
		if (!length || !bytes[0] || n + length >= size)
			return false;
		memcpy(value + n, bytes, length);
		n += length;
	}
	value[n] = 0;
	return true;
}

bool json_line_number(const struct json_line *l, const char *key, uint64_t *value)
{
	const struct json_line_member *m = find(l, key);
	uint64_t v = 0;

	if (!m || m->is_text)
		return false;
	for (size_t i = 0; i < m->value_size; i++) {
		unsigned digit = (unsigned)m->value[i] - '0';

		if (digit > 9 || v > (UINT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*value = v;
	return true;
}

bool json_line_is_true(const struct json_line *l, const char *key)
{
	const struct json_line_member *m = find(l, key);

	return m && !m->is_text && m->value_size == 4 && !memcmp(m->value, "true", 4);
}

static void add_string(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

static void add_key(struct text *t, const char *key)
{
	add_string(t, t->size ? ",\"" : "{\"");
	add_string(t, key);
	add_string(t, "\":");
}

static void add_escape(struct text *t, unsigned v)
{
	char escape[8];

	snprintf(escape, sizeof escape, "\\u%04x", v & 0xffff);
	add_string(t, escape);
}

/* As \uXXXX: a control, or a character that deceives people, who read these lines as well. */
static void add_hidden(struct text *t, const char *s, size_t n)
{
	uint32_t v = text_code_point(s, n);

	if (v >= 0x10000)
		add_escape(t, 0xd800 + ((v - 0x10000) >> 10));
	add_escape(t, v >= 0x10000 ? 0xdc00 | (v & 0x3ff) : v);
}

void json_line_add_text(struct text *t, const char *key, const char *value)
{
	add_key(t, key);
	add_string(t, "\"");
	while (*value) {
		size_t n = text_utf8_length(value, strlen(value));

		if (*value == '\n')
			add_string(t, "\\n");
		else if (!n) /* unescape() */
			add_escape(t, 0xdc00 | (unsigned char)*value);
		else if (!text_shown_length(value, n))
			add_hidden(t, value, n);
		else if (*value == '"' || *value == '\\')
			text_add(t, (char[]){ '\\', *value }, 2);
		else
			text_add(t, value, n);
		value += n ? n : 1;
	}
	add_string(t, "\"");
}

void json_line_add_number(struct text *t, const char *key, uint64_t value)
{
	char digits[24],
		*p = digits + sizeof digits; /* decimal() is for a long, which may be short */

	do
		*--p = (char)('0' + value % 10);
	while (value /= 10);
	add_key(t, key);
	text_add(t, p, (size_t)(digits + sizeof digits - p));
}

int json_line_end(struct text *t)
{
	add_string(t, "}\n");
	return t->failed ? -ENOMEM : 0;
}

int json_line_send(int fd, struct text *t, int passed)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec v;
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (json_line_end(t))
		return -ENOMEM;
	v = (struct iovec){ t->bytes, t->size };
	if (passed >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof control;
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &passed, sizeof(int));
	}
	return sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

void json_line_refuse(int fd, bool is_busy, const char *why)
{
	struct text t = { 0 };

	text_addf(&t, "{\"ok\":false");
	if (is_busy)
		text_addf(&t, ",\"busy\":true");
	json_line_add_text(&t, "error", why);
	json_line_send(fd, &t, -1); /* a client that does not read gets no answer */
	text_fini(&t);
}
