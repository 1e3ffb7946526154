/* SPDX-License-Identifier: MIT */
/*
 * kernel/probe/functions.c - sets up the function tracers of an instance.
 *
 * The set of functions is the instance's own. A graph's limits are global in the kernel; their lock
 * is in kernel/tracefs/graph_limits.h.
 */
#include "kernel/probe/functions.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "kernel/tracefs/events.h"
#include "kernel/tracefs/graph_limits.h"
#include "kernel/tracefs/tracefs.h"

#if defined(__aarch64__)
enum { ARGUMENTS = 8 };
#else
enum { ARGUMENTS = 6 };
#endif

int kernel_functions_complete(struct kernel_format *f)
{
	if (!f->tail_offset || f->n_fields == KERNEL_FIELDS_MAX)
		return -ENODATA;
	f->fields[f->n_fields++] = (struct kernel_field){ .name = "args",
							  .offset = f->tail_offset,
							  .size = ARGUMENTS * 8,
							  .element = 8,
							  .is_array = true };
	return 0;
}

/* ---------------------------------------------------------------- choosing functions */

/* Patterns to be written to a file of tracefs. */
struct choosing {
	int dir;
	const char *file;
	bool has_modules; /* the file accepts "mod:" */
	struct diag *d;
};

/* For a module that is not loaded the kernel stores the pattern and reports no error. */
static bool is_loaded(const char *pattern)
{
	const char *module = strstr(pattern, "mod:");
	char path[300];

	if (!module || strpbrk(module, "*?["))
		return true;
	snprintf(path, sizeof path, "/sys/module/%.200s", module + 4);
	return !access(path, F_OK);
}

/* The kernel's form of "mod:x" is ":mod:x". */
static int select_one(const struct choosing *c, const char *pattern)
{
	bool is_module = !strncmp(pattern, "mod:", 4);
	char text[256];
	int err;

	if (!*pattern || strpbrk(pattern, " \t") ||
	    (!is_module && strpbrk(pattern, ":!") && !strstr(pattern, ":mod:")))
		return diag_fail(c->d, -EINVAL,
				 "\"%s\" is no pattern of functions: GLOB, mod:MODULE, "
				 "GLOB:mod:MODULE or @FILE",
				 pattern);
	if (strstr(pattern, "mod:") && !c->has_modules)
		return diag_fail(
			c->d, -EINVAL,
			"%s: a graph with --graph-depth starts at functions, not at a module",
			pattern);
	if (!is_loaded(pattern))
		return diag_fail(c->d, -ENOENT, "%s: this module is not loaded (lsmod)", pattern);
	if (snprintf(text, sizeof text, "%s%s\n", is_module ? ":" : "", pattern) >=
	    (int)sizeof text)
		return diag_fail(c->d, -EINVAL, "%.40s...: a pattern of functions is too long",
				 pattern);
	err = kernel_tracefs_write(c->dir, c->file, text);
	if (err == -EINVAL)
		return diag_fail(c->d, -ENOENT,
				 "the kernel has no function %s that can be traced\n"
				 "  tracefs' available_filter_functions lists them",
				 pattern);
	return err ? diag_fail(c->d, err,
			       "this kernel cannot trace its functions (tracefs %s: %s)\n  it "
			       "needs CONFIG_FUNCTION_TRACER and no lockdown; -k profile samples "
			       "them, -k has events",
			       c->file, strerror(-err))
		   : 0;
}

/* Empty lines and text after a # are ignored. */
static int select_lines(const struct choosing *c, const char *path)
{
	FILE *from = fopen(path, "re");
	size_t capacity = 0;
	char *line = NULL, *p;
	int err = 0;

	if (!from)
		return diag_errno(c->d, "cannot read the functions' names in %s", path);
	while (!err && getline(&line, &capacity, from) > 0) {
		line[strcspn(line, "#\r\n")] = 0;
		p = line + strspn(line, " \t");
		p[strcspn(p, " \t")] = 0;
		err = *p ? select_one(c, p) : 0;
	}
	if (!err && ferror(from))
		err = diag_fail(c->d, -EIO, "cannot read the functions' names in %s", path);
	free(line);
	fclose(from);
	return err;
}

static bool is_all(int dir, const char *file)
{
	char *text;
	bool all = kernel_tracefs_read(dir, file, &text) < 0;

	if (!all) {
		all = *text == '#' || !*text;
		free(text);
	}
	return all;
}

static int select_events(const struct choosing *c, const char *const *patterns, int n)
{
	int err = 0;

	for (int i = 0; i < n && !err; i++)
		err = *patterns[i] == '@' ? select_lines(c, patterns[i] + 1)
					  : select_one(c, patterns[i]);
	/* A file without patterns would mean all functions. */
	if (!err && is_all(c->dir, c->file))
		err = diag_fail(c->d, -ENOENT, "the kernel has no function %s that can be traced",
				n ? patterns[0] : "");
	return err;
}

/* ---------------------------------------------------------------- the tracer */

static int limit_graph(struct kernel_functions *f, int instance, const struct kernel_graph *g,
		       struct diag *d)
{
	struct choosing c = { f->root, "set_graph_function", false, d };
	char text[32];
	int err = 0;

	f->guard = kernel_graph_limits_lock(f->root, instance, d);
	if (f->guard < 0)
		return f->guard;

	if (g->over_ns) {
		snprintf(text, sizeof text, "%" PRIu64, (g->over_ns + 999) / 1000);
		err = kernel_tracefs_write(f->root, "tracing_thresh", text);
		if (err)
			diag_fail(d, err, "cannot write %s to tracefs tracing_thresh: %s", text,
				  strerror(-err));
	}
	if (err || g->depth < 2)
		return err;
	snprintf(text, sizeof text, "%" PRIu32, g->depth);
	err = kernel_tracefs_write(f->root, "max_graph_depth", text);
	return err ? diag_fail(d, err, "cannot write %s to tracefs max_graph_depth: %s", text,
			       strerror(-err))
		   : select_events(&c, g->patterns, g->n_patterns);
}

static int set_tracer(int instance, const char *name, struct diag *d)
{
	int err = kernel_tracefs_write(instance, "current_tracer", name);
	bool is_graph = !strcmp(name, "function_graph");

	if (!err)
		return 0;
	if (is_graph && err == -EINVAL)
		return diag_fail(d, -EOPNOTSUPP,
				 "this kernel has no function graph in instances of tracefs: it "
				 "needs Linux 6.12 and CONFIG_FUNCTION_GRAPH_TRACER\n  --graph F "
				 "alone uses probes instead; without --graph-over, --graph-depth "
				 "and --graph-args it works here\n  -k function:F records calls");
	return diag_fail(d, -EOPNOTSUPP,
			 "this kernel cannot trace its functions (tracer %s: %s)\n  -k profile "
			 "samples them, -k has events",
			 name, strerror(-err));
}

static int add_event(struct kernel_selection *s, const char *event)
{
	struct kernel_candidate c = { event, KERNEL_TRACER_SYSTEM, event, -1, false };

	return kernel_selection_add(s, &c, NULL);
}

/* The option exists since Linux 6.15. */
static int want_arguments(int instance, const char *option, struct diag *d)
{
	int err = kernel_tracefs_write(instance, option, "1");

	return err ? diag_fail(d, -EOPNOTSUPP,
			       "--graph-args: this kernel records no arguments of functions "
			       "(tracefs %s: %s)\n"
			       "  Linux 6.15 does; --kprobe 'F NAME=arg1' does on others",
			       option, strerror(-err))
		   : 0;
}

static int trace_calls(int instance, struct kernel_selection *s, const struct kernel_graph *g,
		       struct diag *d)
{
	struct choosing c = { instance, "set_ftrace_filter", true, d };
	int err = select_events(&c, s->functions, s->n_functions);

	if (!err)
		err = set_tracer(instance, "function", d);
	if (!err && g->has_arguments)
		err = want_arguments(instance, "options/func-args", d);
	return err ? err : add_event(s, "function");
}

static int trace_graph(struct kernel_functions *f, int instance, struct kernel_selection *s,
		       const struct kernel_graph *g, struct diag *d)
{
	struct choosing c = { instance, "set_ftrace_filter", true, d };
	int err = g->over_ns || g->depth > 1 ? limit_graph(f, instance, g, d) : 0;

	if (!err && g->depth < 2)
		err = select_events(&c, g->patterns, g->n_patterns);
	if (!err)
		err = set_tracer(instance, "function_graph", d);
	if (!err && g->has_arguments)
		err = want_arguments(instance, "options/funcgraph-args", d);
	if (!err)
		err = add_event(s, "funcgraph_entry");
	return err ? err : add_event(s, "funcgraph_exit");
}

int kernel_functions_set_up(struct kernel_functions *f, int root, int instance,
			    struct kernel_selection *s, const struct kernel_graph *g,
			    struct diag *d)
{
	int err;

	if (!s->n_functions && !g->n_patterns)
		return g->has_arguments ? diag_fail(d, -EINVAL,
						    "--graph-args is about --graph FUNCTIONS and "
						    "-k function:FUNCTIONS")
					: 0;
	if (s->n_functions && g->n_patterns)
		return diag_fail(d, -EINVAL,
				 "-k function: and --graph cannot be in one session: the kernel "
				 "has one tracer for both");
	f->root = root;
	kernel_tracefs_write(instance, "trace_options", "function-fork");
	err = s->n_functions ? trace_calls(instance, s, g, d) : trace_graph(f, instance, s, g, d);
	f->is_on = !err;
	return err == -ENOMEM ? diag_fail(d, err, "no memory for the kernel's functions") : err;
}

void kernel_functions_release(struct kernel_functions *f, int instance)
{
	if (f->guard >= 0)
		kernel_graph_limits_release(f->root, instance, f->guard);
	*f = KERNEL_NO_FUNCTIONS;
}

int kernel_functions_pause(const struct kernel_functions *f, int instance, bool pause)
{
	if (!f->is_on)
		return 0;
	return pause ? kernel_tracefs_write(instance, "set_ftrace_notrace", "*\n")
		     : kernel_tracefs_empty(instance, "set_ftrace_notrace");
}
