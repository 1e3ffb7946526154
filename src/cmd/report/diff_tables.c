/* SPDX-License-Identifier: MIT */
/*
 * cmd/report/diff_tables.c - the output of `duet diff`.
 *
 * Only quantities that are compared have columns for people: totals or rates, not both, so that a line
 * does not show one that rose beside one that fell.  JSON has all.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/print/print.h"
#include "cmd/report/diff.h"
#include "cmd/report/table.h"

/* ---------------------------------------------------------------- cells */

static bool is_row_changed(const struct diff_row *row)
{
	return row->is_changed[DIFF_TIME] || row->is_changed[DIFF_AMOUNT];
}

/* The directions of the changes. */
static const char *verdict(const struct diff_row *row, char text[32])
{
	const struct diff_series *time = &row->tests[DIFF_TIME], *amount = &row->tests[DIFF_AMOUNT];
	const char *of_time = time->t > 0 ? "slower" : "faster",
		   *of_amount = amount->t > 0		? "more"
				: row->kind == DIFF_CPU ? "less"
							: "fewer";
	bool is_known = time->is_tested || amount->is_tested || amount->is_equal;

	if (!row->is_changed[DIFF_TIME])
		of_time = "";
	if (!row->is_changed[DIFF_AMOUNT])
		of_amount = "";
	snprintf(text, 32, "%s%s%s", of_time, *of_time && *of_amount ? ", " : "", of_amount);
	return is_known ? text : "cannot tell";
}

static void put_p(struct table *t, const struct diff_series *s)
{
	if (s->is_tested)
		table_real(t, s->p);
	else
		table_nothing(t);
}

static void put_shown_from(struct table *t, const struct diff_series *s)
{
	if (s->shown_from > 0)
		table_real(t, (exp(s->shown_from) - 1) * 100);
	else
		table_nothing(t);
}

static void end_row(struct table *t, const struct diff_row *row)
{
	char text[32];

	if (row->kind != DIFF_EVENT && row->kind != DIFF_CPU) {
		put_p(t, &row->tests[DIFF_TIME]);
		put_shown_from(t, &row->tests[DIFF_TIME]);
	}
	put_p(t, &row->tests[DIFF_AMOUNT]);
	put_shown_from(t, &row->tests[DIFF_AMOUNT]);
	table_text(t, verdict(row, text));
}

static void put_percent(struct table *t, double a, double b)
{
	if (a > 0)
		table_real(t, (b / a - 1) * 100);
	else
		table_nothing(t);
}

static void put_percentile(struct table *t, struct samples *s, double percent)
{
	table_number_or_nothing(t, s->n, (int64_t)samples_percentile(s, percent));
}

static void put_median(struct table *t, const struct diff_row *row, int side)
{
	table_number_or_nothing(t, row->time[side].n, (int64_t)row->side[side].median_ns);
}

static void put_amounts(struct table *t, const struct diff_row *row)
{
	const struct diff_side *a = &row->side[0], *b = &row->side[1];

	table_number(t, (int64_t)a->n);
	table_number(t, (int64_t)b->n);
	table_real(t, a->amount);
	table_real(t, b->amount);
}

static void add_times(struct table *t, const struct diff *d, struct diff_row *row)
{
	const struct diff_side *a = &row->side[0], *b = &row->side[1];
	bool is_there = row->time[0].n && row->time[1].n;

	(void)d;
	table_text(t, row->name);
	put_amounts(t, row);
	table_number(t, (int64_t)a->total_ns);
	table_number(t, (int64_t)b->total_ns);
	if (row->kind == DIFF_FUNCTION) {
		table_number(t, (int64_t)a->ns);
		table_number(t, (int64_t)b->ns);
	}
	put_median(t, row, 0);
	put_median(t, row, 1);
	if (row->kind != DIFF_FUNCTION) {
		put_percentile(t, &row->time[0], 99);
		put_percentile(t, &row->time[1], 99);
	}
	put_percent(t, a->amount, b->amount);
	put_percent(t, is_there ? a->median_ns : 0, b->median_ns);
	end_row(t, row);
}

static void add_rates(struct table *t, const struct diff *d, struct diff_row *row)
{
	(void)d;
	table_text(t, row->name);
	put_amounts(t, row);
	put_percent(t, row->side[0].amount, row->side[1].amount);
	end_row(t, row);
}

/* Of a second, as per cent of one CPU. */
static void put_share(struct table *t, const struct diff *d, const struct diff_side *s)
{
	if (d->o.amounts == DIFF_RATES)
		table_real(t, s->amount / 1e7);
	else
		table_nothing(t);
}

static void add_cpu(struct table *t, const struct diff *d, struct diff_row *row)
{
	table_text(t, row->name);
	table_number(t, (int64_t)row->side[0].ns);
	table_number(t, (int64_t)row->side[1].ns);
	put_share(t, d, &row->side[0]);
	put_share(t, d, &row->side[1]);
	put_percent(t, row->side[0].amount, row->side[1].amount);
	end_row(t, row);
}

/* ---------------------------------------------------------------- tables */

/* A title that begins with '/' is shown if amounts are per second, with '=' if they are totals; with '+' if
 * all rows are shown and permuted. */
#define AMOUNT_COLUMNS(title)                                                                      \
	{ "n_a", "=" title " A", CELL_COUNT }, { "n_b", "=B", CELL_COUNT },                        \
		{ "amount_a", "/per second A", CELL_REAL },                                        \
	{                                                                                          \
		"amount_b", "/B", CELL_REAL                                                        \
	}
#define TOTAL_COLUMNS                                                                              \
	{ "total_a_ns", "=total A", CELL_NS },                                                     \
	{                                                                                          \
		"total_b_ns", "=B", CELL_NS                                                        \
	}
#define MEDIAN_COLUMNS                                                                             \
	{ "p50_a_ns", "p50 A", CELL_NS },                                                          \
	{                                                                                          \
		"p50_b_ns", "B", CELL_NS                                                           \
	}
#define END_COLUMNS(amount)                                                                        \
	{ "amount_percent", amount, CELL_CHANGE }, { "p50_percent", "p50", CELL_CHANGE },          \
		{ "p_p50", NULL, CELL_REAL },                                                      \
		{ "p50_shown_from_percent", "+p50 shown from", CELL_CHANGE },                      \
		{ "p_amount", NULL, CELL_REAL }, { "amount_shown_from_percent", NULL, CELL_REAL }, \
	{                                                                                          \
		"verdict", "", CELL_TEXT                                                           \
	}
#define TIME_COLUMNS                                                                               \
	AMOUNT_COLUMNS("times"), TOTAL_COLUMNS, MEDIAN_COLUMNS, { "p99_a_ns", "p99 A", CELL_NS },  \
		{ "p99_b_ns", "B", CELL_NS }, END_COLUMNS("times")
#define CHANGE_COLUMNS                                                                             \
	{ "change_percent", "change", CELL_CHANGE }, { "p_amount", NULL, CELL_REAL },              \
		{ "amount_shown_from_percent", "+shown from", CELL_CHANGE },                       \
	{                                                                                          \
		"verdict", "", CELL_TEXT                                                           \
	}

static const struct column call_columns[] = { { "call", "system call", CELL_TEXT }, TIME_COLUMNS };
static const struct column pair_columns[] = { { "from", "from", CELL_TEXT }, TIME_COLUMNS };
static const struct column function_columns[] = {
	{ "function", "function", CELL_TEXT },
	AMOUNT_COLUMNS("calls"),
	TOTAL_COLUMNS,
	{ "self_a_ns", "=self A", CELL_NS },
	{ "self_b_ns", "=B", CELL_NS },
	MEDIAN_COLUMNS,
	END_COLUMNS("calls"),
};
static const struct column cpu_columns[] = {
	{ "program", "program", CELL_TEXT }, { "a_ns", "=CPU time A", CELL_NS },
	{ "b_ns", "=B", CELL_NS },	     { "a_percent", "/of one CPU A", CELL_PERCENT },
	{ "b_percent", "/B", CELL_PERCENT }, CHANGE_COLUMNS,
};
static const struct column event_columns[] = {
	{ "event", "event", CELL_TEXT },
	AMOUNT_COLUMNS("events"),
	CHANGE_COLUMNS,
};

enum { COLUMNS_MAX = 24 };

#define COLUMNS(c) c, sizeof c / sizeof *c
static const struct {
	const char *key, *heading;
	const struct column *columns;
	int n_columns;
	void (*add)(struct table *t, const struct diff *d, struct diff_row *row);
} tables[DIFF_KINDS] = {
	[DIFF_PAIR] = { "pairs", "Time from event to event", COLUMNS(pair_columns), add_times },
	[DIFF_CALL] = { "syscalls", "System calls", COLUMNS(call_columns), add_times },
	[DIFF_FUNCTION] = { "functions", "Functions", COLUMNS(function_columns), add_times },
	[DIFF_CPU] = { "programs", "CPU time of programs", COLUMNS(cpu_columns), add_cpu },
	[DIFF_EVENT] = { "events", "Events", COLUMNS(event_columns), add_rates },
};

/* The columns of @kind, with the titles of totals or of rates. */
static void choose_columns(const struct diff *d, enum diff_kind kind, bool shows_all,
			   struct column columns[COLUMNS_MAX])
{
	bool is_rates = d->o.amounts == DIFF_RATES,
	     is_told = shows_all && d->method == DIFF_PERMUTATIONS;
	const char hidden[] = { is_rates ? '=' : '/', is_told ? 0 : '+', 0 };

	assert(tables[kind].n_columns <= COLUMNS_MAX);
	for (int i = 0; i < tables[kind].n_columns; i++) {
		struct column *c = &columns[i];

		*c = tables[kind].columns[i];
		if (c->title && *c->title && strchr(hidden, *c->title))
			c->title = NULL;
		else if (c->title && *c->title && strchr("/=+", *c->title))
			c->title++;
	}
}

static void print_kind(struct page *p, struct diff *d, enum diff_kind kind,
		       const struct diff_view *v)
{
	struct column columns[COLUMNS_MAX];
	struct table t = { .columns = columns, .n_columns = tables[kind].n_columns };
	uint32_t n_same = 0;
	bool is_empty;

	choose_columns(d, kind, v->shows_all, columns);
	for (uint32_t i = 0; i < d->n_rows; i++) {
		struct diff_row *row = &d->rows[i];

		if (row->kind != kind || row->is_of_call)
			continue;
		if (is_row_changed(row) || v->shows_all || v->is_json || kind == DIFF_PAIR)
			tables[kind].add(&t, d, row);
		else
			n_same++;
	}
	is_empty = !t.n_cells;
	page_table(p, tables[kind].key, tables[kind].heading, &t, v->limit);
	if (n_same)
		page_line(p, "%s%s%u without a change beyond that of two runs (--all shows them)",
			  is_empty ? tables[kind].heading : "  and ", is_empty ? ": " : "", n_same);
}

/* ---------------------------------------------------------------- the head */

static void print_recording(struct page *p, const struct diff *d, uint32_t i, const char *path)
{
	const struct diff_recording *h = &d->recordings[i];
	char duration[32], moment[40], count[64], places[64], number[16] = "";
	bool is_b = i >= d->o.sides.n_a;

	if (d->o.sides.n_a + d->o.sides.n_b > 2)
		snprintf(number, sizeof number, "%u", i + 1 - (is_b ? d->o.sides.n_a : 0));
	page_line(p, "%c%s: %s in %s from %s, %s", is_b ? 'B' : 'A', number,
		  cmd_count_text(h->n_events, "event", count),
		  duration_text((uint64_t)(h->last_ns - h->first_ns), duration),
		  moment_text(h->first_ns, moment), path);
	if (h->lost_events || h->lost_packets || h->n_damages)
		page_line(p, "   its counts are low: %s and %" PRIu64 " packets lost, %s damaged",
			  cmd_count_text(h->lost_events, "event", count), h->lost_packets,
			  cmd_count_text(h->n_damages, "place", places));
}

static void print_side(struct page *p, const struct diff *d, bool is_b)
{
	uint32_t first = is_b ? d->o.sides.n_a : 0, n = is_b ? d->o.sides.n_b : d->o.sides.n_a;
	uint64_t n_events = 0, n_lost = 0, n_damages = 0;
	char key[32];

	for (uint32_t i = first; i < first + n; i++) {
		n_events += d->recordings[i].n_events;
		n_lost += d->recordings[i].lost_events + d->recordings[i].lost_packets;
		n_damages += d->recordings[i].n_damages;
	}
#define PUT(name, value)                                                                           \
	snprintf(key, sizeof key, name "_%c", is_b ? 'b' : 'a');                                   \
	page_number(p, key, (int64_t)(value))
	PUT("n_recordings", n);
	PUT("n_events", n_events);
	PUT("lost", n_lost);
	PUT("damages", n_damages);
#undef PUT
}

static void print_method(struct page *p, const struct diff *d)
{
	static const char *const names[] = { [DIFF_PERMUTATIONS] = "permutations",
					     [DIFF_SEPARATION] = "separation",
					     [DIFF_ONE_A_SIDE] = "one a side" };
	bool is_all, is_rates = d->o.amounts == DIFF_RATES;
	uint64_t n = diff_permutations(d->o.sides, &is_all);

	page_text(p, "method", names[d->method]);
	page_text(p, "amounts", is_rates ? "per second" : "totals");
	page_line(p, "numbers and CPU time are compared %s",
		  is_rates ? "per second of each recording"
			   : "as totals of each recording: each is of a whole command");
	if (d->method == DIFF_PERMUTATIONS) {
		page_number(p, "n_permutations", (int64_t)n);
		page_line(p,
			  "%u and %u recordings, tested by %s%" PRIu64
			  " permutations of them (maxT)",
			  d->o.sides.n_a, d->o.sides.n_b, is_all ? "all " : "", n);
	} else if (d->method == DIFF_SEPARATION) {
		page_line(p,
			  "%u and %u recordings, tested by Student's t (Holm) and complete "
			  "separation",
			  d->o.sides.n_a, d->o.sides.n_b);
		page_line(p, "from 4 and 4 on they are tested by permutations, which find more");
	} else {
		page_line(p, "one recording a side: this cannot tell a change from the difference "
			     "between two runs;");
		page_line(p, "record several: duet record --repeat 5.  Shown is a row that changed "
			     "more than the rest did");
	}
}

/* The order of recordings: the load of the machine may have changed with the sides. */
static void print_order(struct page *p, const struct diff *d)
{
	static const char *const names[] = {
		[DIFF_IN_TURN] = "in turn", [DIFF_A_FIRST] = "a first", [DIFF_B_FIRST] = "b first"
	};
	enum diff_order order = diff_order_of(d);

	page_text(p, "order", names[order]);
	if (order == DIFF_IN_TURN || d->method == DIFF_ONE_A_SIDE)
		return;
	page_line(p,
		  "%c was recorded after %c, and the load of the machine may have changed: only "
		  "clearer changes are shown;",
		  order == DIFF_A_FIRST ? 'B' : 'A', order == DIFF_A_FIRST ? 'A' : 'B');
	page_line(p,
		  "duet diff --repeat %u COMMAND-A -- COMMAND-B records in turn, which shows more",
		  d->o.sides.n_a);
}

int diff_print(struct diff *d, const struct diff_view *v)
{
	struct page p;

	if (page_open(&p, "diff", v->is_json))
		return CMD_FAILED;
	for (uint32_t i = 0; i < d->n_recordings; i++)
		print_recording(&p, d, i, v->paths[i]);
	print_side(&p, d, false);
	print_side(&p, d, true);
	print_method(&p, d);
	print_order(&p, d);
	page_number(&p, "n_tested", d->n_tested);
	page_number(&p, "n_changed", d->n_changed);
	page_line(&p, "%u of %u compared rows changed%s", d->n_changed, d->n_tested,
		  d->method == DIFF_ONE_A_SIDE ? " more than the rest"
					       : " (p < 0.03 over all of them together)");
	if (!d->n_tested)
		page_line(&p, "no row can be compared: too few rows, blocks of time or recordings "
			      "have numbers, or all are equal");
	print_kind(&p, d, DIFF_PAIR, v);
	print_kind(&p, d, DIFF_FUNCTION, v);
	print_kind(&p, d, DIFF_CALL, v);
	print_kind(&p, d, DIFF_CPU, v);
	print_kind(&p, d, DIFF_EVENT, v);
	return page_close(&p);
}
