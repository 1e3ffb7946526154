/* SPDX-License-Identifier: MIT */
/*
 * script/syntax/preprocess.h - arguments, macros and conditions, before the parser.
 *
 * First arguments ($1 @1) and macros are replaced, in all of the text; then the branches whose
 * condition is false are left out.  So a condition can use both.
 */
#ifndef SCRIPT_SYNTAX_PREPROCESS_H
#define SCRIPT_SYNTAX_PREPROCESS_H

#include "script/syntax/lex.h"
#include "script/syntax/parse.h"

/*
 * preprocess - the tokens of @source that the parser reads, into the empty list @out.
 *
 * Mistakes become TOKEN_BAD.  Returns 0, -ENOMEM, or -E2BIG: the macros give too much.
 */
int preprocess(struct token_list *out, struct script_sources *sources, uint32_t source,
	       const struct script_parse_options *o, struct script_macros *macros);

/* preprocess_expand - replace arguments and macros in @in. */
int preprocess_expand(struct token_list *out, const struct token_list *in,
		      struct script_sources *sources, const struct script_parse_options *o,
		      struct script_macros *macros);

/* preprocess_choose - leave out the branches that conditions exclude. */
int preprocess_choose(struct token_list *out, const struct token_list *in,
		      struct script_arena *arena, const struct script_parse_options *o);

/* preprocess_bad - add a TOKEN_BAD with the place of @at.  Returns 0 or the error of the list. */
int preprocess_bad(struct token_list *out, struct script_arena *a, const struct token *at,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));

enum { PREPROCESS_DEPTH_MAX = 64 };

#endif
