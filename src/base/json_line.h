/* SPDX-License-Identifier: MIT */
/*
 * base/json_line.h - requests to a collector: a line of JSON, answered by a line of JSON.
 *
 * 	{"verb":"snapshot","last_ns":5000000000}
 * 	{"ok":true,"path":"/tmp/trace/snapshot-1",...}
 *
 * A line is one object of strings, numbers, true, false and null; no request or answer needs more.
 * Specification: docs/formats/requests.md.
 */
#ifndef BASE_JSON_LINE_H
#define BASE_JSON_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"

enum { JSON_LINE_MEMBERS = 64 };

/* A parsed line; it points into the text, which is borrowed. */
struct json_line {
	struct json_line_member {
		const char *key, *value; /* of a string: the bytes between its quotes */
		size_t key_size, value_size;
		bool is_text;
	} members[JSON_LINE_MEMBERS];
	int n;
};

/* json_line_parse - -EBADMSG if @text is not such a line.  @text is untrusted. */
int json_line_parse(struct json_line *l, const char *text, size_t size);
/* json_line_has - whether there is a member @key, of any type. */
bool json_line_has(const struct json_line *l, const char *key);
/* json_line_text - the string @key; false if it is missing or does not fit. */
bool json_line_text(const struct json_line *l, const char *key, char *value, size_t size);
/* json_line_number - the number @key, not negative; false if it is missing. */
bool json_line_number(const struct json_line *l, const char *key, uint64_t *value);
/* json_line_is_true - whether @key is present and true. */
bool json_line_is_true(const struct json_line *l, const char *key);

/* json_line_add_text - append "key":"value", with a comma unless it is the first member. */
void json_line_add_text(struct text *t, const char *key, const char *value);
void json_line_add_number(struct text *t, const char *key, uint64_t value);
/* json_line_end - close the object.  Returns 0; -ENOMEM if any of it had no room. */
int json_line_end(struct text *t);

/*
 * json_line_send - send the line @t, with descriptor @passed unless it is negative.  Returns 0 or
 * -errno.
 */
int json_line_send(int fd, struct text *t, int passed);
/* json_line_refuse - answer that the request failed; @is_busy: it may succeed later. */
void json_line_refuse(int fd, bool is_busy, const char *why);

#endif
