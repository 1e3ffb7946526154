/* SPDX-License-Identifier: MIT */
/* ui/sessions/body.c - a JSON object (RFC 8259) with less in it than there may be. */
#include "ui/sessions/body.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct parser {
	struct body *b;
	const char *at, *end;
	char *to; /* in b->texts: decoded, a text is never longer than it was */
};

static char peek(struct parser *p)
{
	while (p->at < p->end &&
	       (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
		p->at++;
	return p->at < p->end ? *p->at : 0;
}

static bool take(struct parser *p, char c)
{
	if (peek(p) != c)
		return false;
	p->at++;
	return true;
}

/* ---------------------------------------------------------------- strings */

/* The four digits after \u; -1 if they are none, -1 for NUL. */
static int take_unit(struct parser *p)
{
	int unit = 0;

	for (int i = 0; i < 4; i++, p->at++) {
		char c = p->at < p->end ? *p->at : 0;
		char lower = c | 0x20;

		if (c >= '0' && c <= '9')
			unit = unit << 4 | (c - '0');
		else if (lower >= 'a' && lower <= 'f')
			unit = unit << 4 | (lower - 'a' + 10);
		else
			return -1;
	}
	return unit ? unit : -1;
}

static void put_character(struct parser *p, int c)
{
	if (c < 0x80) {
		*p->to++ = (char)c;
		return;
	}
	if (c >= 0x10000)
		*p->to++ = (char)(0xf0 | c >> 18);
	if (c >= 0x800)
		*p->to++ = (char)((c >= 0x10000 ? 0x80 | (c >> 12 & 0x3f) : 0xe0 | c >> 12));
	*p->to++ = (char)((c >= 0x800 ? 0x80 | (c >> 6 & 0x3f) : 0xc0 | c >> 6));
	*p->to++ = (char)(0x80 | (c & 0x3f));
}

static bool take_unicode(struct parser *p)
{
	int c = take_unit(p), low;

	if (c >= 0xd800 && c < 0xdc00) {
		if (p->end - p->at < 6 || p->at[0] != '\\' || p->at[1] != 'u')
			return false;
		p->at += 2;
		low = take_unit(p);
		if (low < 0xdc00 || low > 0xdfff)
			return false;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	} else if (c < 0 || (c >= 0xdc00 && c <= 0xdfff)) {
		return false;
	}
	put_character(p, c);
	return true;
}

static bool take_escape(struct parser *p)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	char c = p->at < p->end ? *p->at++ : 0;
	const char *name = c ? strchr(names, c) : NULL;

	if (c == 'u')
		return take_unicode(p);
	if (name)
		*p->to++ = values[name - names];
	return name;
}

static const char *take_string(struct parser *p)
{
	char *begin = p->to;

	if (!take(p, '"'))
		return NULL;
	while (p->at < p->end && *p->at != '"') {
		size_t n = text_utf8_length(p->at, (size_t)(p->end - p->at));

		if (!n || (unsigned char)*p->at < ' ')
			return NULL;
		if (*p->at == '\\') {
			p->at++;
			if (!take_escape(p))
				return NULL;
			continue;
		}
		memcpy(p->to, p->at, n);
		p->to += n;
		p->at += n;
	}
	*p->to++ = 0;
	return take(p, '"') ? begin : NULL;
}

/* ---------------------------------------------------------------- the object */

static bool add(struct parser *p, const char *name, const char *value)
{
	if (!value || p->b->n == BODY_PAIRS_MAX)
		return false;
	p->b->pairs[p->b->n++] = (struct body_pair){ name, value };
	return true;
}

static bool take_word(struct parser *p, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n))
		return false;
	p->at += n;
	return true;
}

static bool take_array(struct parser *p, const char *name)
{
	if (take(p, ']'))
		return true;
	do {
		if (!add(p, name, take_string(p)))
			return false;
	} while (take(p, ','));
	return take(p, ']');
}

static bool take_value(struct parser *p, const char *name)
{
	if (take(p, '['))
		return take_array(p, name);
	if (peek(p) == '"')
		return add(p, name, take_string(p));
	if (take_word(p, "true"))
		return add(p, name, "true");
	if (take_word(p, "false"))
		return add(p, name, "false");
	return take_word(p, "null");
}

static bool take_object(struct parser *p)
{
	const char *name;

	if (!take(p, '{'))
		return false;
	if (take(p, '}'))
		return true;
	do {
		name = take_string(p);
		if (!name || !take(p, ':') || (peek(p), !take_value(p, name)))
			return false;
	} while (take(p, ','));
	return take(p, '}');
}

int body_parse(struct body *b, const char *text, size_t size, struct diag *d)
{
	struct parser p = { .b = b, .at = text, .end = text + size };

	*b = (struct body){ .texts = malloc(size + 1) };
	if (!b->texts)
		return diag_fail(d, -ENOMEM, "no memory for the request");
	p.to = b->texts;
	if (take_object(&p) && !peek(&p) && p.at == p.end)
		return 0;
	return diag_fail(d, -EBADMSG,
			 "the body, at byte %zu: an object of strings, true, false and arrays of "
			 "strings is expected",
			 (size_t)(p.at - text));
}

void body_fini(struct body *b)
{
	free(b->texts);
	b->texts = NULL;
	b->n = 0;
}

const char *body_value(const struct body *b, const char *name)
{
	for (int i = 0; i < b->n; i++)
		if (!strcmp(b->pairs[i].name, name))
			return b->pairs[i].value;
	return NULL;
}
