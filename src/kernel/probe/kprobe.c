/* SPDX-License-Identifier: MIT */
/* kernel/probe/kprobe.c - makes kprobes and fprobes from the user's words.
 *
 * A pattern may match many functions. Those the kernel refuses are left out, counted and reported;
 * only if all are refused does the probe fail. */
#include "kernel/probe/kprobe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules/pattern.h"
#include "kernel/tracefs/tracefs.h"
#include "kernel/probe/uprobe.h"

struct probe_request {
	char target[256]; /* a function, or a pattern */
	const char *arguments;
	bool is_return;
};

static int read_request(struct probe_request *w, const struct kernel_probes *p)
{
	static const char mark[] = "%return";
	const char *text = p->probe->text;
	size_t size = strcspn(text, " \t");

	*w = (struct probe_request){ .arguments = text + size };
	if (!size || size >= sizeof w->target)
		return diag_fail(p->d, -EINVAL,
				 "%s %s: FUNCTION[%%return] [NAME=arg1:TYPE]... expected",
				 kernel_probe_option(p->probe->kind), text);
	memcpy(w->target, text, size);
	if (size > sizeof mark - 1 && !strcmp(w->target + size - (sizeof mark - 1), mark)) {
		w->target[size - (sizeof mark - 1)] = 0;
		w->is_return = true;
	}
	return 0;
}

static const char *event_kind(const struct kernel_probes *p, const struct probe_request *w)
{
	if (p->probe->kind == KERNEL_GRAPH_PROBE)
		return w->is_return ? "funcgraph_exit" : "funcgraph_entry";
	if (p->probe->kind == KERNEL_KPROBE)
		return w->is_return ? "kretprobe" : "kprobe";
	return w->is_return ? "fretprobe" : "fprobe";
}

static int add_one(struct kernel_probes *p, const struct probe_request *w, const char *function,
		   const char *fetch)
{
	bool is_kprobe = p->probe->kind != KERNEL_FPROBE;
	size_t size = p->probe->kind == KERNEL_GRAPH_PROBE
			      ? 0
			      : strlen(function); /* its events share one name */
	char place[300], type[16];
	int err;

	if (w->is_return)
		snprintf(type, sizeof type, "%c%d", is_kprobe ? 'r' : 'f', KERNEL_RETURNS_MAX);
	else
		snprintf(type, sizeof type, "%c", is_kprobe ? 'p' : 'f');
	snprintf(place, sizeof place, "%s%s", function,
		 w->is_return && !is_kprobe ? "%return" : "");
	err = kernel_probe_add(p, type, event_kind(p, w), function, size, place, fetch);
	if (p->was_refused && !is_kprobe && w->is_return)
		err = kernel_probe_add(p, "f", event_kind(p, w), function, size, place, fetch);
	return err;
}

/* Whether this request already has a probe of that name. Two would be at the same function. */
static bool has_probe(const struct kernel_probes *p, const char *function)
{
	size_t n = strlen(function);

	for (const char *at = p->added.size ? p->added.bytes : ""; *at; at += strcspn(at, "\n") + 1)
		if (!strncmp(at, function, n) && at[n] == '\n')
			return true;
	return false;
}

/*
 * Adds one of many probes. The kernel refuses functions that implement probes themselves, and names
 * that are not unique: they are left out and reported at the end. If all are refused, the request
 * itself is wrong.
 */
static int try_one(struct kernel_probes *p, const struct probe_request *w, const char *function,
		   const char *fetch, int *n_refused)
{
	bool is_double = has_probe(p, function);
	int err = is_double ? 0 : add_one(p, w, function, fetch);

	if (!is_double && !err)
		text_addf(&p->added, "%s\n", function);
	if (!is_double && (!err || !p->was_refused))
		return p->added.failed ? -ENOMEM : err;
	if (++*n_refused == KERNEL_PROBES_MAX && p->selection->n_events == p->first)
		return err;
	if (p->n_refused++ < KERNEL_REFUSED_NAMED)
		text_addf(&p->refused, "%s%s", p->refused.size ? ", " : "", function);
	return 0;
}

/* available_filter_functions has a line "NAME" or "NAME [MODULE]" for each function. */
static int add_matching(struct kernel_probes *p, const struct probe_request *w, const char *fetch)
{
	char *names, *line, *end;
	ssize_t n = kernel_tracefs_read(p->root, "available_filter_functions", &names);
	const char *target_end = w->target + strlen(w->target);
	int err = 0, n_refused = 0;

	if (n < 0)
		return diag_fail(p->d, (int)n,
				 "%s %s: this kernel does not list its functions (tracefs "
				 "available_filter_functions: %s)\n  use a name without * and ?",
				 kernel_probe_option(p->probe->kind), p->probe->text,
				 strerror((int)-n));
	for (line = names; !err && *line; line = *end ? end + 1 : end) {
		size_t size = strcspn(line, " \t\n");
		char function[256];

		end = line + strcspn(line, "\n");
		/* foo.cold and the like are parts of functions. */
		if (size >= sizeof function || memchr(line, '.', size) ||
		    !pattern_glob(w->target, target_end, line, line + size))
			continue;
		memcpy(function, line, size);
		function[size] = 0;
		err = try_one(p, w, function, fetch, &n_refused);
	}
	free(names);
	if (!err && n_refused && p->selection->n_events == p->first)
		return -EINVAL; /* the message gives the reason for the last one */
	if (!err && n_refused && p->d)
		p->d->text[0] = 0;
	if (!err && p->selection->n_events == p->first)
		return diag_fail(p->d, -ENOENT,
				 "%s %s: the kernel has no function %s that can be traced",
				 kernel_probe_option(p->probe->kind), p->probe->text, w->target);
	return err;
}

static int pair(int root, const char *instance, const char *pattern, struct kernel_selection *s,
		struct diag *d)
{
	static const char depth[] =
		" depth=\\0:s32"; /* a distinct number, within the kernel's grammar */
	char entry[300], exit[300];
	struct kernel_uprobe both[] = { { entry, KERNEL_GRAPH_PROBE, NULL },
					{ exit, KERNEL_GRAPH_PROBE, NULL } };

	if (*pattern == '@' || strpbrk(pattern, ": \t%") ||
	    snprintf(exit, sizeof exit, "%s%%return%s", pattern, depth) >= (int)sizeof exit)
		return diag_fail(
			d, -EINVAL,
			"--graph %.100s: this kernel has no function graph in instances of "
			"tracefs, and probes replace it only for names of functions and globs",
			pattern);
	snprintf(entry, sizeof entry, "%s%s", pattern, depth);
	return kernel_uprobes_make(root, instance, both, 2, s, d);
}

int kernel_kprobe_graph(int root, const char *instance, const char *const *patterns, int n,
			struct kernel_selection *s, struct diag *d)
{
	int err = 0;

	for (int i = 0; i < n && !err; i++)
		err = pair(root, instance, patterns[i], s, d);
	return err;
}

void kernel_kprobe_rename(struct kernel_format *f, const char *name)
{
	bool is_entry = !strcmp(name, "funcgraph_entry");

	if (!is_entry && strcmp(name, "funcgraph_exit") != 0)
		return;
	for (int i = 0; i < f->n_fields; i++)
		if (!strcmp(f->fields[i].name, is_entry ? "__probe_ip" : "__probe_ret_ip"))
			snprintf(f->fields[i].name, sizeof f->fields[i].name, "__probe_%s",
				 is_entry ? "func" : "retaddr");
}

int kernel_kprobe_make(struct kernel_probes *p)
{
	struct text fetch = { 0 };
	struct probe_request w;
	int err = read_request(&w, p);

	if (!err)
		err = kernel_probe_fetch(w.arguments, true, &fetch, p->d);
	if (!err)
		err = strpbrk(w.target, "*?")
			      ? add_matching(p, &w, fetch.size ? fetch.bytes : "")
			      : add_one(p, &w, w.target, fetch.size ? fetch.bytes : "");
	text_fini(&fetch);
	return err;
}
