/* SPDX-License-Identifier: MIT */
/*
 * ctf/meta/ctf2.h - parses CTF 2 metadata into the same tree as TSDL (meta.h).
 *
 * Names get a `_` in front, as in TSDL, which is removed where they are displayed.  A role
 * becomes the `role` of the type.  Paths of lengths and selectors are written as in TSDL.
 */
#ifndef CTF_META_CTF2_H
#define CTF_META_CTF2_H

#include "ctf/meta/meta.h"

/* Like ctf_meta_parse(): a damaged fragment is skipped. */
int ctf_meta_parse_json(struct ctf_meta *m, const char *text, size_t size, struct diag *d);

/* For ctf2.c and json_type.c: a field class becomes a type.  The first error is kept; after it
 * the result is NULL. */
struct json;
struct json_alias {
	struct json_alias *next;
	const char *name;
	const struct ctf_type *type;
};

struct json_meta {
	struct ctf_meta *meta;
	struct ctf_meta scratch; /* of the fragment that is being read */
	struct json_alias *aliases;
	uint32_t n_aliases;
	int depth;
	int err;
	struct diag *diag;
};

const struct ctf_type *json_type(struct json_meta *j, const struct json *v);
void json_fail(struct json_meta *j, const char *format, ...) __attribute__((format(printf, 2, 3)));
void json_fail_memory(struct json_meta *j);
uint64_t json_number(struct json_meta *j, const struct json *object, const char *name,
		     uint64_t otherwise, uint64_t most);
const char *json_text(const struct json *object, const char *name); /* NULL: none */
char *json_keep(struct json_meta *j, const char *prefix,
		const char *text); /* in the metadata's memory */

#endif
