/* SPDX-License-Identifier: MIT */
/*
 * cmd/session/list_probes.c - duet list -u and --usdt: places in a file where a probe can be set.
 */
#include "cmd/session/list_probes.h"

#include <limits.h>
#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/print/print.h"
#include "elf/probe_points.h"
#include "symbol/each.h"
#include "kernel/probe/public.h"

struct probe_listing {
	const char *path;
	int n;
};

/* The file's name first, unless it cannot be read at all. */
static void begin_line(struct probe_listing *l)
{
	if (!l->n++)
		print_out("%s\n", l->path);
}

static int print_function(void *arg, const struct each_function *f)
{
	begin_line(arg);
	print_out("  %s\n", f->written ? f->written : f->name);
	return 0;
}

/* Print the arguments as the ELF note describes them, and as the kernel fetches them. */
static int print_marker(void *arg, const struct elf_marker *m)
{
	struct text fetch = { 0 };
	int n_left_out = kernel_fetch_operands(m->arguments, "", true, &fetch, NULL);

	begin_line(arg);
	print_out("  %s:%s%s%s", m->provider, m->name, fetch.size ? fetch.bytes : "",
		  m->semaphore ? "  (semaphore)" : "");
	if (n_left_out > 0)
		print_out("  (%d of \"%s\" cannot be fetched)", n_left_out, m->arguments);
	print_out("\n");
	text_fini(&fetch);
	return 0;
}

int list_probes(const char *file, bool is_usdt)
{
	char path[PATH_MAX];
	struct diag d = { "" };
	struct probe_listing l = { 0 };

	if (!kernel_uprobe_file(file, path, sizeof path))
		return cmd_error("list", "%s: there is no such file, command or library", file);
	l.path = path;
	if (is_usdt ? elf_markers(path, print_marker, &l, &d)
		    : each_function(path, print_function, &l, &d))
		return cmd_error("list", "%s", d.text);
	if (!l.n)
		print_out("%s\n  no %s\n", path, is_usdt ? "markers" : "functions");
	return 0;
}
