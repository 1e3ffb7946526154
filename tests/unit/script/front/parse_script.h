/* SPDX-License-Identifier: MIT */
/* tests/unit/script/parse_script.h - a text parsed, and its tree or its messages as text. */
#ifndef TESTS_UNIT_SCRIPT_PARSE_SCRIPT_H
#define TESTS_UNIT_SCRIPT_PARSE_SCRIPT_H

#include "script/syntax/parse.h"
#include "test.h"

struct parsed {
	struct script_arena arena;
	struct script_sources sources;
	struct script_messages m;
	struct script_file *file;
	struct script_expr *expr;
	struct script_point *point;
	struct text tree;
	int err;
};

static inline uint32_t parsed_open(struct parsed *p, const char *text)
{
	*p = (struct parsed){ 0 };
	p->sources.arena = &p->arena;
	p->m.sources = &p->sources;
	return (uint32_t)script_sources_add(&p->sources, "t.stp", text, strlen(text));
}

static inline void parsed_fini(struct parsed *p)
{
	text_fini(&p->tree);
	text_fini(&p->m.text);
	script_arena_fini(&p->arena);
}

/* The messages, or the tree as text; valid until parsed_fini(). */
static inline const char *parsed_text(struct parsed *p)
{
	script_messages_end(&p->m);
	if (p->m.text.size)
		return p->m.text.bytes;
	return p->err ? "an error without a message" : p->tree.size ? p->tree.bytes : "";
}

static inline const char *parse_with(struct parsed *p, const char *text,
				     const struct script_parse_options *o)
{
	uint32_t source = parsed_open(p, text);

	p->err = script_parse(&p->file, &p->sources, source, o, NULL, &p->m);
	if (!p->err)
		script_print_file(&p->tree, p->file);
	return parsed_text(p);
}

static inline const char *parse_expression_text(struct parsed *p, const char *text, bool is_filter)
{
	uint32_t source = parsed_open(p, text);

	p->err = script_parse_expression(&p->expr, &p->sources, source, is_filter, &p->m);
	if (!p->err)
		script_print_expr(&p->tree, p->expr);
	return parsed_text(p);
}

#endif
