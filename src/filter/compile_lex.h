/* SPDX-License-Identifier: MIT */
/* filter/compile_lex.h - the tokens of a filter expression. */
#ifndef FILTER_COMPILE_LEX_H
#define FILTER_COMPILE_LEX_H

#include "filter/compile.h"

enum token {
	TOKEN_END,
	TOKEN_INT,   /* value */
	TOKEN_REAL,  /* real */
	TOKEN_TEXT,  /* text, size */
	TOKEN_FIELD, /* text, size: in canonical form, a.b[3] */
	TOKEN_CONTEXT,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_AND_THEN,
	TOKEN_OR_ELSE,
	TOKEN_NOT,
	TOKEN_OPERATOR, /* op */
};

struct lexer {
	const char *text; /* all of it */
	const char *p;	  /* after the token */
	const char *at;	  /* start of the token */
	enum token token;
	enum abi_filter_op op;
	uint64_t value;
	double real;
	size_t size;
	char bytes[ABI_FILTER_BYTES_MAX];
	struct diag *d;
};

/* lex_next - read the next token.  Returns 0, or a negative errno with the reason in l->d. */
int lex_next(struct lexer *l);

/* lex_fail - -EINVAL, for column @at of the expression. */
int lex_fail(const struct lexer *l, const char *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
