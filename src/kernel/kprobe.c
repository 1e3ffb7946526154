/* SPDX-License-Identifier: MIT */
/* kernel/kprobe.c - see kprobe.h. */
#include "kernel/kprobe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"
#include "kernel/tracefs.h"

/* So many calls of a function may be under way and all their returns be recorded: the kernel's own limit may be 10.  Of
 * fprobes newer kernels have none. */
#define RETURNS "512"

struct wish {
	char what[256]; /* a function, or a pattern */
	const char *arguments;
	bool is_return;
};

static int read_wish(struct wish *w, const struct kernel_probes *p)
{
	static const char mark[] = "%return";
	const char *text = p->wanted->text;
	size_t size = strcspn(text, " \t");

	*w = (struct wish){ .arguments = text + size };
	if (!size || size >= sizeof w->what)
		return diag_fail(p->d, -EINVAL, "%s %s: FUNCTION[%%return] [NAME=arg1:TYPE]... expected",
				 kernel_probe_option(p->wanted->kind), text);
	memcpy(w->what, text, size);
	if (size > sizeof mark - 1 && !strcmp(w->what + size - (sizeof mark - 1), mark)) {
		w->what[size - (sizeof mark - 1)] = 0;
		w->is_return = true;
	}
	return 0;
}

static int add_one(struct kernel_probes *p, const struct wish *w, const char *function, const char *fetch)
{
	bool is_kprobe = p->wanted->kind == KERNEL_KPROBE;
	const char *kind = is_kprobe ? w->is_return ? "kretprobe" : "kprobe" : w->is_return ? "fretprobe" : "fprobe";
	const char *type = is_kprobe ? w->is_return ? "r" RETURNS : "p" : "f";
	char place[300];

	snprintf(place, sizeof place, "%s%s", function, w->is_return && !is_kprobe ? "%return" : "");
	return kernel_probe_add(p, type, kind, function, strlen(function), place, fetch);
}

/* available_filter_functions: a line "NAME" or "NAME [MODULE]" each. */
static int add_matching(struct kernel_probes *p, const struct wish *w, const char *fetch)
{
	char *names, *line, *end;
	ssize_t n = kernel_tracefs_read(p->root, "available_filter_functions", &names);
	const char *what_end = w->what + strlen(w->what);
	int err = 0;

	if (n < 0)
		return diag_fail(p->d, (int)n, "%s %s: this kernel does not tell its functions' names (tracefs "
				 "available_filter_functions: %s)\n  name one without * and ?", kernel_probe_option(p->wanted->kind),
				 p->wanted->text, strerror((int)-n));
	for (line = names; !err && *line; line = *end ? end + 1 : end) {
		size_t size = strcspn(line, " \t\n");
		char function[256];

		end = line + strcspn(line, "\n");
		/* foo.cold and its like are parts of functions. */
		if (size >= sizeof function || memchr(line, '.', size) ||
		    !pattern_glob(w->what, what_end, line, line + size))
			continue;
		memcpy(function, line, size);
		function[size] = 0;
		err = add_one(p, w, function, fetch);
	}
	free(names);
	if (!err && p->selection->n_events == p->first)
		return diag_fail(p->d, -ENOENT, "%s %s: the kernel has no function %s that can be traced",
				 kernel_probe_option(p->wanted->kind), p->wanted->text, w->what);
	return err;
}

int kernel_kprobe_make(struct kernel_probes *p)
{
	struct text fetch = { 0 };
	struct wish w;
	int err = read_wish(&w, p);

	if (!err)
		err = kernel_probe_fetch(w.arguments, true, &fetch, p->d);
	if (!err)
		err = strpbrk(w.what, "*?") ? add_matching(p, &w, fetch.size ? fetch.bytes : "")
					    : add_one(p, &w, w.what, fetch.size ? fetch.bytes : "");
	text_fini(&fetch);
	return err;
}
