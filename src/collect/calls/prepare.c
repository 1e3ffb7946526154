/* SPDX-License-Identifier: MIT */
/*
 * collect/calls/prepare.c - plans for the command or the processes of a recording, before it
 * begins.
 *
 * A pattern that cannot match is refused here, before the command runs.  One whose FILE matches no
 * file of the command is not: the command may run other programs, or open a library later.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/calls/objects.h"
#include "collect/calls/planner.h"
#include "patch/attach/attach.h"

struct preparing {
	struct planner *planner;
	struct diag *d;
};

/* By the name of the link, and by the file's own: python3 is python3.11. */
static int plan_object(void *arg, const char *path)
{
	const struct preparing *g = arg;
	char whole[PATH_MAX];
	struct diag d = { "" };
	int n;

	if (!planner_wants(g->planner, path) && realpath(path, whole) &&
	    planner_wants(g->planner, whole))
		path = whole;
	n = planner_plan_file(g->planner, path, NULL, false, &d);
	if (n < 0 && *d.text)
		planner_trouble(g->planner, &d);
	return 0;
}

static bool names_one_file(const char *pattern)
{
	return strcspn(pattern, "*?[") > strcspn(pattern, ":");
}

/* Appends a line; the diag is long enough for some patterns. */
static void add_line(struct diag *d, const char *format, const char *a, const char *b,
		     const char *c)
{
	size_t n = strlen(d->text);

	snprintf(d->text + n, sizeof d->text - n, "%s", n ? "\n  " : "");
	n = strlen(d->text);
	snprintf(d->text + n, sizeof d->text - n, format, a, b, c);
}

/* A pattern that found its file, and nothing to patch in it. */
static int judge(const struct calls_pattern *p, struct diag *d)
{
	bool is_hint = *p->nearest;

	if (!p->files || p->patched || !names_one_file(p->text))
		return 0;
	if (p->matched)
		add_line(d, "%s: none of these functions can be patched%s%s", p->text,
			 *p->reason ? ": " : "", p->reason);
	else
		add_line(d, "%s: the file has no such function%s%s", p->text,
			 is_hint ? ": did you mean " : "", is_hint ? p->nearest : "");
	return -ENOENT;
}

static int judge_all(const struct planner *p, struct diag *d)
{
	const struct calls_found *f = p->calls->found;
	int err = 0, one;

	for (uint32_t i = 0; i < f->n_patterns; i++) {
		one = judge(&f->patterns[i], d);
		err = err ? err : one;
	}
	return err;
}

static int prepare_command(struct planner *p, const char *name, struct diag *d)
{
	struct preparing g = { p, d };
	char path[PATH_MAX];
	int err = objects_find_command(name, path, d);

	if (!err)
		err = objects_check_program(path, d);
	return err ? err : objects_of_program(path, plan_object, &g, d);
}

static int prepare_process(struct planner *p, pid_t pid, struct diag *d)
{
	struct attach_options o = { .library = p->calls->o->library };
	struct preparing g = { p, d };
	int err = attach_check(pid, &o, d);

	return err ? err : objects_of_process(pid, plan_object, &g, d);
}

/* libduet asks about itself, too. */
static void plan_library(struct planner *p)
{
	if (p->calls->o->library)
		planner_plan_file(p, p->calls->o->library, NULL, false, NULL);
}

int planner_prepare(struct planner *p, struct diag *d)
{
	const struct recorder_options *o = p->calls->o;
	int err = 0;

	plan_library(p);
	if (o->command)
		err = prepare_command(p, o->command[0], d);
	for (int i = 0; i < o->n_pids && !err; i++)
		err = prepare_process(p, o->pids[i], d);
	return err ? err : judge_all(p, d);
}

int planner_attach(struct planner *p, pid_t pid, struct diag *d)
{
	char runtime[PATH_MAX], link[64];
	struct attach_options o = { .library = p->calls->o->library, .runtime = runtime };
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", p->calls->dir);
	n = readlink(link, runtime, sizeof runtime - 1);
	if (n <= 0)
		return diag_errno(d, "cannot use the runtime directory");
	runtime[n] = 0;
	return attach_apply(pid, &o, NULL, d);
}
