/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/symbol/ask.c - print what src/symbol knows: ask FILE BUILD-ID QUESTION...
 *
 * QUESTION: names | NAME | 0xADDRESS.  For a NAME: its address, source, line and signature; for an
 * address its frames, innermost first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/signature.h"

static const char *last(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "-";
}

static void print_value(const struct signature_value *v)
{
	printf(" %s %s@%u:%u:%" PRId64, v->type, v->name, v->at.place, v->at.reg, v->at.value);
}

static void print_named(struct symbols *s, struct symbol_file *f, const char *name)
{
	const struct symbol_function *n = symbol_named(f, name);
	struct signature g;
	struct diag d;

	if (!n) {
		printf("%s: none\n", name);
		return;
	}
	printf("%s 0x%" PRIx64 " %s %s %u\n", symbol_written(s, name), n->begin, n->name,
	       last(symbol_source(f, n->begin)), symbol_line_of(f, n->begin).line);
	if (signature_of(f, n->begin, &g, &d)) {
		printf("  %.*s\n", (int)strcspn(d.text, "\n"), d.text);
		return;
	}
	printf("  %s:", g.name);
	for (unsigned i = 0; i < g.n; i++)
		print_value(&g.parameters[i]);
	if (g.has_result) {
		printf(" ->");
		print_value(&g.result);
	}
	puts(g.is_variadic ? " ..." : "");
}

static void print_frames(struct symbols *s, struct symbol_file *f, uint64_t address)
{
	const struct symbol_frame *frames;
	unsigned n = symbol_frames(f, address, &frames);

	for (unsigned i = 0; i < n; i++)
		printf("%s%s %s:%u", i ? " < " : "", symbol_written(s, frames[i].name),
		       last(frames[i].at.source), frames[i].at.line);
	puts(n ? "" : "none");
}

int main(int argc, char **argv)
{
	struct symbols *s = symbols_open();
	struct symbol_file *f = argc > 3 ? symbols_file(s, argv[1], argv[2]) : NULL;
	const struct symbol_function *functions;

	for (int i = 3; f && i < argc; i++) {
		if (!strcmp(argv[i], "names"))
			for (size_t k = 0, n = symbol_functions(f, &functions); k < n; k++)
				printf("0x%" PRIx64 " %" PRIu64 " %s\n", functions[k].begin,
				       functions[k].end - functions[k].begin, functions[k].name);
		else if (!strncmp(argv[i], "0x", 2))
			print_frames(s, f, strtoull(argv[i], NULL, 16));
		else
			print_named(s, f, argv[i]);
	}
	symbols_close(s);
	return f ? 0 : 2;
}
