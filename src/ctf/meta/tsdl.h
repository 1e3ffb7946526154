/* SPDX-License-Identifier: MIT */
/*
 * ctf/meta/tsdl.h - inside the TSDL parser: what its files share.
 *
 * Recursive descent over one token of look-ahead.  The first error of a block sticks: it turns the
 * current token into the end of the text, so that every loop ends by itself and nobody need check
 * results on the way.  A NULL type may therefore be passed around after an error, and only then.
 */
#ifndef CTF_META_TSDL_H
#define CTF_META_TSDL_H

#include "ctf/meta/meta.h"

enum tsdl_kind { /* other tokens are their own character */
		 TSDL_END = 256,
		 TSDL_WORD,
		 TSDL_NUMBER,
		 TSDL_STRING,
		 TSDL_DOTS,    /* ... */
		 TSDL_BECOMES, /* := */
};

struct tsdl_token {
	int kind;
	const char *text; /* words: into the source; strings: unescaped, in the arena */
	size_t size;
	uint64_t number;
};

enum { TSDL_BUCKETS = 4096, TSDL_NAMES_MAX = 65536, TSDL_PATH_MAX = 256 };

struct tsdl_name {
	struct tsdl_name *next;	  /* in its bucket */
	struct tsdl_name *before; /* declared before this one: the order of leaving scopes */
	const char *text;	  /* "unsigned long", "struct packet_context" */
	const struct ctf_type *type;
	uint32_t hash;
};

struct tsdl {
	struct ctf_meta *meta;
	const char *text, *at, *end;
	int line;
	struct {
		const char *begin; /* behind the `;` of the one before */
		int line;
		struct tsdl_name *mark;
	} block; /* of the highest level, being read */
	const char *failed_at;
	size_t reread; /* bytes of damaged blocks that were read in vain */
	struct tsdl_token token;
	struct tsdl_name *buckets[TSDL_BUCKETS];
	struct tsdl_name *last_name;
	uint32_t n_names;
	int depth;
	int err;
	struct diag *diag;
};

/* tsdl_parse.c.  A parser may be given one text after the other, each of whole blocks: it keeps the
 * names. */
struct tsdl *tsdl_open(struct ctf_meta *m); /* to be freed; NULL: no memory */
int tsdl_parse(struct tsdl *p, const char *text, size_t size, struct diag *d);

/* tsdl_lex.c */
void tsdl_next(struct tsdl *p);
void tsdl_fail(struct tsdl *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tsdl_fail_memory(struct tsdl *p);
bool tsdl_is_word(const struct tsdl *p, const char *word);
bool tsdl_accept(struct tsdl *p, int kind);
bool tsdl_accept_word(struct tsdl *p, const char *word);
void tsdl_expect(struct tsdl *p, int kind);
const char *tsdl_take_word(struct tsdl *p);    /* into the arena; NULL after an error */
void *tsdl_alloc(struct tsdl *p, size_t size); /* NULL after an error */

/* A dotted path, `stream.event.header.id`. */
void tsdl_take_path(struct tsdl *p, char path[TSDL_PATH_MAX]);

/* tsdl_type.c */
const struct ctf_type *tsdl_type(struct tsdl *p);
bool tsdl_declaration(struct tsdl *p); /* typealias or typedef; false: something else is here */

struct ctf_type *tsdl_new_type(struct tsdl *p, enum ctf_kind kind); /* NULL after an error */

/* The scope of names declared from here on ends at tsdl_leave(p, mark). */
struct tsdl_name *tsdl_enter(struct tsdl *p);
void tsdl_leave(struct tsdl *p, struct tsdl_name *mark);

/* tsdl_number.c - what follows the words integer, floating_point, string. */
struct tsdl_value;
const struct ctf_type *tsdl_integer(struct tsdl *p);
const struct ctf_type *tsdl_floating_point(struct tsdl *p);
const struct ctf_type *tsdl_string(struct tsdl *p);
uint32_t tsdl_take_align(struct tsdl *p, const struct tsdl_value *v);

/* tsdl_parse.c - the body of `word { key = value; key := type; }`, the brace already taken. */
struct tsdl_value {
	const struct ctf_type *type; /* key := type */
	const char *text;	     /* string, word or path; NULL: a number */
	uint64_t number;
	bool is_negative;
};
typedef void tsdl_assign(struct tsdl *p, void *object, const char *key, const struct tsdl_value *v);
void tsdl_block(struct tsdl *p, tsdl_assign *assign, void *object);

#endif
