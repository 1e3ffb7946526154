/* SPDX-License-Identifier: MIT */
/*
 * script/syntax/internal.h - shared by the files of the parser.
 *
 * After a mistake the parser sees the end of the text only: so every loop ends, no further mistake
 * is reported, and functions return something harmless instead of NULL.  The declaration is dropped
 * then, and the parser goes on at the next one.
 */
#ifndef SCRIPT_SYNTAX_INTERNAL_H
#define SCRIPT_SYNTAX_INTERNAL_H

#include "script/syntax/lex.h"
#include "script/syntax/parse.h"

struct parser {
	struct script_sources *sources;
	struct script_arena *arena;
	struct script_messages *m;
	const struct token *at; /* next token */
	const struct token *failed_at;
	bool failed, is_filter;
	int err; /* -EINVAL, -ENOMEM */
	uint32_t depth;
	/* where the parser is: */
	bool in_function, in_probe;
	uint32_t n_loops;
	const struct token *block; /* the { of the innermost block */
	struct script_macros *macros;
	struct token end;
	struct script_expr spare_expr;
	struct script_stmt spare_stmt;
};

/* Tokens.  parse_is: the next one is @spelling, a word or mark. */
static inline __attribute__((always_inline)) bool parse_is(const struct parser *p,
							   const char *spelling)
{
	return token_is(p->at, spelling);
}

const struct token *parse_take(struct parser *p);

static inline __attribute__((always_inline)) bool parse_accept(struct parser *p,
							       const char *spelling)
{
	return parse_is(p, spelling) && parse_take(p);
}

/* parse_error - report a mistake at @t; the message of a TOKEN_BAD comes first. */
void parse_error(struct parser *p, const struct token *t, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* parse_expected - "expected @what, found ..." at the next token. */
void parse_expected(struct parser *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* parse_expect - take @spelling, @where: "behind the condition". */
void parse_expect(struct parser *p, const char *spelling, const char *where);
void parse_no_memory(struct parser *p);

/* parse_too_deep - a mistake that makes the result -E2BIG. */
void parse_too_deep(struct parser *p, int most, const char *remedy);
/* parse_enter - one level deeper; too deep is a mistake.  Each has its parse_leave. */
void parse_enter(struct parser *p);
void parse_leave(struct parser *p);

/* parse_new - @size zeroed bytes, or NULL and failed. */
void *parse_new(struct parser *p, size_t size);
/* parse_room - @at, or a larger copy, with room for one more than @n; NULL: no memory. */
void *parse_room(struct parser *p, void *at, uint32_t n, size_t size);

/* Adds @item to an array with a count in the arena. */
#define parse_add(p, at, n, item)                                                                  \
	do {                                                                                       \
		__typeof__(at) parse_new_ = parse_room(p, at, n, sizeof *(at));                    \
		if (parse_new_) {                                                                  \
			(at) = parse_new_;                                                         \
			(at)[(n)++] = (item);                                                      \
		}                                                                                  \
	} while (0)

/* Expressions. */
struct script_expr *parse_expr_new(struct parser *p, enum script_expr_kind kind,
				   const struct token *at);
/* parse_expr_kid - add a kid (NULL: `*`). */
void parse_expr_kid(struct parser *p, struct script_expr *e, struct script_expr *kid);
struct script_expr *parse_expression(struct parser *p);
struct script_expr *parse_primary(struct parser *p);
/* parse_binary - operators of @least precedence and more. */
struct script_expr *parse_binary(struct parser *p, int least);
struct script_expr *parse_operator_call(struct parser *p); /* @name(...) */
struct script_expr *parse_context(struct parser *p);	   /* $name */
void parse_path(struct parser *p, struct script_expr *e);  /* ->member [index] $ $$ */
/* parse_index - [ ... ], with `*` for any; the next token is [. */
void parse_index(struct parser *p, struct script_expr *e);
/* parse_arguments - ( ... ); the next token is (. */
void parse_arguments(struct parser *p, struct script_expr *e);
/* parse_text - one text, or several that follow each other. */
const char *parse_text(struct parser *p, uint32_t *size);
struct script_expr *parse_filter(struct parser *p);

/* parse_name - a name, for @what: "a variable". */
const struct token *parse_name(struct parser *p, const char *what);
struct script_expr *parse_variable(struct parser *p, const char *what);

/* Statements, declarations. */
struct script_stmt *parse_statement(struct parser *p);
struct script_stmt *parse_block(struct parser *p, const char *what);
struct script_stmt *parse_foreach(struct parser *p);
struct script_stmt *parse_stmt_new(struct parser *p, enum script_stmt_kind kind,
				   const struct token *at);
/* parse_points - add one point, or several that its braces expand to. */
void parse_points(struct parser *p, struct script_point **points, uint32_t *n);
void parse_declaration(struct parser *p, struct script_file *file);

/* script_macros_each - report the names of all macros. */
void script_macros_each(const struct script_macros *m,
			void (*report)(void *context, const char *name), void *context);

#endif
