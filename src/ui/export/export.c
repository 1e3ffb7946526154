/* SPDX-License-Identifier: MIT */
/*
 * ui/export/export.c - `/api/export`: a part of the recording as a file.
 *
 * Formats of others are made by `duet export` as a child.  Files are made in a directory of their own,
 * which is removed before the answer is sent: the open file stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "ui/child/child.h"
#include "ui/export/export.h"
#include "ui/export/tar.h"
#include "ui/query/answer.h"

enum { ROWS_MOST = 256, ARGUMENTS = 16, SECONDS_MOST = 600, ERRORS_MOST = 64 << 10 };

struct exporting {
	const struct ui_subject *s;
	const struct ui_request *q;
	struct ui_answer *a;
	const struct export_format *format;
	struct ui_index_status status;
	int64_t from, to;
	bool has_from, has_to;
	uint32_t rows[ROWS_MOST];
	int n_rows;
	int64_t size_bytes;
	struct text filter; /* with the rows */
	char dir[128];
};

struct export_format {
	const char *name, *type, *suffix;
	bool has_filter;
	/* make DIR/file; false after it answered why not */
	bool (*make)(struct exporting *x, const char *file);
};

/* ---------------------------------------------------------------- duet export */

/* The first line of the child's errors. */
static void answer_errors(struct exporting *x, const struct ui_child_result *r)
{
	const char *text = r->errors.size ? r->errors.bytes : "the export ended without a result";

	if (r->end == UI_CHILD_TOO_LONG)
		return ui_refuse(x->a, 500,
				 "the export takes more than %d minutes: choose a shorter time",
				 SECONDS_MOST / 60);
	if (r->end == UI_CHILD_CANCELLED)
		return ui_refuse(x->a, 409, "the request was dropped");
	if (!strncmp(text, "duet export: ", 13))
		text += 13;
	ui_refuse(x->a, r->status == 2 ? 400 : 500, "%.*s", (int)strcspn(text, "\n"), text);
}

static bool run(struct exporting *x, const char *const *argv)
{
	const struct ui_child_options o = { .argv = argv,
					    .timeout_ns = SECONDS_MOST * 1000000000ull,
					    .most_bytes = ERRORS_MOST,
					    .is_cancelled = x->q->is_cancelled };
	struct ui_child_result r;
	struct diag d = { "" };
	bool is_done;

	if (ui_child_run(&o, &r, &d)) {
		ui_refuse(x->a, 500, "%s", d.text);
		return false;
	}
	is_done = r.end == UI_CHILD_EXITED && !r.status;
	if (!is_done)
		answer_errors(x, &r);
	ui_child_result_fini(&r);
	return is_done;
}

/* `duet export FORMAT` of @n_paths recordings, to @to. */
static bool run_export(struct exporting *x, const char *const *paths, int n_paths, const char *to)
{
	const char **argv = calloc(ARGUMENTS + (size_t)n_paths, sizeof *argv);
	char from[UI_MOMENT_TEXT], until[UI_MOMENT_TEXT];
	bool is_done;
	int n = 0;

	if (!argv) {
		ui_refuse(x->a, 500, "no memory for the export");
		return false;
	}
	ui_moment_text(from, x->status.begin_ns + x->from);
	ui_moment_text(until, x->status.begin_ns + x->to);
	argv[n++] = x->s->self;
	argv[n++] = "export";
	argv[n++] = x->format->name;
	argv[n++] = "-o";
	argv[n++] = to;
	if (x->has_from) {
		argv[n++] = "--from";
		argv[n++] = from;
	}
	if (x->has_to) {
		argv[n++] = "--to";
		argv[n++] = until;
	}
	if (x->filter.size) {
		argv[n++] = "-f";
		argv[n++] = x->filter.bytes;
	}
	argv[n++] = "--";
	for (int i = 0; i < n_paths; i++)
		argv[n++] = paths[i];
	is_done = run(x, argv);
	free(argv);
	return is_done;
}

static bool make_by_child(struct exporting *x, const char *file)
{
	return run_export(x, x->s->paths, x->s->n_paths, file);
}

/* ---------------------------------------------------------------- a tar */

/* The last part of a path, which becomes the name of a directory. */
static void base_name(const char *path, char name[64])
{
	size_t n = strlen(path), from;

	while (n && path[n - 1] == '/')
		n--;
	for (from = n; from && path[from - 1] != '/'; from--)
		;
	if (n - from > 60)
		n = from + 60;
	snprintf(name, 64, "%.*s", n > from ? (int)(n - from) : 9,
		 n > from ? path + from : "recording");
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		strcpy(name, "recording");
}

static bool make_tar(struct exporting *x, const char *file)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), err = 0;
	char part[PATH_MAX], name[64], inner[96];
	struct diag d = { "" };

	if (fd < 0)
		err = diag_errno(&d, "cannot write %s", file);
	for (int i = 0; i < x->s->n_paths && !err && x->a->status == 200; i++) {
		snprintf(part, sizeof part, "%s/part-%d", x->dir, i);
		base_name(x->s->paths[i], name);
		if (i)
			snprintf(inner, sizeof inner, "%s-%d", name, i + 1);
		else
			snprintf(inner, sizeof inner, "%s", name);
		if (run_export(x, &x->s->paths[i], 1, part))
			err = tar_write(fd, part, inner, &d);
	}
	if (!err)
		err = tar_end(fd, &d);
	if (fd >= 0)
		close(fd);
	if (err)
		ui_refuse(x->a, 500, "%s", d.text);
	return x->a->status == 200;
}

/* ---------------------------------------------------------------- one page */

static bool make_html(struct exporting *x, const char *file)
{
	const struct html_options o = { .from = x->from,
					.to = x->to,
					.rows = x->rows,
					.n_rows = x->n_rows,
					.size_bytes = (uint64_t)x->size_bytes,
					.is_cancelled = x->q->is_cancelled };
	struct html_result result;
	struct diag d = { "" };
	int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), err;

	err = fd < 0 ? diag_errno(&d, "cannot write %s", file)
		     : html_write(x->s, &o, fd, &result, &d);
	if (fd >= 0)
		close(fd);
	if (err)
		ui_refuse(x->a, err == -ECANCELED ? 409 : 500, "%s", d.text);
	return !err;
}

/* ---------------------------------------------------------------- the request */

static const struct export_format formats[] = {
	{ "perfetto", "application/octet-stream", "pftrace", true, make_by_child },
	{ "csv", "text/csv; charset=utf-8", "csv", true, make_by_child },
	{ "ctf", "application/x-tar", "ctf.tar", false, make_tar },
	{ "html", "text/html; charset=utf-8", "html", false, make_html },
};

static bool find_format(struct exporting *x)
{
	const char *as;

	if (!ui_param_text(x->q, x->a, "as", &as))
		return false;
	for (size_t i = 0; as && i < sizeof formats / sizeof *formats; i++)
		if (!strcmp(as, formats[i].name))
			x->format = &formats[i];
	if (!x->format)
		ui_refuse(x->a, 400, "%s: parameter as is perfetto, csv, ctf or html", x->q->path);
	return x->format;
}

/* "$tid == 5 || $pid == 7" for the rows; CPUs too. */
static void add_row_filter(struct exporting *x)
{
	struct ui_row row;
	int n = 0;

	for (int i = 0; i < x->n_rows; i++) {
		bool is_cpu, is_thread, is_process;

		ui_index_row(x->s->index, x->rows[i], &row);
		is_cpu = row.kind == UI_ROW_CPU;
		is_thread = row.kind == UI_ROW_THREAD && row.tid >= 0;
		is_process = row.kind == UI_ROW_PROCESS && row.pid >= 0;
		if (is_cpu || is_thread || is_process)
			text_addf(&x->filter, "%s%s == %" PRId64, n++ ? " || " : "(",
				  is_cpu      ? "$cpu_id"
				  : is_thread ? "$tid"
					      : "$pid",
				  is_cpu      ? (int64_t)row.cpu
				  : is_thread ? row.tid
					      : row.pid);
	}
	if (n)
		add(&x->filter, ")");
}

static bool make_filter(struct exporting *x)
{
	const char *filter;

	if (!ui_param_text(x->q, x->a, "filter", &filter))
		return false;
	if (!x->format->has_filter) {
		bool is_refused = (filter && *filter) || (x->n_rows && x->format->make == make_tar);

		if (is_refused)
			ui_refuse(x->a, 400, "%s: %s has all events of the time: no %s", x->q->path,
				  x->format->name, filter && *filter ? "filter" : "rows");
		return !is_refused;
	}
	add_row_filter(x);
	if (filter && *filter)
		text_addf(&x->filter, "%s(%s)", x->filter.size ? " && " : "", filter);
	if (x->filter.failed)
		ui_refuse(x->a, 500, "no memory for the filter");
	return !x->filter.failed;
}

static bool read_request(struct exporting *x)
{
	x->has_from = ui_param(x->q, "from");
	x->has_to = ui_param(x->q, "to");
	if (!find_format(x) || !ui_param_range(x->s, x->q, x->a, &x->from, &x->to) ||
	    !ui_param_int(x->q, x->a, "size", HTML_SIZE_LEAST, INT64_MAX, HTML_SIZE_USUAL,
			  &x->size_bytes))
		return false;
	x->n_rows = ui_param_rows(x->s, x->q, x->a, x->rows, ROWS_MOST);
	return x->n_rows >= 0 && make_filter(x);
}

static void make(struct exporting *x)
{
	const char *tmp = getenv("TMPDIR");
	char file[sizeof x->dir + 16], name[64];

	if (snprintf(x->dir, sizeof x->dir, "%s/duet-export-XXXXXX", tmp && *tmp ? tmp : "/tmp") >=
		    (int)sizeof x->dir ||
	    !mkdtemp(x->dir))
		return ui_refuse(x->a, 500,
				 "cannot make a directory in %.80s: %s (TMPDIR names it)",
				 tmp && *tmp ? tmp : "/tmp", strerror(errno));
	snprintf(file, sizeof file, "%s/file", x->dir);
	if (x->format->make(x, file)) {
		x->a->body_fd = open(file, O_RDONLY | O_CLOEXEC);
		if (x->a->body_fd < 0)
			ui_refuse(x->a, 500, "cannot open %s: %s", file, strerror(errno));
		x->a->type = x->a->body_fd < 0 ? NULL : x->format->type;
		base_name(x->s->paths[0], name);
		if (x->a->body_fd >= 0)
			snprintf(x->a->file_name, sizeof x->a->file_name, "%s.%s", name,
				 x->format->suffix);
	}
	io_remove_tree(x->dir);
}

void ui_query_export(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a)
{
	struct exporting *x = calloc(1, sizeof *x);

	if (!x)
		return ui_refuse(a, 500, "no memory for the export");
	*x = (struct exporting){ .s = s, .q = q, .a = a };
	if (ui_has_recording(s, a)) {
		ui_index_status(s->index, &x->status);
		if (read_request(x))
			make(x);
	}
	text_fini(&x->filter);
	free(x);
}
