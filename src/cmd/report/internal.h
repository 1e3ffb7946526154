/* SPDX-License-Identifier: MIT */
/*
 * cmd/report/internal.h - the options of `duet report`, and the parts that its reports share.
 *
 * A report is its analysis, its tables and its lines. report.c opens the recording, runs the report
 * and closes it.
 */
#ifndef CMD_REPORT_INTERNAL_H
#define CMD_REPORT_INTERNAL_H

#include "cmd/report/table.h"

struct report {
	struct trace *trace;
	const char *const *paths; /* directories of the recordings */
	int n_paths;
	struct pass_range range; /* --from, --to */
	bool is_json;
	const char *by; /* NULL: not given */
	uint32_t n_slowest;
	uint64_t limit;	      /* most rows in a table */
	int64_t tid, pid;     /* why, functions: the thread or process; -1: not given */
	const char *function; /* functions: a pattern; NULL: all */
	const char *a, *b;    /* latency, --between: patterns */
};

/* A kind of report: an analysis, and the page that shows it. */
struct report_kind {
	size_t size; /* of the analysis */
	size_t pass; /* offset of its struct pass */
	/* Reads the recording.  Returns 0 or -errno, with the reason in @d. */
	int (*read)(void *analysis, const struct report *r, struct diag *d);
	/* Returns 0; or prints why there is nothing to show, and returns the exit status. */
	int (*check)(const void *analysis, const struct report *r);
	void (*print)(struct page *p, void *analysis, const struct report *r);
	void (*fini)(void *analysis);
};

/* report_run - read, check, print and free.  The page begins with the totals of the recording.
 * Returns the exit status. */
int report_run(const struct report *r, const struct report_kind *kind);

/* report_options - options to open a recording: warnings go to standard error, progress to the
 * terminal.  @verb: a literal. */
struct trace_options report_options(const char *verb);
/* report_open - open @n recordings and begin to show progress.  Returns 0; or prints why not and
 * returns the exit status. */
int report_open(const char *verb, const char *const *paths, int n, struct trace **t);

/* Each returns the exit status. */
int report_cpu(const struct report *r);
int report_functions(const struct report *r);
int report_heap(const struct report *r);
int report_io(const struct report *r);
int report_irq(const struct report *r);
int report_latency(const struct report *r);
int report_locks(const struct report *r);
int report_sched(const struct report *r);
int report_scripts(const struct report *r);
int report_syscalls(const struct report *r);
int report_why(const struct report *r);

/* The page of `report latency`, which `report locks --pair` shows too, with a table more: see
 * struct report_kind. */
struct latency;
int report_latency_check(const void *analysis, const struct report *r);
void report_latency_print(struct page *p, struct latency *l, const struct report *r,
			  void (*more)(struct page *p, struct latency *l, const struct report *r));
/* latency_key_text - the value that A and B have in common, with index @key in @l. */
const char *latency_key_text(const struct latency *l, uint32_t key, const struct report *r,
			     char buffer[48]);

/* report_unknown - no recorded event matches @pattern: print an error with the nearest name.
 * Returns the exit status. */
int report_unknown(const struct report *r, const char *pattern);

/* report_is_by - whether --by has this value. */
bool report_is_by(const struct report *r, const char *value);

/* The columns of one of the slowest times: duration, begin, thread. report_slow() adds their
 * cells. */
#define TABLE_SLOW(how_long, when)                                                                 \
	{ "duration_ns", how_long, CELL_NS }, { "time_ns", when, CELL_TIME },                      \
		{ "thread", "thread", CELL_TEXT },                                                 \
	{                                                                                          \
		"tid", NULL, CELL_COUNT                                                            \
	}
void report_slow(struct table *t, const struct pass *run, const struct slow *slow);

/* report_lacks - the recording has none of @events, which @options of `duet record` record: print
 * an error. Returns the exit status. */
int report_lacks(const struct pass *run, const char *events, const char *options);

#endif
