/* SPDX-License-Identifier: MIT */
/*
 * cmd/ui/html.c - `duet ui --html FILE`: options, the file, and messages about it.
 *
 * The file appears when it is complete.
 */
#include "base/io.h"
#include "cmd/ui/html.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/confine/errand.h"
#include "cmd/confine/reader.h"
#include "cmd/print/print.h"
#include "cmd/selection.h"
#include "trace/public.h"
#include "ui/export/export.h"

enum { ROWS_MOST = 4096 };

static int parse_moment(const char *option, const char *text, struct moment *m)
{
	*m = (struct moment){ 0 };
	return !text || moment_parse(text, m)
		       ? 0
		       : cmd_error("ui", "%s takes a time, as in 14:05:09.25 or +2.5s", option);
}

/* Times since the index's begin. */
static int resolve_times(const struct html_command *c, const struct ui_subject *s,
			 struct html_options *o)
{
	struct ui_index_status status;
	struct moment from, to;
	struct diag d = { "" };
	struct trace *t;

	if (parse_moment("--from", c->from, &from) || parse_moment("--to", c->to, &to))
		return CMD_FAILED;
	if (trace_open(&t, c->paths, c->n_paths, NULL, &d))
		return cmd_error("ui", "%s", d.text);
	moments_resolve(&from, &to, t);
	trace_close(t);
	ui_index_status(s->index, &status);
	o->from = from.is_given ? from.ns - status.begin_ns : 0;
	o->to = to.is_given ? to.ns - status.begin_ns : status.end_ns;
	if (o->from < 0)
		o->from = 0;
	/* A recording without events has a duration too. */
	if (o->from < o->to && status.n_events)
		return 0;
	return status.n_events && (c->from || c->to)
		       ? cmd_error("ui", "nothing was recorded in that time")
		       : cmd_error("ui", "%s: the recording has no events", c->paths[0]);
}

/* ---------------------------------------------------------------- rows */

static bool is_like(const struct ui_row *r, const char *pattern)
{
	char *end;
	long long id = strtoll(pattern, &end, 10);

	if (end != pattern && !*end)
		return r->tid == id || (r->kind == UI_ROW_PROCESS && r->pid == id);
	return !fnmatch(pattern, r->name, 0);
}

static int add_rows(const struct ui_subject *s, const char *pattern, uint32_t *rows, int *n)
{
	struct ui_row r;
	int before = *n;

	for (uint32_t i = 0; i < ui_index_n_rows(s->index); i++) {
		if (!ui_index_row(s->index, i, &r) || !is_like(&r, pattern))
			continue;
		if (*n == ROWS_MOST)
			return cmd_error("ui", "--rows: more than %d rows: name fewer", ROWS_MOST);
		rows[(*n)++] = i;
	}
	return *n > before
		       ? 0
		       : cmd_error("ui", "--rows %s: no row has this name, pid or tid", pattern);
}

static int choose_rows(const struct html_command *c, const struct ui_subject *s, uint32_t *rows,
		       int *n)
{
	char *list = c->rows ? strdup(c->rows) : NULL, *rest = list, *pattern;
	int status = 0;

	if (c->rows && !list)
		return cmd_error("ui", "no memory");
	while (!status && (pattern = strsep(&rest, ",")))
		if (*pattern)
			status = add_rows(s, pattern, rows, n);
	free(list);
	return status;
}

/* ---------------------------------------------------------------- the file */

/* The file under its unfinished name, and what happens to that name: outside of the sandbox. */
struct part {
	char name[PATH_MAX];
	int fd;
	struct errand completion, removal;
};

static int open_part(const struct html_command *c, struct part *p)
{
	if (snprintf(p->name, sizeof p->name, "%s.%d.part", c->file, (int)getpid()) >=
	    (int)sizeof p->name)
		return cmd_error("ui", "%s: the path is too long", c->file);
	p->fd = open(p->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (p->fd < 0)
		return cmd_error("ui", "cannot write %s: %s", c->file, strerror(errno));
	if (errand_prepare(&p->removal, p->name, NULL) ||
	    errand_prepare(&p->completion, p->name, c->file))
		return cmd_error("ui", "cannot write %s: no process", c->file);
	return 0;
}

static void close_part(struct part *p)
{
	if (p->fd >= 0)
		close(p->fd);
	errand_drop(&p->completion);
	errand_run(&p->removal); /* nothing is there any more if it was completed */
}

static int write_file(const struct html_command *c, const struct ui_subject *s,
		      const struct html_options *o, struct part *p)
{
	struct html_result result;
	struct diag d = { "" };
	int err = html_write(s, o, p->fd, &result, &d);
	char size[32];

	if (close(p->fd) && !err)
		err = diag_errno(&d, "cannot write %s", c->file);
	p->fd = -1;
	if (!err)
		err = errand_run(&p->completion);
	if (err && !*d.text)
		diag_fail(&d, err, "cannot write %s: %s", c->file, strerror(-err));
	if (err)
		return cmd_error("ui", "%s", d.text);
	print_out("%s: %s; any browser opens it\n", c->file, cmd_size_text(result.bytes, size));
	if (*result.left_out)
		print_out("%s\n", result.left_out);
	return 0;
}

static void wait_for(struct ui_index *x)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	struct ui_index_status status;

	do {
		nanosleep(&pause, NULL);
		ui_index_status(x, &status);
	} while (!status.is_done);
}

static int write_page(const struct html_command *c, const struct ui_subject *s, struct part *p)
{
	static uint32_t rows[ROWS_MOST];
	struct html_options o = { .rows = rows, .size_bytes = HTML_SIZE_USUAL };
	int status = 0;

	if (c->size && !cmd_parse_size("ui", c->size, &o.size_bytes))
		return CMD_FAILED;
	if (o.size_bytes < HTML_SIZE_LEAST)
		return cmd_error("ui", "--size: the page needs 1M at least");
	wait_for(s->index);
	status = resolve_times(c, s, &o);
	if (!status)
		status = choose_rows(c, s, rows, &o.n_rows);
	return status ? status : write_file(c, s, &o, p);
}

/* Indexes are kept beside the first recording, or in the user's cache: ui/index/cache.h. */
static int confine(const struct html_command *c)
{
	char cache[PATH_MAX], beside[PATH_MAX];
	struct reader r = { .verb = "ui" };
	int n = 0;

	snprintf(beside, sizeof beside, "%s/.duet", c->paths[0]);
	if (!c->no_cache && !access(beside, W_OK))
		r.writes[n++] = beside;
	if (!c->no_cache && io_cache_directory(cache, sizeof cache))
		r.writes[n++] = cache;
	return reader_confine(&r);
}

static int write_confined(const struct html_command *c, struct part *p)
{
	const struct ui_index_options o = { .paths = c->paths,
					    .n_paths = c->n_paths,
					    .no_cache = c->no_cache };
	struct ui_subject s = { .paths = c->paths, .n_paths = c->n_paths, .self = c->self };
	struct diag d = { "" };
	int status;

	if (confine(c))
		return CMD_FAILED;
	if (ui_index_open(&s.index, &o, &d))
		return cmd_error("ui", "%s", d.text);
	status = write_page(c, &s, p);
	ui_index_close(s.index);
	return status;
}

int html_command_run(const struct html_command *c)
{
	static struct part p = { .fd = -1, .completion = { .fd = -1 }, .removal = { .fd = -1 } };
	int status;

	if (!c->n_paths)
		return cmd_usage("ui", "--html: no recording given");
	status = open_part(c, &p);
	if (!status)
		status = write_confined(c, &p);
	close_part(&p);
	return status;
}
