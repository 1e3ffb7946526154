/* SPDX-License-Identifier: MIT */
/*
 * cmd/session/list_functions.c - duet list --functions FILE[:GLOB]: functions of a program or
 * library, how each can be patched, or why not; then the sums.
 */
#include "cmd/session/list_functions.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/nearest.h"
#include "cmd/print/print.h"
#include "kernel/probe/public.h"
#include "patch/patch.h"
#include "symbol/symbol.h"

struct sums {
	uint32_t listed, patchable, parts;
	uint32_t refused[PATCH_REASONS];
};

static void add(struct sums *s, uint8_t reason)
{
	s->listed++;
	s->patchable += !reason;
	s->parts += reason == PATCH_PART;
	s->refused[reason]++;
}

/* Parts of functions are listed, but they are no functions. */
static void print_sums(const struct sums *s, const char *what)
{
	uint32_t n = s->listed - s->parts;

	print_out("%" PRIu32 " of %" PRIu32 " %s can be patched", s->patchable, n, what);
	if (n)
		print_out(" (%.1f %%)", 100.0 * s->patchable / n);
	print_out("\n");
	for (int i = PATCH_PATCHABLE + 1; i < PATCH_REASONS; i++)
		if (s->refused[i])
			print_out("  %6" PRIu32 "  %s\n", s->refused[i], patch_reason_text(i));
}

static void print_function(const struct patch_function *fn, struct symbols *symbols)
{
	print_out("  %-9s %#10" PRIx64 " %6" PRIu32 "  %s",
		  fn->reason ? "-" : patch_kind_text(fn->kind), fn->address, fn->size,
		  *fn->name ? symbol_written(symbols, fn->name) : "(no name)");
	if (fn->reason)
		print_out("  (%s)", patch_reason_text(fn->reason));
	else if (fn->stack_bytes)
		print_out("  (%d bytes of stack arguments)", fn->stack_bytes);
	print_out("\n");
}

static int no_match(const struct patch_file *f, const char *glob, uint32_t n,
		    const struct patch_function *functions)
{
	struct nearest nearest = { glob };
	char text[NEAREST_MAX + 32];

	if (*glob == '@')
		return cmd_error("list",
				 "--functions: %s has no function of source file %s, or no "
				 "debugging information",
				 patch_path(f), glob + 1);
	for (uint32_t i = 0; i < n; i++)
		nearest_try(&nearest, functions[i].name);
	return cmd_error("list", "--functions: %s has no function %s%s", patch_path(f), glob,
			 nearest_text(&nearest, text));
}

static int print_functions(const struct patch_file *f, const char *glob, struct symbols *symbols)
{
	const struct patch_function *functions;
	uint32_t n = patch_functions(f, &functions);
	struct sums sums = { 0 };
	char pattern[512];

	if ((size_t)snprintf(pattern, sizeof pattern, "*:%s", glob ? glob : "*") >= sizeof pattern)
		return cmd_error("list", "--functions: the pattern is too long");
	for (uint32_t i = 0; i < n; i++) {
		if (!patch_function_is(f, i, pattern))
			continue;
		if (!sums.listed)
			print_out("%s\n", patch_path(f));
		add(&sums, functions[i].reason);
		print_function(&functions[i], symbols);
	}
	if (glob && !sums.listed)
		return no_match(f, glob, n, functions);
	if (!sums.listed)
		print_out("%s\n", patch_path(f));
	print_sums(&sums, "functions");
	return 0;
}

static void print_marks(const struct patch_file *f)
{
	const struct patch_mark *marks;
	uint32_t n = patch_marks(f, &marks);
	struct sums sums = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		add(&sums, marks[i].reason);
		print_out("  %-9s %#10" PRIx64 "         %s:%s", marks[i].reason ? "-" : "mark",
			  marks[i].address, marks[i].provider, marks[i].name);
		if (marks[i].reason)
			print_out("  (%s)", patch_reason_text(marks[i].reason));
		print_out("\n");
	}
	if (n)
		print_sums(&sums, "USDT marks");
}

static int print_file(const char *path, const char *glob)
{
	struct symbols *symbols = symbols_open();
	struct patch_file *f = NULL;
	struct diag d = { "" };
	int status;

	if (!symbols)
		return cmd_error("list", "no memory");
	if (patch_open(&f, path, symbols, &d)) {
		status = cmd_error("list", "--functions: %s", d.text);
	} else {
		status = print_functions(f, glob, symbols);
		if (!status && !glob)
			print_marks(f);
	}
	patch_close(f);
	symbols_close(symbols);
	return status;
}

int list_functions(const char *target)
{
	const char *colon = strchr(target, ':');
	char file[PATH_MAX], path[PATH_MAX];
	size_t size = colon ? (size_t)(colon - target) : strlen(target);

	if (!size || size >= sizeof file || (colon && !colon[1]))
		return cmd_usage("list", "--functions: FILE or FILE:GLOB expected");
	snprintf(file, sizeof file, "%.*s", (int)size, target);
	if (!kernel_uprobe_file(file, path, sizeof path))
		return cmd_error("list", "%s: there is no such file, command or library", file);
	return print_file(path, colon ? colon + 1 : NULL);
}
