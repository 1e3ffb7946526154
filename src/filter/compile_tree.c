/* SPDX-License-Identifier: MIT */
/* filter/compile_tree.c - parse a filter with the parser of scripts. */
#include "filter/compile_tree.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "script/syntax/parse.h"

int filter_fail(struct diag *d, struct script_place place, const char *format, ...)
{
	char reason[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(reason, sizeof reason, format, ap);
	va_end(ap);
	return diag_fail(d, -EINVAL, "filter, column %u: %s", place.at + 1, reason);
}

int filter_parse(struct filter_tree *t, const char *text, struct diag *d)
{
	struct script_sources sources = { .arena = &t->arena };
	struct script_messages m = { .sources = &sources };
	struct script_expr *root = NULL;
	int64_t source;
	int err;

	*t = (struct filter_tree){ 0 };
	source = script_sources_add(&sources, "filter", text, strlen(text));
	err = source < 0 ? (int)source
			 : script_parse_expression(&root, &sources, (uint32_t)source, true, &m);
	t->root = root;
	if (err == -EINVAL)
		err = filter_fail(d, m.first_place, "%s", m.first);
	else if (err == -ENOMEM)
		err = diag_fail(d, err, "filter: not enough memory");
	text_fini(&m.text);
	return err;
}

void filter_tree_fini(struct filter_tree *t)
{
	script_arena_fini(&t->arena);
	t->root = NULL;
}
