/* SPDX-License-Identifier: MIT */
/*
 * cmd/session/list_probes.c - duet list -u and --usdt: places in a file where a probe can be set.
 */
#include "cmd/session/list_probes.h"

#include <limits.h>
#include <stdio.h>

#include "cmd/cmd.h"
#include "elf/probe_points.h"
#include "symbol/each.h"
#include "kernel/probe/public.h"

static int print_function(void *arg, const struct each_function *f)
{
	(void)arg;
	printf("  %s\n", f->written ? f->written : f->name);
	return 0;
}

/* Print the arguments as the ELF note describes them, and as the kernel fetches them. */
static int print_marker(void *arg, const struct elf_marker *m)
{
	struct text fetch = { 0 };
	int *n = arg, n_left_out = kernel_fetch_operands(m->arguments, "", true, &fetch, NULL);

	++*n;
	printf("  %s:%s%s%s", m->provider, m->name, fetch.size ? fetch.bytes : "",
	       m->semaphore ? "  (semaphore)" : "");
	if (n_left_out > 0)
		printf("  (%d of \"%s\" cannot be fetched)", n_left_out, m->arguments);
	putchar('\n');
	text_fini(&fetch);
	return 0;
}

int list_probes(const char *file, bool is_usdt)
{
	char path[PATH_MAX];
	struct diag d = { "" };
	int n = 0;

	if (!kernel_uprobe_file(file, path, sizeof path))
		return cmd_error("list", "%s: there is no such file, command or library", file);
	printf("%s\n", path);
	if (is_usdt ? elf_markers(path, print_marker, &n, &d)
		    : each_function(path, print_function, NULL, &d))
		return cmd_error("list", "%s", d.text);
	if (is_usdt && !n)
		printf("  no markers\n");
	return 0;
}
