/* SPDX-License-Identifier: MIT */
/*
 * script/syntax/parse.h - from text to tree.
 *
 * The grammar is SystemTap's (stap(1), "LANGUAGE"), without embedded C.  Recursive descent with
 * precedence climbing (Martin Richards, "The MCPL Programming Manual", 2007); nesting is bounded, so
 * that no text overflows the stack.
 */
#ifndef SCRIPT_SYNTAX_PARSE_H
#define SCRIPT_SYNTAX_PARSE_H

#include "script/syntax/ast.h"

struct script_define { /* a condition of the preprocessor, or the value of a name */
	const char *name, *text;
};

struct script_parse_options {
	const char *const *arguments; /* $1 @1 ... */
	int n_arguments;
	const char *kernel_version; /* "6.1.0-13-amd64"; NULL: of the running kernel */
	const char *arch;	    /* NULL: of this machine */
	/* The value of CONFIG_x: "y", "m", a number, or NULL; may be NULL. */
	const char *(*config)(void *context, const char *name);
	void *context;
};

/*
 * script_parse - parse source @source of @sources into @file.
 *
 * Macros that it defines stay in @macros (NULL: only its own), for later sources.
 * Returns 0, or -EINVAL with the messages in @m, or -ENOMEM.  After an error it goes on behind the
 * next declaration, so that one run finds several.
 */
struct script_macros;
int script_parse(struct script_file **file, struct script_sources *sources, uint32_t source,
		 const struct script_parse_options *o, struct script_macros *macros,
		 struct script_messages *m);
struct script_macros *script_macros_new(struct script_arena *a);

/* script_parse_point - parse a probe point alone, for -l and -L. */
int script_parse_point(struct script_point **point, struct script_sources *sources, uint32_t source,
		       struct script_messages *m);
/*
 * script_parse_expression - parse one expression alone.
 *
 * @is_filter: the language of duet-filter(7): ~ and !~ with patterns, reals, $ctx.x, members with
 * dots; no assignment and no call; other precedences; numbers are unsigned.
 * Returns as script_parse(); -E2BIG: nested too deep.
 */
int script_parse_expression(struct script_expr **e, struct script_sources *sources, uint32_t source,
			    bool is_filter, struct script_messages *m);

/* script_print_name - name @i, from 0, of the functions that are EXPR_PRINT; NULL: no more. */
const char *script_print_name(unsigned i);

/* script_print_* - the tree as text that parses to the same tree (-p1), unless its parentheses are
 * nested too deep. */
void script_print_file(struct text *t, const struct script_file *file);
void script_print_expr(struct text *t, const struct script_expr *e);
void script_print_stmt(struct text *t, const struct script_stmt *s, unsigned indent);
void script_print_point(struct text *t, const struct script_point *p);

#endif
