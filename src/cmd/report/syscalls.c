/* SPDX-License-Identifier: MIT */
/* cmd/report/syscalls.c - `duet report syscalls`: a table of calls, and the slowest. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analysis/pairing/public.h"
#include "analysis/syscalls/public.h"
#include "analysis/report/public.h"
#include "cmd/cmd.h"
#include "cmd/report/internal.h"

static const char *errno_name(int number, char buffer[32])
{
	const char *name = call_errno(number);

	if (name)
		return name;
	snprintf(buffer, 32, "errno %d", number);
	return buffer;
}

static const char *errors_text(const struct syscall_row *row, char *text, size_t size)
{
	char buffer[32];
	size_t n = 0;

	*text = 0;
	for (uint32_t i = 0; i < row->n_errnos && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, "%s%s %" PRIu64, i ? ", " : "",
				      errno_name(row->errnos[i].number, buffer), row->errnos[i].n);
	return text;
}

static void print_rows(struct page *p, const struct syscalls *s, const struct report *r)
{
	bool by_process = report_is_by(r, "process");
	struct column columns[] = {
		{ "process", by_process ? "process" : NULL, CELL_TEXT },
		{ "pid", NULL, CELL_COUNT },
		{ "call", "call", CELL_TEXT },
		{ "n", "calls", CELL_COUNT },
		{ "n_errors", "errors", CELL_COUNT },
		TABLE_SAMPLES,
		{ "n_open", s->n_open ? "open" : NULL, CELL_COUNT },
		{ "n_headless", s->n_headless ? "headless" : NULL, CELL_COUNT },
		{ "errors", "which errors", CELL_TEXT },
	};
	char errors[512], name[48];
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < s->n_rows; i++) {
		struct syscall_row *row = &s->rows[i];

		if (by_process) {
			table_text(&t, process_text(s->run.threads, row->thread, name));
			table_number(&t, threads_at(s->run.threads, row->thread)->tid);
		} else {
			table_nothing(&t);
			table_nothing(&t);
		}
		table_text(&t, s->names[row->call]);
		table_number(&t, (int64_t)(row->time.n + row->n_open + row->n_headless));
		table_number(&t, (int64_t)row->n_errors);
		table_samples(&t, &row->time);
		table_number(&t, (int64_t)row->n_open);
		table_number(&t, (int64_t)row->n_headless);
		table_text(&t, errors_text(row, errors, sizeof errors));
	}
	page_table(p, "syscalls", NULL, &t, r->limit);
}

static void print_slowest(struct page *p, const struct syscalls *s)
{
	static const struct column columns[] = {
		TABLE_SLOW("duration", "began"),
		{ "call", "call", CELL_TEXT },
		{ "result", "result", CELL_COUNT },
	};
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < s->slowest.n; i++) {
		const struct slow *slow = &s->slowest.at[i];

		report_slow(&t, &s->run, slow);
		table_text(&t, s->names[slow->subject]);
		table_number(&t, slow->detail);
	}
	page_table(p, "slowest", "The slowest", &t, UINT64_MAX);
}

/* Explains the columns "open" and "headless", if they are shown. */
static void print_unpaired(struct page *p, const struct syscalls *s)
{
	if (!s->n_exits)
		page_line(p,
			  "no exits of calls were recorded, so there are no durations: record with "
			  "-k syscalls");
	else if (!s->n_entries)
		page_line(p, "no entries of calls were recorded, so there are no durations: record "
			     "with -k syscalls");
	if (s->n_open || s->n_headless)
		page_line(p, "%s", "");
	if (s->n_open)
		page_line(p,
			  "open: %" PRIu64
			  " calls without an exit: the call does not return, the thread exited, "
			  "or the recording ended",
			  s->n_open);
	if (s->n_cut)
		page_line(p, "  %" PRIu64 " of them because events were lost", s->n_cut);
	if (s->n_headless)
		page_line(p,
			  "headless: %" PRIu64
			  " calls without an entry: in progress when the recording began%s",
			  s->n_headless, s->run.lost_events ? ", or lost" : "");
}

static int read_recording(void *analysis, const struct report *r, struct diag *d)
{
	return syscalls_init(analysis, r->trace, &r->range, report_is_by(r, "process"),
			     r->n_slowest, d);
}

static int check(const void *analysis, const struct report *r)
{
	const struct syscalls *s = analysis;

	(void)r;
	if (!s->n_entries && !s->n_exits)
		return report_lacks(&s->run, "system calls", "-k syscalls");
	return 0;
}

static void print(struct page *p, void *analysis, const struct report *r)
{
	struct syscalls *s = analysis;

	print_rows(p, s, r);
	print_unpaired(p, s);
	print_slowest(p, s);
}

static void fini(void *analysis)
{
	syscalls_fini(analysis);
}

int report_syscalls(const struct report *r)
{
	static const struct report_kind kind = { sizeof(struct syscalls),
						 offsetof(struct syscalls, run),
						 read_recording,
						 check,
						 print,
						 fini };

	return report_run(r, &kind);
}
