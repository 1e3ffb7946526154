/* SPDX-License-Identifier: MIT */
/*
 * ctf/meta/json.h - one JSON text as a tree: what CTF 2 metadata are written in.
 *
 * Whole numbers keep all 64 bits and their sign; others, which metadata do not need, only that they
 * were there.  Strings are UTF-8 without NUL.  What always holds: at most JSON_DEPTH_MAX deep, at
 * most JSON_NODES_MAX values.
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
	const struct json *first, *next; /* elements or members, in their order */
};

/*
 * json_parse - read @size bytes, which must be one JSON value and white space.
 *
 * @memory: gives the tree its memory and ends it (ctf_meta_close).
 *
 * NULL, with the reason and the byte in @d, if it is no JSON or there is no memory.
 */
const struct json *json_parse(struct ctf_meta *memory, const char *text, size_t size,
			      struct diag *d);

/* json_get - the member @name of @object; NULL if there is none, or @object is none (or NULL). */
const struct json *json_get(const struct json *object, const char *name);

#endif
