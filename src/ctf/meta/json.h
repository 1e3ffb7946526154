/* SPDX-License-Identifier: MIT */
/*
 * ctf/meta/json.h - parses one JSON text into a tree; CTF 2 metadata is JSON.
 *
 * Integers keep all 64 bits and their sign.  Of other numbers, which metadata does not need, only
 * the presence is kept.  Strings are UTF-8 without NUL.  What always holds: at most
 * JSON_DEPTH_MAX levels, at most JSON_NODES_MAX values.
 */
#ifndef CTF_META_JSON_H
#define CTF_META_JSON_H

#include "ctf/meta/meta.h"

enum { JSON_DEPTH_MAX = 128, JSON_NODES_MAX = 1 << 20 };

enum json_kind {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_REAL,
	JSON_TEXT,
	JSON_ARRAY,
	JSON_OBJECT
};

struct json {
	uint8_t kind; /* enum json_kind */
	bool is_negative;
	const char *name;		 /* of a member of an object, else NULL */
	const char *text;		 /* JSON_TEXT */
	uint64_t number;		 /* JSON_NUMBER: two's complement if is_negative */
	const struct json *first, *next; /* elements or members, in order */
};

/*
 * json_parse - parse @size bytes, which must be one JSON value and white space.
 *
 * @memory: owns the memory of the tree, until ctf_meta_close().
 *
 * Returns NULL, with the reason and the offset in @d, if the text is not JSON or there is no
 * memory.
 */
const struct json *json_parse(struct ctf_meta *memory, const char *text, size_t size,
			      struct diag *d);

/* json_get - the member @name of @object; NULL if there is none, or if @object is not an object,
 * or NULL. */
const struct json *json_get(const struct json *object, const char *name);

#endif
