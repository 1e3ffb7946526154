/* SPDX-License-Identifier: MIT */
/*
 * script/syntax/lex.h - the tokens of a script or a filter.
 *
 * A mistake in a token becomes a TOKEN_BAD that holds the message: it is reported when the parser
 * gets there, and not at all in a branch that the preprocessor leaves out.
 */
#ifndef SCRIPT_SYNTAX_LEX_H
#define SCRIPT_SYNTAX_LEX_H

#include <string.h>

#include "script/syntax/source.h"

enum token_kind {
	TOKEN_END,
	TOKEN_NAME,
	TOKEN_WORD,	/* a reserved word: code */
	TOKEN_MARK,	/* an operator or other sign: code */
	TOKEN_NUMBER,	/* number */
	TOKEN_REAL,	/* real: filters only */
	TOKEN_TEXT,	/* text, size: unquoted */
	TOKEN_CONTEXT,	/* $name: text is the name; $$name: text is $name */
	TOKEN_OPERATOR, /* @name: text is the name */
	TOKEN_ARGUMENT, /* $1 @1 $# @#: number, 0 for #; is_text */
	TOKEN_EMBEDDED, /* %{ ... %} */
	TOKEN_BAD,	/* text is the message */
};

/* Where a token came from that stands in the text of a macro or an argument. */
struct expansion {
	const char *what; /* "macro @name", "argument 1" */
	struct script_place place;
	const struct expansion *outer;
	uint32_t depth;
};

struct token {
	uint8_t kind;  /* enum token_kind */
	bool is_text;  /* TOKEN_ARGUMENT: with @ */
	uint64_t code; /* token_code() of words and marks; else 0 */
	struct script_place place;
	const char *text; /* with a NUL behind it; marks and words too */
	uint32_t size;
	union {
		int64_t number;
		double real;
	};
	const struct expansion *from; /* or NULL */
};

struct token_list {
	struct token *at; /* the last one is TOKEN_END */
	uint32_t n, n_rooms;
};

/* Words and marks are compared as numbers: their up to eight characters. */
static inline __attribute__((always_inline)) uint64_t token_code(const char *spelling)
{
	uint64_t code = 0;
	size_t n = strlen(spelling);

	for (size_t i = 0; i < 8 && i < n; i++)
		code |= (uint64_t)(unsigned char)spelling[i] << (8 * i);
	return code;
}

static inline __attribute__((always_inline)) bool token_is(const struct token *t,
							   const char *spelling)
{
	return t->code == token_code(spelling);
}

/* token_touches - whether nothing stands between two tokens that follow each other. */
static inline bool token_touches(const struct token *a, const struct token *b)
{
	return a->place.source == b->place.source && a->place.at + a->place.size == b->place.at;
}

/* token_list_add - 0, -ENOMEM, or -E2BIG: more than a script may have. */
int token_list_add(struct token_list *list, const struct token *t);
void token_list_fini(struct token_list *list);

/* lex - add the tokens of @source and a TOKEN_END to @list.  Returns 0, -ENOMEM or -E2BIG. */
int lex(struct token_list *list, struct script_sources *sources, uint32_t source, bool is_filter);

/* The lexer at work, for lex_literal.c. */
struct lexer {
	const char *text, *end; /* all of it */
	const char *p;		/* next character; a NUL is behind the last one */
	struct script_arena *arena;
	uint32_t source;
	bool is_filter;
	struct token t; /* being read */
};

static inline bool lex_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool lex_is_letter(char c)
{
	return c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* lex_bad - make the token a mistake at @at. */
void lex_bad(struct lexer *l, const char *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void lex_number(struct lexer *l);
void lex_text(struct lexer *l, char quote);

#endif
