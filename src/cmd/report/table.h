/* SPDX-License-Identifier: MIT */
/*
 * cmd/report/table.h - tables and pages of reports and statistics, for people or as JSON.
 *
 * One description serves both. For people, columns are aligned, and durations and sizes have units.
 * In JSON a table is an array of objects, times and durations are nanoseconds, and nothing is
 * rounded. Control characters in a recording never reach a terminal.
 */
#ifndef CMD_REPORT_TABLE_H
#define CMD_REPORT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/public.h"
#include "trace/text/public.h"

enum cell_kind {
	CELL_TEXT,
	CELL_LINE, /* a text; for people the column is left out if all its cells are empty */
	CELL_COUNT,
	CELL_NS,   /* a duration */
	CELL_TIME, /* ns since 1970: time of day for people */
	CELL_BYTES,
	CELL_REAL,
	CELL_PERCENT,
	CELL_CHANGE, /* per cent, with its sign */
};

struct column {
	const char *key;   /* key in JSON */
	const char *title; /* NULL: only in JSON */
	enum cell_kind kind;
};

struct cell {
	bool is_there;
	char *text;
	int64_t n;
	double real;
};

struct table {
	const struct column *columns;
	int n_columns;
	struct cell *cells; /* row after row */
	uint32_t n_cells, capacity;
};

/* An empty table with the columns of array @c. */
#define TABLE(c)                                                                                   \
	{                                                                                          \
		.columns = (c), .n_columns = sizeof(c) / sizeof *(c)                               \
	}

/* Append the next cell of the row, or the first of the next row. If there is no memory the program
 * exits. */
void table_text(struct table *t, const char *text);
void table_number(struct table *t, int64_t n); /* counts, durations, times, bytes */
void table_real(struct table *t, double v);    /* reals, percents, changes */
void table_nothing(struct table *t);
void table_number_or_nothing(struct table *t, bool is_there, int64_t n);

/* table_empty - free the cells of a table that is not printed. */
void table_empty(struct table *t);

/* The output of a verb. */
struct page {
	struct out out;
	const char *verb;
	bool is_json, has_member;
};

int page_open(struct page *p, const char *verb, bool is_json);
/* Returns the exit status: 0, or CMD_FAILED if the output could not be written. */
int page_close(struct page *p);

/* page_table - print @t and empty it. For people: @heading, then at most @limit rows, then the
 * number of the others. In JSON: all rows under @key. */
void page_table(struct page *p, const char *key, const char *heading, struct table *t,
		uint64_t limit);
void page_line(struct page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void page_number(struct page *p, const char *key, int64_t n);	   /* JSON only */
void page_text(struct page *p, const char *key, const char *text); /* JSON only */

/* page_recording - the time span, the number of events and the losses of the recording, for people
 * and in JSON. */
void page_recording(struct page *p, const struct pass *r);

/* "name:pid"; an unknown name is "?". */
const char *thread_text(const struct threads *t, uint32_t number, char buffer[48]);
const char *process_text(const struct threads *t, uint32_t number, char buffer[48]);

const char *duration_text(uint64_t ns, char buffer[32]);   /* "1.25 ms" */
const char *moment_text(int64_t time_ns, char buffer[40]); /* in the form of `duet view` */

bool terminal_is_utf8(void);

/* The columns of a distribution except its count. table_samples() adds their cells. */
#define TABLE_SAMPLES                                                                              \
	{ "total_ns", "total", CELL_NS }, { "mean_ns", "mean", CELL_NS },                          \
		{ "min_ns", NULL, CELL_NS }, { "p50_ns", "p50", CELL_NS },                         \
		{ "p90_ns", "p90", CELL_NS }, { "p99_ns", "p99", CELL_NS },                        \
	{                                                                                          \
		"max_ns", "max", CELL_NS                                                           \
	}
void table_samples(struct table *t, struct samples *s);

/* page_histogram - a distribution of @kind, CELL_NS or CELL_BYTES, with a row for each power of
 * two. */
void page_histogram(struct page *p, const char *key, const char *heading, const struct samples *s,
		    enum cell_kind kind);

#endif
