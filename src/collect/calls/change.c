/* SPDX-License-Identifier: MIT */
/*
 * collect/calls/change.c - functions are enabled and disabled while programs run.
 *
 * The order: plans, the file `generation`, then the calls files.  A program that starts meanwhile
 * reads `generation` before the plans, so at worst it applies the same plans twice.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/monotonic.h"
#include "collect/calls/keep.h"
#include "collect/calls/objects.h"
#include "collect/calls/patterns.h"
#include "collect/calls/planner.h"
#include "collect/calls/state.h"
#include "collect/session/programs.h"

#define APPLY_NS 300000000u /* until a program is attached to, because it does not look */
enum { APPLY_TRY_US = 5000 };

struct changing {
	struct planner *planner;
	uint32_t files, sites; /* planned */
	uint32_t programs;     /* that have the new plans */
	uint32_t waiting;      /* that do not yet */
	pid_t pid;	       /* 0: all programs */
	uint64_t end_ns;       /* programs that have not looked by then are attached to */
	uint32_t first_new;    /* of calls_found.patterns: of this request */
	struct diag why_waiting;
};

/* ---------------------------------------------------------------- plans */

/* The path in the plan of file @name; false if it is no plan. */
static bool read_path(const struct planner *p, const char *name, char *path, size_t size)
{
	int fd = io_open_file(p->calls->plans, name);
	struct abi_plan plan;
	ssize_t n = -1;

	if (fd < 0)
		return false;
	if (pread(fd, &plan, sizeof plan, 0) == (ssize_t)sizeof plan &&
	    plan.magic == ABI_PLAN_MAGIC)
		n = pread(fd, path, size - 1, (off_t)((uint64_t)plan.text + plan.path));
	close(fd);
	path[n > 0 ? n : 0] = 0;
	return n > 0 && *path == '/';
}

/* Plans are replaced while the directory is read: so their names are read first. */
static char **list_plans(const struct planner *p, uint32_t *n)
{
	int fd = openat(p->calls->plans, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	char **names = calloc(PLANNER_PLANS, sizeof *names);
	struct dirent *e;

	*n = 0;
	while (list && names && *n < PLANNER_PLANS && (e = readdir(list)))
		if (calls_is_plan_name(e->d_name) && (names[*n] = strdup(e->d_name)))
			++*n;
	if (list)
		closedir(list);
	return names;
}

static void plan_again(struct changing *g)
{
	char path[ABI_PLAN_PATH_BYTES + 64];
	uint32_t n;
	char **names = list_plans(g->planner, &n);

	for (uint32_t i = 0; names && i < n; i++) {
		struct diag d = { "" };
		int sites = read_path(g->planner, names[i], path, sizeof path)
				    ? planner_plan_file(g->planner, path, names[i], true, &d)
				    : 0;

		if (sites < 0 && *d.text)
			planner_trouble(g->planner, &d);
		g->files += sites > 0;
		g->sites += sites > 0 ? (uint32_t)sites : 0;
		free(names[i]);
	}
	free(names);
}

static int plan_object(void *arg, const char *path)
{
	struct changing *g = arg;
	struct diag d = { "" };
	int n = planner_plan_file(g->planner, path, NULL, false, &d);

	g->files += n > 0;
	g->sites += n > 0 ? (uint32_t)n : 0;
	return 0;
}

/* ---------------------------------------------------------------- programs */

/* Its pid if it belongs to the session, else 0. */
static pid_t pid_in_session(const struct changing *g, const struct program *a)
{
	const struct calls *c = g->planner->calls;
	const struct abi_session s = { .epoch = c->epoch, .session_slot = c->session_slot };
	pid_t pid = program_is_of(a, &s) ? program_pid(a) : 0;

	return pid > 0 ? pid : 0;
}

static int plan_program(void *arg, struct program *a)
{
	struct changing *g = arg;
	pid_t pid = pid_in_session(g, a);

	if (pid)
		objects_of_process(pid, plan_object, g, NULL);
	return 0;
}

static bool has_looked(const struct planner *p, pid_t pid)
{
	struct calls_state s;

	return calls_state_of_pid(p->calls->dir, pid, &s) &&
	       s.generation >= p->selection.generation;
}

/* Some functions can be patched only while no thread runs. */
static bool has_applied(const struct planner *p, pid_t pid)
{
	struct calls_state s;

	return calls_state_of_pid(p->calls->dir, pid, &s) && s.epoch == p->calls->epoch &&
	       s.generation >= p->selection.generation && !s.waiting;
}

/* A program with patched functions looks by itself when it calls one of them. */
static void apply_in(struct changing *g, pid_t pid)
{
	struct calls_state s;
	bool looks = calls_state_of_pid(g->planner->calls->dir, pid, &s) &&
		     s.epoch == g->planner->calls->epoch && s.patched;

	while (looks && !has_looked(g->planner, pid) && monotonic_ns() < g->end_ns)
		usleep(APPLY_TRY_US);
	if (!has_applied(g->planner, pid) && planner_attach(g->planner, pid, &g->why_waiting))
		g->waiting++;
	else
		g->programs++;
}

static int apply_in_program(void *arg, struct program *a)
{
	struct changing *g = arg;
	pid_t pid = pid_in_session(g, a);

	if (pid)
		apply_in(g, pid);
	return 0;
}

/* ---------------------------------------------------------------- the request */

/* How many patterns of the request choose functions: they are the last ones. */
static uint32_t count_new(const struct planner *p, const struct json_line *l)
{
	const struct selection *s = &p->selection;
	char list[SESSION_REQUEST_BYTES], *rest = list;
	uint32_t n = 0, n_chosen = 0;

	json_line_text(l, "graph", list, sizeof list);
	while (*list && calls_next_pattern(&rest))
		n++;
	for (uint32_t i = 0; i < n && i < s->n_patterns; i++)
		n_chosen += *s->patterns[s->n_patterns - 1 - i] != '!';
	return n_chosen < p->calls->found->n_patterns ? n_chosen : p->calls->found->n_patterns;
}

static int change(struct changing *g, const char *request, struct diag *d)
{
	struct planner *p = g->planner;
	struct json_line line;
	uint64_t pid = 0;
	int err;

	if (json_line_parse(&line, request, strlen(request)))
		return diag_fail(d, -EBADMSG, "not a request");
	json_line_number(&line, "pid", &pid);
	g->pid = (pid_t)pid;
	err = selection_change(&p->selection, &line, d);
	if (err)
		return err;
	err = selection_write(&p->selection, p->calls->plans);
	if (!err)
		err = selection_read(&p->selection, p->calls->plans); /* without old texts */
	if (err)
		return diag_fail(d, err, "cannot write the selection of functions: %s",
				 strerror(-err));
	planner_list_patterns(p);
	g->first_new = p->calls->found->n_patterns - count_new(p, &line);
	plan_again(g);
	if (g->pid)
		err = objects_of_process(g->pid, plan_object, g, d);
	else
		programs_each(p->calls->dir, 0, plan_program, g);
	return err ? err : calls_write_generation(p->calls, p->selection.generation, d);
}

static void send_answer(const struct changing *g, int fd)
{
	struct text t = { 0 };
	struct diag unmatched = { "" };

	calls_report(g->planner->calls, g->first_new, &unmatched);
	text_addf(&t, "{\"ok\":true");
	json_line_add_number(&t, "functions", g->sites);
	json_line_add_number(&t, "files", g->files);
	json_line_add_number(&t, "programs", g->programs);
	json_line_add_number(&t, "waiting", g->waiting);
	if (*g->why_waiting.text)
		json_line_add_text(&t, "why", g->why_waiting.text);
	if (*unmatched.text)
		json_line_add_text(&t, "unmatched", unmatched.text);
	json_line_send(fd, &t, -1);
	text_fini(&t);
}

void planner_change(struct planner *p, const char *request, int fd)
{
	struct changing g = { .planner = p, .why_waiting = { "" } };
	struct diag d = { "" };

	if (change(&g, request, &d)) {
		json_line_refuse(fd, false, d.text);
		return;
	}
	calls_want(p->calls, p->selection.generation);
	if (!planner_fork())
		return; /* the child answers */
	g.end_ns = monotonic_ns() + APPLY_NS;
	if (g.pid)
		apply_in(&g, g.pid);
	else
		programs_each(p->calls->dir, 0, apply_in_program, &g);
	send_answer(&g, fd);
	_exit(0);
}
