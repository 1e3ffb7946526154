/* SPDX-License-Identifier: MIT */
/*
 * ctf/meta/ctf2.h - CTF 2 metadata to the same tree that TSDL makes (meta.h).
 *
 * Names get a `_` in front, as TSDL's have, and lose it where they are shown.  A role becomes the
 * type's `role`, and paths of lengths and selectors are spelt as TSDL spells them.
 */
#ifndef CTF_META_CTF2_H
#define CTF_META_CTF2_H

#include "ctf/meta/meta.h"

/* As ctf_meta_parse(): bad fragments are passed over. */
int ctf_meta_parse_json(struct ctf_meta *m, const char *text, size_t size, struct diag *d);

/* json_type.c - inside: a field class to a type.  The first error sticks; NULL after it. */
struct json;
struct json_alias {
	struct json_alias *next;
	const char *name;
	const struct ctf_type *type;
};

struct json_meta {
	struct ctf_meta *meta;
	struct ctf_meta scratch; /* of the fragment being read */
	struct json_alias *aliases;
	uint32_t n_aliases;
	int depth;
	int err;
	struct diag *diag;
};

const struct ctf_type *json_type(struct json_meta *j, const struct json *v);
void json_fail(struct json_meta *j, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t json_number(struct json_meta *j, const struct json *object, const char *name,
		     uint64_t otherwise, uint64_t most);
const char *json_text(const struct json *object, const char *name); /* NULL: none */
char *json_keep(struct json_meta *j, const char *prefix,
		const char *text); /* in the metadata's memory */

#endif
