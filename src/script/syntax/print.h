/* SPDX-License-Identifier: MIT */
/* script/syntax/print.h - shared by the files that print the tree. */
#ifndef SCRIPT_SYNTAX_PRINT_H
#define SCRIPT_SYNTAX_PRINT_H

#include "script/syntax/parse.h"

/* print_quoted - a text in quotes, with escapes. */
void print_quoted(struct text *t, const char *text, uint32_t size);
/* print_op - how an operator is written; "=" for none. */
const char *print_op(enum script_op op);

#endif
