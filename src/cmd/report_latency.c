/* SPDX-License-Identifier: MIT */
/* cmd/report_latency.c - `duet report latency A B`. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/latency.h"
#include "cmd/cmd.h"
#include "cmd/report.h"

const char *latency_key_text(const struct latency_key *k, char buffer[48])
{
	if (k->is_text)
		return k->text;
	snprintf(buffer, 48, "%" PRId64, k->number);
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
	struct table t;
	char name[48];

	table_init(&t, columns, sizeof columns / sizeof *columns);
	for (uint32_t i = 0; i < l->slowest.n; i++) {
		const struct slow *s = &l->slowest.at[i];

		report_slow(&t, &l->run, s);
		table_number(&t, s->time_ns + (int64_t)s->duration_ns);
		table_text(&t, thread_text(l->run.threads, (uint32_t)s->detail, name));
		if (r->by)
			table_text(&t, latency_key_text(&l->keys[s->what], name));
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
			  r->a, r->b);
	if (l->n_cut)
		page_line(p, "  %" PRIu64 " of them because events were lost meanwhile", l->n_cut);
	if (l->n_pending)
		page_line(p, "%" PRIu64 " of %s had no %s until the end", l->n_pending, r->a, r->b);
	if (l->n_without_a)
		page_line(p, "%" PRIu64 " of %s had no %s before", l->n_without_a, r->b, r->a);
	if (l->n_no_field)
		page_line(p, "%" PRIu64 " events have no field %s (or it is no number or text)",
			  l->n_no_field, r->by);
}

int report_latencies(const struct report *r, struct latency *l,
		     void (*more)(struct page *p, struct latency *l, const struct report *r))
{
	struct page p;

	if (!l->n_classes_a || !l->n_classes_b)
		return cmd_error("report", "nothing recorded is called %s; `duet stats --by event` lists what is",
				 l->n_classes_a ? r->b : r->a);
	if (r->by && !l->n_a && !l->n_b)
		return cmd_error("report", "--by %s: no event like %s or %s has this field", r->by, r->a,
				 r->b);
	if (page_open(&p, "report", r->is_json))
		return CMD_FAILED;
	page_recording(&p, &l->run);
	page_text(&p, "from", r->a);
	page_text(&p, "to", r->b);
	tell_unpaired(&p, l, r);
	print_times(&p, l);
	page_histogram(&p, "histogram", NULL, &l->time, CELL_NS);
	if (more)
		more(&p, l, r);
	print_slowest(&p, l, r);
	return page_close(&p);
}

int report_latency(const struct report *r)
{
	struct latency l;
	struct diag d = { "" };
	int status;

	if (latency_init(&l, r->trace, &r->range, r->a, r->b, r->by, r->n_slowest, false, &d))
		return cmd_error("report", "%s", d.text);
	status = report_latencies(r, &l, NULL);
	latency_fini(&l);
	return status;
}
