/* SPDX-License-Identifier: MIT */
/* cmd/report_latency.c - `duet report latency A B`. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/latency.h"
#include "cmd/cmd.h"
#include "cmd/report.h"

enum { BAR_CHARACTERS = 40 };

/* Eighths of a character where the terminal can show them. */
static const char *bar(uint64_t n, uint64_t most, char text[BAR_CHARACTERS * 3 + 1])
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	bool is_fine = terminal_is_utf8();
	uint64_t length = (uint64_t)((double)n / (double)most * BAR_CHARACTERS * 8 + 0.5);
	char *at = text;

	if (n && !length)
		length = 1;
	for (uint64_t i = 0; i < length / 8; i++)
		at = stpcpy(at, is_fine ? "█" : "#");
	if (is_fine)
		at = stpcpy(at, eighths[length % 8]);
	else if (!(length / 8) && length)
		at = stpcpy(at, ".");
	*at = 0;
	return text;
}

static void print_histogram(struct page *p, const struct latency *l)
{
	static const struct column columns[] = {
		{ "from_ns", "from", CELL_NS },
		{ "to_ns", "below", CELL_NS },
		{ "n", "times", CELL_COUNT },
		{ "bar", "", CELL_TEXT },
	};
	char text[BAR_CHARACTERS * 3 + 1];
	uint64_t counts[64], most = 1;
	int first = 0, last = 63;
	struct table t;

	samples_by_power(&l->time, counts);
	while (first < 63 && !counts[first])
		first++;
	while (last > first && !counts[last])
		last--;
	for (int i = first; i <= last; i++)
		most = counts[i] > most ? counts[i] : most;
	table_init(&t, columns, p->is_json ? 3 : 4);
	for (int i = first; i <= last && l->time.n; i++) {
		table_number(&t, i ? (int64_t)(1ull << i) : 0);
		table_number(&t, i < 62 ? (int64_t)(1ull << (i + 1)) : INT64_MAX);
		table_number(&t, (int64_t)counts[i]);
		if (!p->is_json)
			table_text(&t, bar(counts[i], most, text));
	}
	page_table(p, "histogram", NULL, &t, UINT64_MAX);
	table_fini(&t);
}

static const char *key_text(const struct latency *l, const struct slow *s, char buffer[48])
{
	const struct latency_key *k = &l->keys[s->what];

	if (k->is_text)
		return k->text;
	snprintf(buffer, 48, "%" PRId64, k->number);
	return buffer;
}

static void print_slowest(struct page *p, const struct latency *l, const struct report *r)
{
	const struct column columns[] = {
		{ "duration_ns", "duration", CELL_NS }, { "time_ns", "from", CELL_TIME },
		{ "end_ns", "to", CELL_TIME },		{ "thread", "thread", CELL_TEXT },
		{ "to_thread", r->by ? "to thread" : NULL, CELL_TEXT },
		{ "key", r->by, CELL_TEXT },
	};
	struct table t;
	char name[48];

	table_init(&t, columns, sizeof columns / sizeof *columns);
	for (uint32_t i = 0; i < l->slowest.n; i++) {
		const struct slow *s = &l->slowest.at[i];

		table_number(&t, (int64_t)s->duration_ns);
		table_number(&t, s->time_ns);
		table_number(&t, s->time_ns + (int64_t)s->duration_ns);
		table_text(&t, thread_text(l->run.threads, s->thread, name));
		table_text(&t, thread_text(l->run.threads, (uint32_t)s->detail, name));
		if (r->by)
			table_text(&t, key_text(l, s, name));
		else
			table_nothing(&t);
	}
	page_table(p, "slowest", "The slowest", &t, UINT64_MAX);
	table_fini(&t);
}

static void print_times(struct page *p, struct latency *l)
{
	static const struct column columns[] = { { "n", "times", CELL_COUNT }, TABLE_SAMPLES };
	struct table t;

	table_init(&t, columns, sizeof columns / sizeof *columns);
	table_number(&t, (int64_t)l->time.n);
	table_samples(&t, &l->time);
	page_table(p, "times", NULL, &t, UINT64_MAX);
	table_fini(&t);
}

static void tell_unpaired(struct page *p, const struct latency *l, const struct report *r)
{
	page_number(p, "n_a", (int64_t)l->n_a);
	page_number(p, "n_b", (int64_t)l->n_b);
	page_number(p, "n_abandoned", (int64_t)l->n_abandoned);
	page_number(p, "n_pending", (int64_t)l->n_pending);
	page_number(p, "n_without_a", (int64_t)l->n_without_a);
	page_number(p, "n_cut", (int64_t)l->n_cut);
	page_number(p, "n_no_field", (int64_t)l->n_no_field);
	if (l->n_abandoned)
		page_line(p, "%" PRIu64 " of %s were followed by another before a %s came", l->n_abandoned,
			  r->from, r->to);
	if (l->n_cut)
		page_line(p, "  %" PRIu64 " of them because events were lost meanwhile", l->n_cut);
	if (l->n_pending)
		page_line(p, "%" PRIu64 " of %s had no %s until the end", l->n_pending, r->from, r->to);
	if (l->n_without_a)
		page_line(p, "%" PRIu64 " of %s had no %s before", l->n_without_a, r->to, r->from);
	if (l->n_no_field)
		page_line(p, "%" PRIu64 " events have no field %s (or it is no number or text)",
			  l->n_no_field, r->by);
}

static int print_all(const struct report *r, struct latency *l)
{
	struct page p;

	if (!l->n_classes_a || !l->n_classes_b)
		return cmd_error("report", "nothing recorded is called %s; `duet stats --by event` lists what is",
				 l->n_classes_a ? r->to : r->from);
	if (r->by && !l->n_a && !l->n_b)
		return cmd_error("report", "--by %s: no event like %s or %s has this field", r->by, r->from,
				 r->to);
	if (page_open(&p, "report", r->is_json))
		return CMD_FAILED;
	page_recording(&p, &l->run);
	page_text(&p, "from", r->from);
	page_text(&p, "to", r->to);
	tell_unpaired(&p, l, r);
	print_times(&p, l);
	print_histogram(&p, l);
	print_slowest(&p, l, r);
	return page_close(&p);
}

int report_latency(const struct report *r)
{
	struct latency l;
	struct diag d = { "" };
	int status;

	if (latency_init(&l, r->trace, r->from, r->to, r->by, r->n_slowest, &d))
		return cmd_error("report", "%s", d.text);
	status = print_all(r, &l);
	latency_fini(&l);
	return status;
}
