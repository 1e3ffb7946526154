/* SPDX-License-Identifier: MIT */
/*
 * cmd/record/marks.c - for each --usdt, choose: from inside the program, or by the kernel.
 *
 * The first costs tens of nanoseconds a hit and needs no root.  It needs a program that duet starts
 * or attaches to, and code around every site of the marker that src/patch proves safe to replace.
 * Markers are chosen by name: all sites of one, or none, so that no event is recorded twice.
 */
#include "cmd/record/marks.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/print/print.h"
#include "collect/calls/public.h"
#include "kernel/probe/public.h"
#include "patch/attach/attach.h"
#include "patch/patch.h"
#include "rules/pattern.h"

/* Not in every build yet. */
#pragma weak attach_check

struct request { /* "FILE:PROVIDER:NAME names" */
	char path[PATH_MAX], target[256];
	const char *names;
	const struct kernel_uprobe *probe;
};

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool read_request(struct request *w, const struct kernel_uprobe *probe)
{
	const char *colon = strchr(probe->text, ':');
	char file[PATH_MAX], found[PATH_MAX];
	size_t size = colon ? strcspn(colon + 1, " \t,") : 0;

	*w = (struct request){ .probe = probe };
	if (!size || size >= sizeof w->target || (size_t)(colon - probe->text) >= sizeof file)
		return false;
	memcpy(w->target, colon + 1, size);
	w->names = colon + 1 + size;
	snprintf(file, sizeof file, "%.*s", (int)(colon - probe->text), probe->text);
	return kernel_uprobe_file(file, found, sizeof found) && realpath(found, w->path);
}

/* ---------------------------------------------------------------- programs */

/* Whether the programs can load libduet; the reason is in @d. */
static bool programs_can(const struct recording *a, const char *library, struct diag *d)
{
	const struct attach_options o = { .library = library };
	char path[PATH_MAX];

	if (!library) {
		diag_fail(d, 0, "libduet.so.0 is not installed");
		return false;
	}
	if (a->o.command)
		return !objects_find_command(a->o.command[0], path, d) &&
		       !objects_check_program(path, d);
	if (!a->pids.n || !attach_check) {
		diag_fail(d, 0, "duet neither starts the programs nor can attach to them");
		return false;
	}
	for (int i = 0; i < a->pids.n; i++)
		if (attach_check(a->pids.at[i], &o, d))
			return false;
	return true;
}

/* ---------------------------------------------------------------- marks */

static bool is_named(const struct patch_mark *m, const char *target)
{
	char both[512];
	int n = snprintf(both, sizeof both, "%s:%s", m->provider, m->name);

	return n < (int)sizeof both &&
	       pattern_glob(target, target + strlen(target), both, both + n);
}

static bool is_same(const struct patch_mark *a, const struct patch_mark *b)
{
	return !strcmp(a->provider, b->provider) && !strcmp(a->name, b->name);
}

/* The reason why a site of the marker of @m cannot be patched; PATCH_PATCHABLE: all can. */
static enum patch_reason reason_of(const struct patch_mark *marks, uint32_t n,
				   const struct patch_mark *m)
{
	for (uint32_t i = 0; i < n; i++)
		if (is_same(&marks[i], m) && !marks[i].kind)
			return marks[i].reason ? (enum patch_reason)marks[i].reason : PATCH_WINDOW;
	return PATCH_PATCHABLE;
}

static char *joined(const char *file, const struct patch_mark *m, const char *names)
{
	char *text;

	if (asprintf(&text, "%s:%s:%s%s", file, m->provider, m->name, names) < 0) {
		cmd_error("record", "no memory");
		exit(CMD_FAILED);
	}
	return text;
}

static void add_mark(struct recording *a, const char *pattern, const char *names,
		     const char *filter)
{
	a->marks = cmd_grow(a->marks, a->o.calls.n_marks, sizeof *a->marks);
	a->marks[a->o.calls.n_marks++] = (struct calls_mark){ pattern, names, filter };
}

static void keep_probe(struct recording *a, const struct kernel_uprobe *p, const char *text)
{
	a->uprobes = cmd_grow(a->uprobes, a->n_uprobes, sizeof *a->uprobes);
	a->uprobes[a->n_uprobes] = *p;
	a->uprobes[a->n_uprobes++].text = text;
}

static void report(const struct recording *a, const char *what, const char *how, const char *why)
{
	if (a->verbose)
		cmd_error(a->verb, "--usdt %s: recorded %s%s%s", what, how, *why ? ": " : "", why);
}

static const char by_kernel[] = "by the kernel (uprobe)", by_program[] = "in the program",
		  by_nobody[] = "by nobody";

static bool is_by(const struct recording *a, const char *way)
{
	return a->usdt_by && !strcmp(a->usdt_by, way);
}

/* Each marker by its name, at its first site.  With --usdt-by program, others are left out. */
static int choose_each(struct recording *a, const struct request *w, const struct patch_file *f)
{
	const char *soname = patch_soname(f), *file = *soname ? soname : last_component(w->path);
	const struct patch_mark *marks;
	uint32_t n = patch_marks(f, &marks);
	int n_chosen = 0, n_left_out = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct patch_mark *m = &marks[i];
		enum patch_reason reason;
		bool is_first = true, is_left_out;
		char *pattern;

		for (uint32_t k = 0; k < i && is_first; k++)
			is_first = !is_same(&marks[k], m);
		if (!is_first || !is_named(m, w->target))
			continue;
		reason = reason_of(marks, n, m);
		pattern = joined(reason ? w->path : file, m, reason ? w->names : "");
		is_left_out = reason && is_by(a, "program");
		n_left_out += is_left_out;
		n_chosen += !is_left_out;
		if (is_left_out)
			report(a, pattern, by_nobody, patch_reason_text(reason));
		else if (reason)
			keep_probe(a, w->probe, pattern);
		else
			add_mark(a, pattern, w->names, w->probe->filter);
		if (is_left_out)
			continue;
		report(a, pattern, reason ? by_kernel : by_program,
		       reason ? patch_reason_text(reason) : "");
	}
	if (n_left_out && !n_chosen)
		return cmd_error(
			a->verb,
			"--usdt %s: no marker can be recorded in the program: -v prints why",
			w->probe->text);
	if (n_left_out)
		print_err("duet %s: --usdt %s: %d of %d markers cannot be recorded in the program, "
			  "left out: -v prints which\n",
			  a->verb, w->probe->text, n_left_out, n_left_out + n_chosen);
	return 0;
}

static bool has_mark(const struct patch_file *f, const char *target)
{
	const struct patch_mark *marks;
	uint32_t n = patch_marks(f, &marks);

	for (uint32_t i = 0; i < n; i++)
		if (is_named(&marks[i], target))
			return true;
	return false;
}

/* @why: why the programs cannot; "" if they can. */
static int choose(struct recording *a, const struct kernel_uprobe *probe, const char *why)
{
	struct patch_file *f = NULL;
	struct diag d = { "" };
	struct request w;
	bool is_read = read_request(&w, probe);
	int err = 0;

	if (!*why && is_read && patch_open(&f, w.path, NULL, &d))
		why = d.text;
	if (*why && is_by(a, "program"))
		return cmd_error(a->verb, "--usdt %s: cannot be recorded in the program: %s",
				 probe->text, why);
	/* A file or a marker that does not exist is refused where probes are made. */
	if (*why || !is_read || !has_mark(f, w.target)) {
		keep_probe(a, probe, probe->text);
		if (*why)
			report(a, probe->text, by_kernel, why);
	} else {
		err = choose_each(a, &w, f);
	}
	patch_close(f);
	return err;
}

/* Without the second line, which states a remedy. */
static void cut_to_line(struct diag *d)
{
	d->text[strcspn(d->text, "\n")] = 0;
}

int recording_choose_marks(struct recording *a)
{
	struct kernel_uprobe *all = a->uprobes;
	int n = a->n_uprobes, err = 0;
	char library[PATH_MAX];
	struct diag why = { "" };
	bool any = false;

	for (int i = 0; i < n; i++)
		any |= all[i].kind == KERNEL_USDT;
	if (!any || is_by(a, "kernel"))
		return 0;
	programs_can(a, cmd_find_library("libduet.so.0", library, sizeof library), &why);
	cut_to_line(&why);
	a->uprobes = NULL;
	a->n_uprobes = 0;
	for (int i = 0; i < n && !err; i++) {
		if (all[i].kind == KERNEL_USDT)
			err = choose(a, &all[i], why.text);
		else
			keep_probe(a, &all[i], all[i].text);
	}
	free(all);
	a->o.calls.marks = a->marks;
	return err;
}
