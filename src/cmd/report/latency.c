/* SPDX-License-Identifier: MIT */
/*
 * cmd/report/latency.c - `duet report latency A B`; `report locks --pair` prints the same page with
 * a table more.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analysis/report/public.h"
#include "cmd/cmd.h"
#include "cmd/nearest.h"
#include "cmd/report/internal.h"

const char *latency_key_text(const struct latency *l, uint32_t key, const struct report *r,
			     char buffer[48])
{
	const struct latency_key *k = &l->keys[key];

	if (k->is_text)
		return k->text;
	snprintf(buffer, 48, l->is_hex && !r->is_json ? "0x%" PRIx64 : "%" PRId64, k->number);
	return buffer;
}

static void print_slowest(struct page *p, const struct latency *l, const struct report *r)
{
	const struct column columns[] = {
		TABLE_SLOW("duration", "from"),
		{ "end_ns", "to", CELL_TIME },
		{ "to_thread", r->by ? "to thread" : NULL, CELL_TEXT },
		{ "key", r->by, CELL_TEXT },
	};
	struct table t = TABLE(columns);
	char name[48];

	for (uint32_t i = 0; i < l->slowest.n; i++) {
		const struct slow *s = &l->slowest.at[i];

		report_slow(&t, &l->run, s);
		table_number(&t, s->time_ns + (int64_t)s->duration_ns);
		table_text(&t, thread_text(l->run.threads, (uint32_t)s->detail, name));
		if (r->by)
			table_text(&t, latency_key_text(l, s->subject, r, name));
		else
			table_nothing(&t);
	}
	page_table(p, "slowest", "The slowest", &t, UINT64_MAX);
}

static void print_times(struct page *p, struct latency *l)
{
	static const struct column columns[] = { { "n", "times", CELL_COUNT }, TABLE_SAMPLES };
	struct table t = TABLE(columns);

	table_number(&t, (int64_t)l->time.n);
	table_samples(&t, &l->time);
	page_table(p, "times", NULL, &t, UINT64_MAX);
}

static void print_unpaired(struct page *p, const struct latency *l, const struct report *r)
{
	char count[64];

	page_number(p, "n_a", (int64_t)l->n_a);
	page_number(p, "n_b", (int64_t)l->n_b);
	page_number(p, "n_abandoned", (int64_t)l->n_abandoned);
	page_number(p, "n_pending", (int64_t)l->n_pending);
	page_number(p, "n_without_a", (int64_t)l->n_without_a);
	page_number(p, "n_cut", (int64_t)l->n_cut);
	page_number(p, "n_no_field", (int64_t)l->n_no_field);
	if (l->n_abandoned)
		page_line(p, "%" PRIu64 " of %s followed by another before a %s came",
			  l->n_abandoned, r->a, r->b);
	if (l->n_cut)
		page_line(p, "  %" PRIu64 " of them because events were lost", l->n_cut);
	if (l->n_pending)
		page_line(p, "%" PRIu64 " of %s without a %s until the end", l->n_pending, r->a,
			  r->b);
	if (l->n_without_a)
		page_line(p, "%" PRIu64 " of %s without a %s before", l->n_without_a, r->b, r->a);
	if (l->n_no_field)
		page_line(p, "%s without a field %s that is a number or text",
			  cmd_count_text(l->n_no_field, "event", count), r->by);
}

int report_latency_check(const void *analysis, const struct report *r)
{
	const struct latency *l = analysis;
	struct nearest near = { .wanted = r->by };
	char text[NEAREST_MAX + 32];

	if (!l->n_classes_a || !l->n_classes_b)
		return report_unknown(r, l->n_classes_a ? r->b : r->a);
	if (!r->by || l->n_a || l->n_b)
		return 0;
	nearest_try_fields(&near, r->trace, r->a);
	nearest_try_fields(&near, r->trace, r->b);
	return cmd_error("report", "--by %s: no event like %s or %s has this field%s", r->by, r->a,
			 r->b, nearest_text(&near, text));
}

void report_latency_print(struct page *p, struct latency *l, const struct report *r,
			  void (*more)(struct page *p, struct latency *l, const struct report *r))
{
	page_text(p, "from", r->a);
	page_text(p, "to", r->b);
	print_unpaired(p, l, r);
	print_times(p, l);
	page_histogram(p, "histogram", NULL, &l->time, CELL_NS);
	if (more)
		more(p, l, r);
	print_slowest(p, l, r);
}

static int read_recording(void *analysis, const struct report *r, struct diag *d)
{
	return latency_init(analysis, r->trace, &r->range, r->a, r->b, r->by, r->n_slowest, false,
			    d);
}

static void print(struct page *p, void *analysis, const struct report *r)
{
	report_latency_print(p, analysis, r, NULL);
}

static void fini(void *analysis)
{
	latency_fini(analysis);
}

int report_latency(const struct report *r)
{
	static const struct report_kind kind = { sizeof(struct latency),
						 offsetof(struct latency, run),
						 read_recording,
						 report_latency_check,
						 print,
						 fini };

	return report_run(r, &kind);
}
