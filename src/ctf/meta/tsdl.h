/* SPDX-License-Identifier: MIT */
/*
 * ctf/meta/tsdl.h - shared by the files of the TSDL parser.
 *
 * Recursive descent with one token of look-ahead.  The first error of a block is kept, and turns
 * the current token into the end of the text.  So every loop ends by itself, and no caller has to
 * check results on the way.  A type may therefore be NULL after an error, and only then.
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
	/* words: in the source; strings and characters: unescaped, in the arena; else NULL */
	const char *text;
	size_t size;
	uint64_t number;
};

enum { TSDL_BUCKETS = 4096, TSDL_NAMES_MAX = 65536, TSDL_PATH_MAX = 256 };

struct tsdl_name {
	struct tsdl_name *next;	  /* in its bucket */
	struct tsdl_name *before; /* declared before this one: the reverse order of removal */
	const char *text;	  /* "unsigned long", "struct packet_context" */
	const struct ctf_type *type;
	uint32_t hash;
};

struct tsdl {
	struct ctf_meta *meta;
	const char *text, *at, *end;
	int line;
	struct {
		const char *begin; /* after the `;` of the block before */
		int line;
		struct tsdl_name *mark;
	} block; /* the top-level block that is being read */
	const char *failed_at;
	size_t reread; /* bytes of damaged blocks that were parsed without a result */
	struct tsdl_token token;
	struct tsdl_name *buckets[TSDL_BUCKETS];
	struct tsdl_name *last_name;
	uint32_t n_names;
	int depth;
	int err;
	struct diag *diag;
};

/* tsdl_parse.c.  A parser accepts several texts, one after another, each of whole blocks.  It
 * keeps the names. */
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
const char *tsdl_take_word(struct tsdl *p);    /* in the arena; NULL after an error */
void *tsdl_alloc(struct tsdl *p, size_t size); /* NULL after an error */

/* A dotted path, `stream.event.header.id`. */
void tsdl_take_path(struct tsdl *p, char path[TSDL_PATH_MAX]);

/* tsdl_type.c */
const struct ctf_type *tsdl_type(struct tsdl *p);
/* parses a typealias or typedef; false: the text is neither */
bool tsdl_declaration(struct tsdl *p);

struct ctf_type *tsdl_new_type(struct tsdl *p, enum ctf_kind kind); /* NULL after an error */

/* tsdl_enter - begin a scope: the names declared from here on are forgotten at tsdl_leave(p,
 * mark). */
struct tsdl_name *tsdl_enter(struct tsdl *p);
void tsdl_leave(struct tsdl *p, struct tsdl_name *mark);

/* tsdl_number.c - the types after the words integer, floating_point and string. */
struct tsdl_value;
const struct ctf_type *tsdl_integer(struct tsdl *p);
const struct ctf_type *tsdl_floating_point(struct tsdl *p);
const struct ctf_type *tsdl_string(struct tsdl *p);
uint32_t tsdl_take_align(struct tsdl *p, const struct tsdl_value *v);

/* tsdl_parse.c - the body of `word { key = value; key := type; }`, after the opening brace. */
struct tsdl_value {
	const struct ctf_type *type; /* key := type */
	const char *text;	     /* string, character, word or path; NULL: a number */
	uint64_t number;
	bool is_negative;
};
typedef void tsdl_assign(struct tsdl *p, void *object, const char *key, const struct tsdl_value *v);
void tsdl_block(struct tsdl *p, tsdl_assign *assign, void *object);

#endif
