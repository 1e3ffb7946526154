/* SPDX-License-Identifier: MIT */
/*
 * cmd/report/heap.c - `duet report heap`: a chart of live bytes, and tables by process, call site,
 * size and age.
 */
#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analysis/report/public.h"
#include "cmd/cmd.h"
#include "cmd/report/internal.h"

enum { CHART_COLUMNS = 64, CHART_ROWS = 8 };

static void print_processes(struct page *p, const struct heap *h, const struct report *r)
{
	const struct column columns[] = {
		{ "process", "process", CELL_TEXT },
		{ "pid", NULL, CELL_COUNT },
		{ "n_given", "blocks allocated", CELL_COUNT },
		{ "given_bytes", "bytes", CELL_BYTES },
		{ "n_taken", "freed", CELL_COUNT },
		{ "peak_bytes", "peak", CELL_BYTES },
		{ "peak_n", NULL, CELL_COUNT },
		{ "peak_ns", "at", CELL_TIME },
		{ "n_live", "live at the end", CELL_COUNT },
		{ "live_bytes", "bytes", CELL_BYTES },
		{ "n_reallocs", "reallocs", CELL_COUNT },
		{ "n_moved", "moved", CELL_COUNT },
		{ "grown_bytes", "grown by", CELL_BYTES },
		{ "shrunk_bytes", NULL, CELL_BYTES },
		{ "n_unknown", h->all.n_unknown ? "unknown frees" : NULL, CELL_COUNT },
		{ "n_failed", h->all.n_failed ? "failed" : NULL, CELL_COUNT },
		{ "n_at_exec", NULL, CELL_COUNT },
		{ "at_exec_bytes", NULL, CELL_BYTES },
		{ "n_unseen_ends", NULL, CELL_COUNT },
	};
	struct table t = TABLE(columns);
	char name[48];

	for (uint32_t i = 0; i < h->n_processes; i++) {
		const struct heap_process *q = &h->processes[i];
		const uint64_t numbers[] = {
			q->n_given,	 q->given_bytes,       q->n_taken,     q->peak_bytes,
			q->peak_n,	 (uint64_t)q->peak_ns, q->n_live,      q->live_bytes,
			q->n_reallocs,	 q->n_moved,	       q->grown_bytes, q->shrunk_bytes,
			q->n_unknown,	 q->n_failed,	       q->n_at_exec,   q->at_exec_bytes,
			q->n_unseen_ends
		};

		table_text(&t, thread_text(h->run.threads, q->thread, name));
		table_number(&t, threads_at(h->run.threads, q->thread)->tid);
		for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
			table_number(&t, (int64_t)numbers[k]);
	}
	page_table(p, "processes", NULL, &t, r->limit);
}

/* "function+0x1f", else "0x1234": an address in the file, or in the process if the file is
 * unknown. */
static const char *frame_text(const struct heap_frame *f, char buffer[256])
{
	if (f->function)
		snprintf(buffer, 256, "%.200s+0x%" PRIx64, f->function, f->into);
	else
		snprintf(buffer, 256, "0x%" PRIx64, f->address);
	return buffer;
}

static const char *file_text(const struct heap_frame *f)
{
	const char *slash = f->path ? strrchr(f->path, '/') : NULL;

	return slash ? slash + 1 : f->path ? f->path : "?";
}

/* @is_shown: the row is among those that are printed. */
static void add_line(struct table *t, struct heap_sites *sites, const struct heap_frame *f,
		     bool is_shown)
{
	char line[LINE_BYTES];

	table_text(t, f && is_shown ? heap_sites_line(sites, f, line) : "");
}

static void add_site(struct table *t, struct heap_sites *sites, const struct heap_site *s,
		     bool is_shown)
{
	const struct heap_frame *asks = s->asks ? heap_sites_frame(sites, s->asks) : NULL;
	const struct heap_frame *asks_for =
		s->asks_for ? heap_sites_frame(sites, s->asks_for) : NULL;
	char text[256];

	table_number(t, (int64_t)s->live_bytes);
	table_number(t, (int64_t)s->n_live);
	table_number(t, (int64_t)s->given_bytes);
	table_number(t, (int64_t)s->n_given);
	table_number(t, (int64_t)s->peak_bytes);
	table_number(t, s->peak_ns);
	table_text(t, asks ? frame_text(asks, text) : "?");
	add_line(t, sites, asks, is_shown);
	table_text(t, asks ? file_text(asks) : "?");
	if (asks_for)
		table_text(t, frame_text(asks_for, text));
	else
		table_nothing(t);
	add_line(t, sites, asks_for, is_shown);
	snprintf(text, sizeof text, "0x%" PRIx64, asks ? asks->address : 0);
	table_text(t, text);
}

static void print_sites(struct page *p, const struct heap *h, const struct report *r)
{
	static const struct column columns[] = {
		{ "live_bytes", "live at the end", CELL_BYTES },
		{ "n_live", "blocks", CELL_COUNT },
		{ "given_bytes", "allocated in all", CELL_BYTES },
		{ "n_given", "blocks", CELL_COUNT },
		{ "peak_bytes", "peak", CELL_BYTES },
		{ "peak_ns", NULL, CELL_TIME },
		{ "site", "allocated by", CELL_TEXT },
		{ "line", "line", CELL_LINE },
		{ "file", "in", CELL_TEXT },
		{ "for", "for", CELL_TEXT },
		{ "for_line", "line", CELL_LINE },
		{ "address", NULL, CELL_TEXT },
	};
	const struct heap_site *sites;
	struct table t = TABLE(columns);
	uint32_t n;

	if (!heap_sites_any(h->sites)) {
		page_line(p, "%s", "");
		page_line(p, "the recording has no call sites: `duet record -c callstack -e "
			     "'lttng_ust_libc:*' -- COMMAND` records them");
		return;
	}
	sites = heap_sites_sort(h->sites, &n);
	for (uint32_t i = 0; i < n; i++)
		add_site(&t, h->sites, &sites[i], i < r->limit);
	page_table(p, "sites", "By call site", &t, r->limit);
}

static void print_classes(struct page *p, const struct heap *h)
{
	static const struct column columns[] = {
		{ "up_to_bytes", "bytes up to", CELL_COUNT },
		{ "n", "blocks allocated", CELL_COUNT },
		{ "bytes", "bytes", CELL_BYTES },
		{ "n_live", "live at the end", CELL_COUNT },
		{ "live_bytes", "bytes", CELL_BYTES },
	};
	struct table t = TABLE(columns);

	for (int i = 0; i < HEAP_CLASSES; i++) {
		const struct heap_class *c = &h->classes[i];

		if (!c->n)
			continue;
		table_number(&t, (int64_t)(1ull << i));
		table_number(&t, (int64_t)c->n);
		table_number(&t, (int64_t)c->bytes);
		table_number(&t, (int64_t)c->n_live);
		table_number(&t, (int64_t)c->live_bytes);
	}
	page_table(p, "classes", "By size", &t, UINT64_MAX);
}

static void print_oldest(struct page *p, const struct heap *h)
{
	static const struct column columns[] = {
		{ "age_ns", "age", CELL_NS },	   { "time_ns", "since", CELL_TIME },
		{ "bytes", "bytes", CELL_BYTES },  { "process", "process", CELL_TEXT },
		{ "thread", "thread", CELL_TEXT },
	};
	struct table t = TABLE(columns);
	char name[48];

	for (uint32_t i = 0; i < h->oldest.n; i++) {
		const struct slow *s = &h->oldest.at[i];

		table_number(&t, (int64_t)s->duration_ns);
		table_number(&t, s->time_ns);
		table_number(&t, s->detail);
		table_text(&t, thread_text(h->run.threads, s->subject, name));
		table_text(&t, thread_text(h->run.threads, s->thread, name));
	}
	page_table(p, "oldest", "The oldest of the blocks live at the end", &t, UINT64_MAX);
}

/* ---------------------------------------------------------------- over time */

static void print_slices(struct page *p, const struct heap *h)
{
	static const struct column columns[] = { { "time_ns", NULL, CELL_TIME },
						 { "peak_bytes", NULL, CELL_BYTES },
						 { "last_bytes", NULL, CELL_BYTES } };
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < h->n_slices; i++) {
		table_number(&t, h->slices_begin_ns + (int64_t)i * h->slice_ns);
		table_number(&t, (int64_t)h->slices[i].peak_bytes);
		table_number(&t, (int64_t)h->slices[i].last_bytes);
	}
	page_table(p, "slices", NULL, &t, UINT64_MAX);
}

static uint64_t column_peak(const struct heap *h, uint32_t column, uint32_t per_column)
{
	uint64_t peak = 0;

	for (uint32_t i = column * per_column; i < (column + 1) * per_column && i < h->n_slices;
	     i++)
		peak = h->slices[i].peak_bytes > peak ? h->slices[i].peak_bytes : peak;
	return peak;
}

static const char *chart_cell(uint64_t peak, uint64_t most, int row)
{
	static const char *const fine[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	int eighths = (int)((double)peak / (double)most * CHART_ROWS * 8 + 0.5) - row * 8;

	if (!terminal_is_utf8())
		return eighths >= 4 ? "#" : !row && peak ? "." : " ";
	eighths = !row && peak && eighths < 1 ? 1 : eighths;
	return fine[eighths < 0 ? 0 : eighths > 8 ? 8 : eighths];
}

/* Draws the live bytes of all processes over time: the maximum in each column. */
static void draw(struct page *p, const struct heap *h)
{
	uint32_t per_column = (h->n_slices + CHART_COLUMNS - 1) / CHART_COLUMNS;
	uint32_t n = per_column ? (h->n_slices + per_column - 1) / per_column : 0;
	char line[CHART_COLUMNS * 3 + 64], size[32], duration[32];

	if (p->is_json || n < 2 || !h->all.peak_bytes)
		return;
	assert(n <= CHART_COLUMNS);
	page_line(p, "%s", "");
	for (int row = CHART_ROWS - 1; row >= 0; row--) {
		char *at = line + snprintf(line, sizeof line, "  %9s |",
					   row == CHART_ROWS - 1
						   ? cmd_size_text(h->all.peak_bytes, size)
						   : "");

		for (uint32_t c = 0; c < n; c++)
			at = stpcpy(at, chart_cell(column_peak(h, c, per_column), h->all.peak_bytes,
						   row));
		page_line(p, "%s", line);
	}
	page_line(p, "  %9s  live bytes over %s", "",
		  duration_text((uint64_t)h->n_slices * (uint64_t)h->slice_ns, duration));
}

/* ---------------------------------------------------------------- the page */

static void print_totals(struct page *p, const struct heap *h)
{
	char size[32], moment[40], count[64];

	page_number(p, "peak_bytes", (int64_t)h->all.peak_bytes);
	page_number(p, "peak_ns", h->all.peak_ns);
	page_number(p, "n_live", (int64_t)h->all.n_live);
	page_number(p, "live_bytes", (int64_t)h->all.live_bytes);
	page_number(p, "n_unknown", (int64_t)h->all.n_unknown);
	page_line(p, "at most %s in %s, at %s", cmd_size_text(h->all.peak_bytes, size),
		  cmd_count_text(h->all.peak_n, "block", count),
		  moment_text(h->all.peak_ns, moment));
	page_line(p, "at the end %s in %s", cmd_size_text(h->all.live_bytes, size),
		  cmd_count_text(h->all.n_live, "block", count));
	if (h->all.n_at_exec)
		page_line(p, "left when a program executed another: %s (%s)",
			  cmd_count_text(h->all.n_at_exec, "block", count),
			  cmd_size_text(h->all.at_exec_bytes, size));
	if (h->all.n_unknown)
		page_line(p, "%s of unknown blocks: allocated before the recording or a fork%s",
			  cmd_count_text(h->all.n_unknown, "free", count),
			  h->run.lost_events ? ", or lost" : "");
	if (h->all.n_unseen_ends)
		page_line(p, "allocated again without a recorded free: %s",
			  cmd_count_text(h->all.n_unseen_ends, "block", count));
}

static int read_recording(void *analysis, const struct report *r, struct diag *d)
{
	const struct heap_options o = { r->trace, r->paths, r->n_paths, &r->range, r->n_slowest };

	return heap_init(analysis, &o, d);
}

static int check(const void *analysis, const struct report *r)
{
	const struct heap *h = analysis;

	(void)r;
	if (!h->n_heap_events)
		return report_lacks(&h->run, "use of the heap", "-e 'lttng_ust_libc:*' -- COMMAND");
	return 0;
}

static void print(struct page *p, void *analysis, const struct report *r)
{
	struct heap *h = analysis;

	print_totals(p, h);
	draw(p, h);
	print_processes(p, h, r);
	print_sites(p, h, r);
	print_classes(p, h);
	print_oldest(p, h);
	if (r->is_json)
		print_slices(p, h);
}

static void fini(void *analysis)
{
	heap_fini(analysis);
}

int report_heap(const struct report *r)
{
	static const struct report_kind kind = {
		sizeof(struct heap), offsetof(struct heap, run), read_recording, check, print, fini
	};

	return report_run(r, &kind);
}
