/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_script.c - libFuzzer's entries to the script language.
 *
 * FUZZ=script: a script.  What is parsed is printed, and must be parsed to the same text again; what
 * is refused must have a message.
 * FUZZ=expression: a first byte, then an expression: of a filter if the byte is odd.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "script/syntax/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct run {
	struct script_arena arena;
	struct script_sources sources;
	struct script_messages m;
	struct text tree;
	int err;
};

static uint32_t begin(struct run *r, const char *text, size_t size)
{
	int64_t source;

	*r = (struct run){ .arena.most = 16 << 20 };
	r->sources.arena = &r->arena;
	r->m.sources = &r->sources;
	source = script_sources_add(&r->sources, "fuzz", text, size);
	if (source)
		abort();
	return (uint32_t)source;
}

static void end(struct run *r)
{
	script_messages_end(&r->m);
	r->tree.failed |= r->arena.failed;
	if (!r->tree.failed && (r->err ? !r->m.text.size : r->m.n_errors))
		abort();
	text_fini(&r->m.text);
	script_arena_fini(&r->arena);
}

static void parse_script(struct run *r, const char *text, size_t size)
{
	static const char *const arguments[] = { "1", "a b", "\"c\"" };
	static const struct script_parse_options options = { .arguments = arguments,
							     .n_arguments = 3,
							     .kernel_version = "6.1.0-5-x" };
	uint32_t source = begin(r, text, size);
	struct script_file *file;

	r->err = script_parse(&file, &r->sources, source, &options, NULL, &r->m);
	if (!r->err)
		script_print_file(&r->tree, file);
	end(r);
}

static void parse_expression(struct run *r, const char *text, size_t size, bool is_filter)
{
	uint32_t source = begin(r, text, size);
	struct script_expr *e;

	r->err = script_parse_expression(&e, &r->sources, source, is_filter, &r->m);
	if (!r->err)
		script_print_expr(&r->tree, e);
	end(r);
}

static void parse(struct run *r, const char *text, size_t size, int kind)
{
	if (kind < 0)
		parse_script(r, text, size);
	else
		parse_expression(r, text, size, kind & 1);
}

static void check_again(const struct run *first, int kind)
{
	const char *text = first->tree.size ? first->tree.bytes : "";
	struct run again;

	parse(&again, text, first->tree.size, kind);
	/* The parentheses of the printed text nest too. */
	if (!strstr(again.m.first, "nested more than") && !again.tree.failed &&
	    (again.err || again.tree.size != first->tree.size ||
	     memcmp(again.tree.size ? again.tree.bytes : "", text, first->tree.size)))
		abort();
	text_fini(&again.tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const char *which = getenv("FUZZ");
	int kind = which && !strcmp(which, "expression") ? 0 : -1;
	struct run r;

	if (!kind) {
		if (!size)
			return 0;
		kind = *bytes++ & 1;
		size--;
	}
	parse(&r, (const char *)bytes, size, kind);
	if (!r.err && !r.tree.failed)
		check_again(&r, kind);
	text_fini(&r.tree);
	return 0;
}
