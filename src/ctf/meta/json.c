/* SPDX-License-Identifier: MIT */
/* ctf/meta/json.c - a parser for JSON (RFC 8259), by recursive descent; the first error is kept. */
#include "ctf/meta/json.h"

#include <errno.h>
#include <string.h>

struct parser {
	struct ctf_meta *memory;
	const char *begin, *at, *end;
	uint32_t n_nodes;
	int depth;
	bool has_failed;
	struct diag *diag;
};

static void fail(struct parser *p, const char *what)
{
	if (!p->has_failed)
		diag_fail(p->diag, -EINVAL, "JSON, byte %zu: %s", (size_t)(p->at - p->begin), what);
	p->has_failed = true;
	p->at = p->end;
}

static void skip_white(struct parser *p)
{
	while (p->at < p->end &&
	       (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
		p->at++;
}

static bool accept(struct parser *p, char c)
{
	skip_white(p);
	if (p->at == p->end || *p->at != c)
		return false;
	p->at++;
	return true;
}

static int hex4(struct parser *p)
{
	int v = 0;

	if (p->end - p->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = *p->at++;

		if (c >= '0' && c <= '9')
			v = v * 16 + c - '0';
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			v = v * 16 + (c | 32) - 'a' + 10;
		else
			return -1;
	}
	return v;
}

static char *put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 63));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 63));
		*to++ = (char)(0x80 | (c & 63));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 63));
		*to++ = (char)(0x80 | (c >> 6 & 63));
		*to++ = (char)(0x80 | (c & 63));
	}
	return to;
}

/* Reads the digits after \u; if two halves encode a character beyond the first 65536, both. */
static char *unicode(struct parser *p, char *to)
{
	int c = hex4(p), low;

	if (c >= 0xd800 && c < 0xdc00) {
		if (p->end - p->at < 6 || p->at[0] != '\\' || p->at[1] != 'u')
			c = -1;
		p->at += c < 0 ? 0 : 2;
		low = c < 0 ? -1 : hex4(p);
		c = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((c - 0xd800) << 10) + low - 0xdc00
						  : -1;
	}
	if (c <= 0 || (c >= 0xd800 && c < 0xe000)) {
		fail(p, "an escape that is no character");
		return to;
	}
	return put_utf8(to, (uint32_t)c);
}

static char *escape(struct parser *p, char *to)
{
	static const char from[] = "\"\\/bfnrt", is[] = "\"\\/\b\f\n\r\t";
	const char *found;

	if (p->at == p->end)
		return to;
	if (*p->at == 'u') {
		p->at++;
		return unicode(p, to);
	}
	found = *p->at ? strchr(from, *p->at) : NULL;
	if (!found) {
		fail(p, "an unknown escape");
		return to;
	}
	p->at++;
	*to++ = is[found - from];
	return to;
}

/* No escape is shorter than the character that it encodes, so the text's length is enough. */
static const char *string(struct parser *p)
{
	const char *stop = p->at;
	char *text, *to;

	while (stop < p->end && *stop != '"')
		stop += *stop == '\\' && stop + 1 < p->end ? 2 : 1;
	text = to = ctf_meta_alloc(p->memory, (size_t)(stop - p->at) + 1);
	if (!text || stop >= p->end) {
		fail(p, text ? "a string without end" : "no memory");
		return NULL;
	}
	while (p->at < p->end && *p->at != '"') {
		unsigned char c = (unsigned char)*p->at++;

		if (c == '\\')
			to = escape(p, to);
		else if (c < 0x20)
			fail(p, "a control character in a string");
		else
			*to++ = (char)c;
	}
	if (p->has_failed)
		return NULL;
	p->at++;
	return text;
}

static bool is_digit(const struct parser *p)
{
	return p->at < p->end && *p->at >= '0' && *p->at <= '9';
}

static void digits(struct parser *p, struct json *v)
{
	bool is_too_big = false;

	if (!is_digit(p))
		fail(p, "expected a digit");
	for (; is_digit(p); p->at++)
		if (__builtin_mul_overflow(v->number, 10, &v->number) ||
		    __builtin_add_overflow(v->number, (uint64_t)(*p->at - '0'), &v->number))
			is_too_big = true;
	if (is_too_big || (v->is_negative && v->number > 1ull << 63))
		v->kind = JSON_REAL;
}

static void number(struct parser *p, struct json *v)
{
	struct json unused = { 0 };

	v->kind = JSON_NUMBER;
	v->is_negative = *p->at == '-';
	p->at += v->is_negative;
	digits(p, v);
	if (p->at < p->end && *p->at == '.') {
		p->at++;
		digits(p, &unused);
		v->kind = JSON_REAL;
	}
	if (p->at < p->end && (*p->at | 32) == 'e') {
		p->at++;
		if (p->at < p->end && (*p->at == '+' || *p->at == '-'))
			p->at++;
		digits(p, &unused);
		v->kind = JSON_REAL;
	}
	if (v->is_negative)
		v->number = -v->number;
	v->is_negative = v->is_negative && v->number;
}

static bool word(struct parser *p, const char *w)
{
	size_t n = strlen(w);

	if ((size_t)(p->end - p->at) < n || memcmp(p->at, w, n))
		return false;
	p->at += n;
	return true;
}

static struct json *value(struct parser *p);

static void list(struct parser *p, struct json *v, char close)
{
	const struct json **last = &v->first;

	if (accept(p, close))
		return;
	do {
		const char *name = NULL;
		struct json *item;

		if (close == '}') {
			name = accept(p, '"') ? string(p) : NULL;
			if (!name || !accept(p, ':'))
				fail(p, "expected a name and `:`");
		}
		item = value(p);
		if (!item)
			return;
		item->name = name;
		*last = item;
		last = &item->next;
	} while (accept(p, ','));
	if (!accept(p, close))
		fail(p, close == '}' ? "expected `,` or `}`" : "expected `,` or `]`");
}

static void any_value(struct parser *p, struct json *v)
{
	if (accept(p, '{')) {
		v->kind = JSON_OBJECT;
		list(p, v, '}');
	} else if (accept(p, '[')) {
		v->kind = JSON_ARRAY;
		list(p, v, ']');
	} else if (accept(p, '"')) {
		v->kind = JSON_TEXT;
		v->text = string(p);
	} else if (word(p, "true")) {
		v->kind = JSON_TRUE;
	} else if (word(p, "false")) {
		v->kind = JSON_FALSE;
	} else if (word(p, "null")) {
		v->kind = JSON_NULL;
	} else if (p->at < p->end && (*p->at == '-' || is_digit(p))) {
		number(p, v);
	} else {
		fail(p, "expected a value");
	}
}

static struct json *value(struct parser *p)
{
	struct json *v = NULL;

	if (!p->has_failed && ++p->n_nodes > JSON_NODES_MAX)
		fail(p, "more values than metadata may have");
	if (!p->has_failed && p->depth >= JSON_DEPTH_MAX)
		fail(p, "nested too deep");
	if (!p->has_failed) {
		v = ctf_meta_alloc(p->memory, sizeof *v);
		if (!v)
			fail(p, "no memory");
	}
	if (p->has_failed)
		return NULL;
	p->depth++;
	any_value(p, v);
	p->depth--;
	return p->has_failed ? NULL : v;
}

const struct json *json_parse(struct ctf_meta *memory, const char *text, size_t size,
			      struct diag *d)
{
	struct parser p = {
		.memory = memory, .begin = text, .at = text, .end = text + size, .diag = d
	};
	const struct json *v = value(&p);

	skip_white(&p);
	if (v && p.at < p.end)
		fail(&p, "something after the value");
	return p.has_failed ? NULL : v;
}

const struct json *json_get(const struct json *object, const char *name)
{
	if (!object || object->kind != JSON_OBJECT)
		return NULL;
	for (const struct json *v = object->first; v; v = v->next)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}
