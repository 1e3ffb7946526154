/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/points/user.c - points in programs and libraries that duet did not instrument.
 *
 *	process("PATH").function("NAME")	.call, .return; NAME may have @FILE.c
 *	process("PATH").library("LIB").function("NAME")
 *	process("PATH").mark("NAME")		.provider("P").mark("NAME"): USDT notes
 *	process("PATH").begin	.end .thread.begin .thread.end
 *
 * process(PID) and process are the program of that process, and of the target; their probes hit in
 * that process alone.  A function's parameters have names where DWARF has them; $arg1 to $arg6 are
 * always there.
 */
#include <asm/ptrace.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/file.h"
#include "elf/probe_points.h"
#include "kernel/probe/public.h"
#include "script/kernel/points/points.h"
#include "script/kernel/points/user.h"
#include "symbol/symbol.h"

enum { POINTS_MAX = 4096 };

struct search {
	struct script_kernel *k;
	struct script_found *found;
	char path[PATH_MAX]; /* of the file with the code */
	char text[512];	     /* the point as far as it is read: process("x") */
	pid_t pid;
	const char *provider, *name; /* patterns */
	bool is_return, is_target;
	uint32_t n;
	int err;
	struct script_nearest nearest;
};

static bool is(const struct script_point *p, uint32_t i, const char *name)
{
	return i < p->n && !strcmp(p->at[i].name, name);
}

/* ---------------------------------------------------------------- files */

static int no_file(const char *name, struct diag *d)
{
	return diag_fail(d, -ENOENT, "process(\"%s\"): there is no such program or library", name);
}

/* The program of -c: its first word. */
static int resolve_command(struct search *s, struct diag *d)
{
	const char *p = s->k->options.command + strspn(s->k->options.command, " \t");
	char word[512];

	snprintf(word, sizeof word, "%.*s", (int)strcspn(p, " \t;&|<>"), p);
	return kernel_uprobe_file(word, s->path, sizeof s->path) ? 0 : no_file(word, d);
}

/* The file of process(..): by name, by pid, or of the target. */
static int resolve(struct search *s, const struct script_component *c, struct diag *d)
{
	char link[64];
	ssize_t n;

	if (c->kind == COMPONENT_TEXT) {
		snprintf(s->text, sizeof s->text, "process(\"%s\")", c->text);
		return kernel_uprobe_file(c->text, s->path, sizeof s->path) ? 0
									    : no_file(c->text, d);
	}
	if (c->kind == COMPONENT_NUMBER)
		snprintf(s->text, sizeof s->text, "process(%lld)", (long long)c->number);
	else
		snprintf(s->text, sizeof s->text, "process");
	s->pid = c->kind == COMPONENT_NUMBER ? (pid_t)c->number : s->k->options.target;
	s->is_target = c->kind != COMPONENT_NUMBER;
	if (s->is_target && s->k->options.command)
		return resolve_command(s, d);
	if (s->pid <= 0)
		return diag_fail(d, -ENOENT, "process without a program needs -c or -x");
	snprintf(link, sizeof link, "/proc/%d/exe", (int)s->pid);
	n = readlink(link, s->path, sizeof s->path - 1);
	if (n <= 0)
		return diag_fail(d, -ENOENT, "process %d does not run", (int)s->pid);
	s->path[n] = 0;
	return 0;
}

static struct kernel_point *new_point(struct search *s, uint8_t kind, const char *name)
{
	struct kernel_point *p = script_allocate(s->k->arena, sizeof *p);

	if (!p)
		return NULL;
	*p = (struct kernel_point){ .owner = s->k,
				    .kind = kind,
				    .is_return = s->is_return,
				    .pid = s->pid,
				    .is_target = s->is_target,
				    .name = script_copy(s->k->arena, name, strlen(name)),
				    .path = script_copy(s->k->arena, s->path, strlen(s->path)) };
	return p->name && p->path ? p : NULL;
}

static void report(struct search *s, struct kernel_point *p, char *text)
{
	if (!p || !text)
		s->err = -ENOMEM;
	else if (++s->n > POINTS_MAX)
		s->err = -E2BIG;
	else
		kernel_found(s->found, p, text, p->name, true);
}

/* ---------------------------------------------------------------- functions */

static int find_functions(struct search *s, struct diag *d)
{
	const char *at = strchr(s->name, '@');
	char *pattern =
		script_copy(s->k->arena, s->name, at ? (size_t)(at - s->name) : strlen(s->name));
	char *source = at ? script_copy(s->k->arena, at + 1, strcspn(at + 1, ":")) : NULL;
	const struct symbol_function *functions;
	struct elf_file elf;
	struct symbol_file *f;
	size_t n;

	if (!s->k->symbols)
		s->k->symbols = symbols_open();
	f = s->k->symbols && pattern ? symbols_file(s->k->symbols, s->path, "") : NULL;
	if (!f)
		return -ENOMEM;
	if (!elf_file_open(&elf, s->path))
		return diag_fail(d, -ENOENT, "%s is no program", s->path);
	n = symbol_functions(f, &functions);
	for (size_t i = 0; !s->err && i < n; i++) {
		struct kernel_point *p;
		uint64_t offset;

		if (!symbol_is(f, &functions[i], pattern)) {
			script_nearest_try(&s->nearest, functions[i].name);
			continue;
		}
		if ((source && !symbol_source_is(f, functions[i].begin, source)) ||
		    !elf_file_offset(&elf, functions[i].begin, &offset))
			continue;
		p = new_point(s, KIND_USER, functions[i].name);
		if (p) {
			p->offset = offset;
			p->address = functions[i].begin;
		}
		report(s, p,
		       kernel_textf(s->k, "%s.function(\"%s\").%s", s->text, functions[i].name,
				    s->is_return ? "return" : "call"));
	}
	elf_file_close(&elf);
	return s->err;
}

/* ---------------------------------------------------------------- marks */

static int find_mark(void *context, const struct elf_marker *m)
{
	struct search *s = context;
	struct kernel_point *p;

	if (fnmatch(s->name, m->name, 0) || (s->provider && fnmatch(s->provider, m->provider, 0))) {
		script_nearest_try(&s->nearest, m->name);
		return 0;
	}
	p = new_point(s, KIND_USER, m->name);
	if (p) {
		p->offset = m->offset;
		p->semaphore = m->semaphore;
		p->has_places = true;
		if (kernel_mark_places(s->k, m->arguments, &p->places, &p->n_arguments))
			s->err = -ENOMEM;
	}
	report(s, p,
	       s->provider ? kernel_textf(s->k, "%s.provider(\"%s\").mark(\"%s\")", s->text,
					  m->provider, m->name)
			   : kernel_textf(s->k, "%s.mark(\"%s\")", s->text, m->name));
	return s->err;
}

/* ---------------------------------------------------------------- processes */

static const struct {
	const char *first, *second, *tracepoint;
	bool leader;
} lives[] = {
	{ "begin", NULL, "sched_process_exec", true },
	{ "end", NULL, "sched_process_exit", true },
	{ "thread", "begin", "task_newtask", false },
	{ "thread", "end", "sched_process_exit", false },
};

/* 0; 1: it is none of these. */
static int find_life(struct search *s, const struct script_point *p, struct diag *d)
{
	for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
		struct kernel_point *point;
		const char *base;
		int err;

		if (p->n != (lives[i].second ? 3u : 2u) || !is(p, 1, lives[i].first) ||
		    (lives[i].second && !is(p, 2, lives[i].second)))
			continue;
		err = kernel_types(s->k, d);
		if (err)
			return err;
		if (p->at[0].kind == COMPONENT_TEXT) /* it need not be there yet */
			snprintf(s->path, sizeof s->path, "%s", p->at[0].text);
		else if (p->at[0].kind == COMPONENT_NUMBER)
			s->pid = (pid_t)p->at[0].number;
		else
			s->is_target = true;
		point = new_point(s, KIND_TRACE, lives[i].tracepoint);
		if (point && p->at[0].kind == COMPONENT_TEXT) {
			base = strrchr(point->path, '/');
			point->program = base ? base + 1 : point->path;
		}
		if (point)
			point->is_leader_only = lives[i].leader;
		if (p->at[0].kind == COMPONENT_TEXT)
			snprintf(s->text, sizeof s->text, "process(\"%s\")", p->at[0].text);
		else if (p->at[0].kind == COMPONENT_NUMBER)
			snprintf(s->text, sizeof s->text, "process(%d)", (int)s->pid);
		else
			snprintf(s->text, sizeof s->text, "process");
		report(s, point,
		       kernel_textf(s->k, "%s.%s%s%s", s->text, lives[i].first,
				    lives[i].second ? "." : "",
				    lives[i].second ? lives[i].second : ""));
		return s->err;
	}
	return 1;
}

/* ---------------------------------------------------------------- points */

static int find_code(struct search *s, const struct script_point *p, uint32_t i, struct diag *d)
{
	int err;

	if (is(p, i, "provider") && p->at[i].kind == COMPONENT_TEXT)
		s->provider = p->at[i++].text;
	if (is(p, i, "syscall"))
		return diag_fail(
			d, -ENOENT,
			"system calls of a process are syscall.NAME, or syscall_any for all, "
			"with `if (pid() == target())`");
	if (i >= p->n || p->at[i].kind != COMPONENT_TEXT)
		return diag_fail(d, -ENOENT,
				 "it is process(..).function(\"NAME\") or .mark(\"NAME\")");
	s->name = p->at[i].text;
	s->nearest = (struct script_nearest){ .wanted = s->name, .wanted_size = strlen(s->name) };
	if (is(p, i, "mark") && p->n == i + 1) {
		err = elf_markers(s->path, find_mark, s, d);
		return s->err ? s->err : err;
	}
	s->is_return = is(p, i + 1, "return");
	if (!is(p, i, "function") || s->provider ||
	    p->n != i + 1 + (s->is_return || is(p, i + 1, "call") || is(p, i + 1, "exported")))
		return diag_fail(d, -ENOENT,
				 "a function is process(..).function(\"NAME\"), .call or .return");
	return find_functions(s, d);
}

int kernel_user_points(struct script_kernel *k, const struct script_point *p,
		       struct script_found *f, struct diag *d)
{
	struct search *s;
	char text[160];
	uint32_t i = 1;
	int err;

	if (!p->n || strcmp(p->at[0].name, "process"))
		return -ENOTSUP;
	s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->k = k;
	s->found = f;
	err = find_life(s, p, d);
	if (err == 1) {
		err = resolve(s, &p->at[0], d);
		if (!err && is(p, 1, "library") && p->at[1].kind == COMPONENT_TEXT) {
			if (!kernel_uprobe_file(p->at[1].text, s->path, sizeof s->path))
				err = no_file(p->at[1].text, d);
			i = 2;
		}
		err = err ? err : find_code(s, p, i, d);
		if (!err && !s->n)
			err = diag_fail(d, -ENOENT, "%s has no `%s`%s", s->path, s->name,
					script_nearest_text(&s->nearest, text));
	}
	if (err == -E2BIG)
		diag_fail(d, err, "this means more than %d points", POINTS_MAX);
	free(s);
	return err;
}
