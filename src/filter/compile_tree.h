/* SPDX-License-Identifier: MIT */
/* filter/compile_tree.h - a filter as a tree of the script language.  Not for libduet. */
#ifndef FILTER_COMPILE_TREE_H
#define FILTER_COMPILE_TREE_H

#include "base/diag.h"
#include "filter/compile.h"
#include "script/syntax/ast.h"

struct filter_tree {
	struct script_arena arena;
	const struct script_expr *root;
};

/*
 * filter_parse - parse @text.  filter_tree_fini() frees the tree, also after an error.
 *
 * Returns 0; -EINVAL with the reason, the column and the remedy in @d; -E2BIG: nested too deep,
 * without a reason; -ENOMEM.
 */
int filter_parse(struct filter_tree *t, const char *text, struct diag *d);
void filter_tree_fini(struct filter_tree *t);

/* filter_compile_tree - as filter_compile(), for what stands at @e. */
int filter_compile_tree(const struct script_expr *e, struct filter_code *code, struct diag *d);

/* filter_fail - -EINVAL, "filter, column N: " and the reason, for @place of a filter. */
int filter_fail(struct diag *d, struct script_place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
