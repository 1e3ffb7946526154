/* SPDX-License-Identifier: MIT */
/*
 * cmd/report/table.c - formats cells, aligns tables and writes pages.
 *
 * A table is complete before it is printed, because the width of a column depends on all its cells.
 */
#include "cmd/report/table.h"
#include "cmd/pager.h"
#include "cmd/progress.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/print/print.h"

enum { COLUMNS_MAX = 32 };

static void no_memory(void)
{
	print_err("duet: no memory\n");
	exit(CMD_FAILED);
}

static struct cell *next_cell(struct table *t)
{
	if (pass_grow(&t->cells, &t->capacity, t->n_cells, sizeof *t->cells))
		no_memory();
	t->cells[t->n_cells] = (struct cell){ .is_there = true };
	return &t->cells[t->n_cells++];
}

void table_text(struct table *t, const char *text)
{
	struct cell *c = next_cell(t);

	c->text = strdup(text);
	if (!c->text)
		no_memory();
}

void table_number(struct table *t, int64_t n)
{
	next_cell(t)->n = n;
}

void table_real(struct table *t, double v)
{
	next_cell(t)->real = v;
}

void table_nothing(struct table *t)
{
	next_cell(t)->is_there = false;
}

void table_number_or_nothing(struct table *t, bool is_there, int64_t n)
{
	if (is_there)
		table_number(t, n);
	else
		table_nothing(t);
}

void table_samples(struct table *t, struct samples *s)
{
	static const double percents[] = { 50, 90, 99 };

	if (!s->n) {
		for (int i = 0; i < 7; i++)
			table_nothing(t);
		return;
	}
	table_number(t, (int64_t)s->sum);
	table_number(t, (int64_t)(s->sum / s->n));
	table_number(t, (int64_t)s->min);
	for (int i = 0; i < 3; i++)
		table_number(t, (int64_t)samples_percentile(s, percents[i]));
	table_number(t, (int64_t)s->max);
}

/* ---------------------------------------------------------------- text of values */

const char *duration_text(uint64_t ns, char buffer[32])
{
	static const struct {
		double unit;
		const char *name;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" } };

	for (int i = 0; i < 3; i++) {
		double v = (double)ns / units[i].unit;

		if (v < 0.9995)
			continue;
		snprintf(buffer, 32, "%.*f %s",
			 v < 9.995	   ? 2
			 : v < 99.95 || !i ? 1
					   : 0,
			 v, units[i].name);
		return buffer;
	}
	snprintf(buffer, 32, "%" PRIu64 " ns", ns);
	return buffer;
}

const char *moment_text(int64_t time_ns, char buffer[40])
{
	int64_t ns = time_ns % 1000000000;
	time_t s = (time_t)(time_ns / 1000000000 - (ns < 0));
	struct tm tm = { 0 };
	char day[16];

	localtime_r(&s, &tm);
	strftime(day, sizeof day, "%H:%M:%S", &tm);
	snprintf(buffer, 40, "%s.%09d", day, (int)(ns < 0 ? ns + 1000000000 : ns));
	return buffer;
}

static const char *text_of(const struct cell *c, enum cell_kind kind, char buffer[40])
{
	if (!c->is_there)
		return "-";
	switch (kind) {
	case CELL_TEXT:
	case CELL_LINE:
		return c->text;
	case CELL_COUNT:
		snprintf(buffer, 40, "%" PRId64, c->n);
		return buffer;
	case CELL_NS:
		return duration_text((uint64_t)c->n, buffer);
	case CELL_TIME:
		return moment_text(c->n, buffer);
	case CELL_BYTES:
		return cmd_size_text((uint64_t)c->n, buffer);
	case CELL_REAL:
		snprintf(buffer, 40, c->real < 99.95 ? "%.1f" : "%.0f", c->real);
		return buffer;
	case CELL_PERCENT:
		snprintf(buffer, 40, "%.1f %%", c->real);
		return buffer;
	case CELL_CHANGE:
		snprintf(buffer, 40, "%+.1f %%", c->real);
		return buffer;
	}
	return "";
}

/* Prints text as a terminal may show it; @o may be NULL.  Returns its width, with one column for each
 * character. */
static int show_part(struct out *o, const char *text, size_t size)
{
	int width = 0;

	for (size_t i = 0, n; i < size; i += n ? n : 1) {
		n = text_shown_length(text + i, size - i);
		width += n ? 1 : (int)strlen("\\xff");
		if (o)
			out_text(o, text + i, n ? n : 1);
	}
	return width;
}

static int show(struct out *o, const char *text)
{
	return show_part(o, text, strlen(text));
}

/* The first byte of character @n. */
static const char *character(const char *text, int n)
{
	for (; *text && (n -= ((unsigned char)*text & 0xc0) != 0x80) >= 0; text++)
		;
	return text;
}

/* Prints the beginning and a longer part of the end, where file names differ, in @width
 * characters. */
static void show_cut(struct out *o, const char *text, int width)
{
	int head = (width - 2) / 3, tail = width - 2 - head;
	struct text shown = { 0 };

	assert(width > 2);
	text_add_printable(&shown, text, strlen(text));
	if (shown.failed)
		no_memory();
	text = shown.bytes;
	show_part(o, text, (size_t)(character(text, head) - text));
	out_literal(o, "..");
	show(o, character(text, show(NULL, text) - tail));
	text_fini(&shown);
}

static void pad(struct out *o, int n)
{
	for (; n > 0; n--) {
		out_room(o);
		out_byte(o, ' ');
	}
}

const char *thread_text(const struct threads *t, uint32_t number, char buffer[48])
{
	const struct thread *th = threads_at(t, number);

	if (th->tid < 0)
		return "?";
	snprintf(buffer, 48, "%.*s:%d", th->name_size ? th->name_size : 1,
		 th->name_size ? th->name : "?", th->tid);
	return buffer;
}

const char *process_text(const struct threads *t, uint32_t number, char buffer[48])
{
	return thread_text(t, threads_at(t, number)->process, buffer);
}

/* ---------------------------------------------------------------- pages */

int page_open(struct page *p, const char *verb, bool is_json)
{
	progress_end();
	pager_open();
	*p = (struct page){ .verb = verb, .is_json = is_json };
	if (out_init(&p->out, STDOUT_FILENO))
		return cmd_error(verb, "no memory");
	if (is_json)
		out_byte(&p->out, '{');
	return 0;
}

int page_close(struct page *p)
{
	int err;

	if (p->is_json)
		out_data(&p->out, "}\n", 2);
	out_flush(&p->out);
	err = p->out.err;
	out_fini(&p->out);
	pager_close();
	return err ? cmd_error(p->verb, "cannot write: %s", strerror(-err)) : 0;
}

static void member(struct page *p, const char *key)
{
	if (p->has_member)
		out_data(&p->out, ",\n ", 3);
	p->has_member = true;
	out_json(&p->out, key, strlen(key));
	out_byte(&p->out, ':');
}

void page_number(struct page *p, const char *key, int64_t n)
{
	if (!p->is_json)
		return;
	member(p, key);
	out_i64(&p->out, n);
}

void page_text(struct page *p, const char *key, const char *text)
{
	if (!p->is_json)
		return;
	member(p, key);
	out_json(&p->out, text, strlen(text));
}

void page_line(struct page *p, const char *format, ...)
{
	char line[512];
	va_list ap;

	if (p->is_json)
		return;
	va_start(ap, format);
	vsnprintf(line, sizeof line, format, ap);
	va_end(ap);
	show(&p->out, line);
	out_data(&p->out, "\n", 1);
}

static bool is_text(enum cell_kind kind)
{
	return kind == CELL_TEXT || kind == CELL_LINE;
}

static void json_cell(struct out *o, const struct cell *c, enum cell_kind kind)
{
	out_room(o);
	if (!c->is_there)
		out_literal(o, "null");
	else if (is_text(kind))
		out_json(o, c->text, strlen(c->text));
	else if (kind == CELL_REAL || kind == CELL_PERCENT || kind == CELL_CHANGE)
		out_real(o, c->real, false);
	else
		out_i64(o, c->n);
}

static void json_table(struct page *p, const char *key, const struct table *t)
{
	struct out *o = &p->out;

	member(p, key);
	out_byte(o, '[');
	for (uint32_t i = 0; i < t->n_cells; i++) {
		int column = (int)(i % (uint32_t)t->n_columns);

		out_data(o, column ? "," : i ? ",\n  {" : "\n  {", column ? 1 : i ? 5 : 4);
		out_json(o, t->columns[column].key, strlen(t->columns[column].key));
		out_byte(o, ':');
		json_cell(o, &t->cells[i], t->columns[column].kind);
		if (column == t->n_columns - 1)
			out_byte(o, '}');
	}
	out_data(o, "]", 1);
}

/* -1: the column is left out. */
static int width_of_column(const struct table *t, int column, uint32_t n_rows)
{
	int width = t->columns[column].title ? show(NULL, t->columns[column].title) : -1;
	bool is_empty = t->columns[column].kind == CELL_LINE;
	char buffer[40];

	for (uint32_t row = 0; row < n_rows && width >= 0; row++) {
		const struct cell *c = &t->cells[row * (uint32_t)t->n_columns + (uint32_t)column];
		int w = show(NULL, text_of(c, t->columns[column].kind, buffer));

		is_empty &= !w;
		width = w > width ? w : width;
	}
	return is_empty ? -1 : width;
}

/* Text is aligned left, numbers right; the last column is not padded. */
static void put_cell(struct out *o, const char *text, bool is_left, bool is_last, int width)
{
	int room = width - show(NULL, text);

	if (!is_left)
		pad(o, room);
	if (room < 0)
		show_cut(o, text, width);
	else
		show(o, text);
	if (is_left && !is_last)
		pad(o, room);
}

static void put_row(struct out *o, const struct table *t, const struct cell *row, const int *widths)
{
	int last = t->n_columns - 1;
	char buffer[40];

	while (last && widths[last] < 0)
		last--;
	for (int i = 0; i < t->n_columns; i++) {
		const struct column *c = &t->columns[i];

		bool is_last = i == last;
		const char *text;

		if (widths[i] < 0)
			continue;
		text = row ? text_of(&row[i], c->kind, buffer) : c->title;
		if (is_last && !*text)
			break;
		pad(o, 2);
		put_cell(o, text, is_text(c->kind) || c->kind == CELL_TIME, is_last, widths[i]);
	}
	out_data(o, "\n", 1);
}

/* On a terminal that is too narrow the widest texts are cut, but not below LEGIBLE. */
static void fit(const struct table *t, int *widths)
{
	enum { LEGIBLE = 24 };
	int width = terminal_width(), total = 0, widest = -1;

	if (!width)
		return;
	for (int i = 0; i < t->n_columns; i++)
		total += widths[i] < 0 ? 0 : widths[i] + 2;
	for (; total > width; total--) {
		for (int i = 0; i < t->n_columns; i++)
			if (is_text(t->columns[i].kind) &&
			    widths[i] > (widest < 0 ? LEGIBLE : widths[widest]))
				widest = i;
		if (widest < 0)
			return;
		if (--widths[widest] == LEGIBLE)
			widest = -1;
	}
}

static void print_table(struct page *p, const char *heading, const struct table *t, uint64_t limit)
{
	uint32_t n_rows = t->n_columns ? t->n_cells / (uint32_t)t->n_columns : 0;
	uint32_t shown = n_rows < limit ? n_rows : (uint32_t)limit;
	int widths[COLUMNS_MAX];

	assert(t->n_columns <= COLUMNS_MAX);
	if (!n_rows)
		return;
	out_data(&p->out, "\n", 1);
	if (heading)
		page_line(p, "%s", heading);
	for (int i = 0; i < t->n_columns; i++)
		widths[i] = width_of_column(t, i, shown);
	fit(t, widths);
	put_row(&p->out, t, NULL, widths);
	for (uint32_t i = 0; i < shown; i++)
		put_row(&p->out, t, &t->cells[i * (uint32_t)t->n_columns], widths);
	if (shown < n_rows)
		page_line(p, "  and %u more", n_rows - shown);
}

void table_empty(struct table *t)
{
	for (uint32_t i = 0; i < t->n_cells; i++)
		free(t->cells[i].text);
	free(t->cells);
	t->cells = NULL;
	t->n_cells = t->capacity = 0;
}

void page_table(struct page *p, const char *key, const char *heading, struct table *t,
		uint64_t limit)
{
	assert(t->n_columns && t->n_cells % (uint32_t)t->n_columns == 0);
	if (p->is_json)
		json_table(p, key, t);
	else
		print_table(p, heading, t, limit);
	table_empty(t);
}

static void print_lost(struct page *p, const struct pass *r)
{
	const char *remedy = !r->epoch[TRACE_KERNEL] ? "-b"
			     : r->epoch[TRACE_UST]   ? "-b and --kernel-buffer"
						     : "--kernel-buffer";
	char text[160];

	if (r->lost_events || r->lost_packets)
		page_line(p, "counts are low: %s lost (record with a larger %s, or fewer events)",
			  cmd_lost_text(r->lost_events, r->lost_packets, text), remedy);
	if (r->n_damages)
		page_line(p, "counts are low: the recording is damaged in %s",
			  cmd_count_text(r->n_damages, "place", text));
}

void page_recording(struct page *p, const struct pass *r)
{
	char duration[32], begin[40], count[64];

	page_number(p, "begin_ns", r->first_ns);
	page_number(p, "end_ns", r->last_ns);
	page_number(p, "n_events", (int64_t)r->n_events);
	page_number(p, "lost_events", (int64_t)r->lost_events);
	page_number(p, "lost_packets", (int64_t)r->lost_packets);
	page_number(p, "damages", (int64_t)r->n_damages);
	page_line(p, "%s in %s from %s", cmd_count_text(r->n_events, "event", count),
		  duration_text((uint64_t)(r->last_ns - r->first_ns), duration),
		  moment_text(r->first_ns, begin));
	print_lost(p, r);
}

bool terminal_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	if (!terminal_is_shown_to())
		return false;
	for (int i = 0; i < 3; i++) {
		const char *v = getenv(names[i]);

		if (v && *v)
			return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
	}
	return false;
}
