/* SPDX-License-Identifier: MIT */
/* cmd/report/irq.c - `duet report irq`: tables of interrupts, interrupted threads, and the
 * longest. */
#include <inttypes.h>
#include <stddef.h>

#include "analysis/report/public.h"
#include "cmd/cmd.h"
#include "cmd/report/internal.h"

static const char *const kinds[] = {
	[IRQ_HARD] = "irq", [IRQ_SOFT] = "softirq", [IRQ_VECTOR] = "vector"
};

static void print_rows(struct page *p, const struct irq *q, const struct report *r)
{
	bool by_cpu = report_is_by(r, "cpu");
	const struct column columns[] = {
		{ "kind", "kind", CELL_TEXT },
		{ "name", "name", CELL_TEXT },
		{ "number", "number", CELL_COUNT },
		{ "cpu", by_cpu ? "CPU" : NULL, CELL_COUNT },
		{ "n", "times", CELL_COUNT },
		{ "own_ns", "own time", CELL_NS },
		TABLE_SAMPLES,
		{ "wait_p50_ns", q->irqs.has_soft ? "raised p50" : NULL, CELL_NS },
		{ "wait_max_ns", q->irqs.has_soft ? "raised max" : NULL, CELL_NS },
	};
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < q->n_rows; i++) {
		struct irq_row *row = &q->rows[i];
		const struct irq_source *s = &q->irqs.sources[row->source];

		table_text(&t, kinds[s->kind]);
		table_text(&t, s->name);
		table_number_or_nothing(&t, s->kind != IRQ_VECTOR, s->number);
		table_number_or_nothing(&t, by_cpu && row->cpu != TRACE_CPU_UNKNOWN, row->cpu);
		table_number(&t, (int64_t)row->time.n);
		table_number(&t, (int64_t)row->own_ns);
		table_samples(&t, &row->time);
		table_number_or_nothing(&t, row->waits.n,
					(int64_t)samples_percentile(&row->waits, 50));
		table_number_or_nothing(&t, row->waits.n, (int64_t)row->waits.max);
	}
	page_table(p, "interrupts",
		   "By name (own time: without nested interrupts; raised: from raise to entry)", &t,
		   r->limit);
}

static void print_victims(struct page *p, const struct irq *q, const struct report *r)
{
	static const struct column columns[] = {
		{ "thread", "thread", CELL_TEXT }, { "tid", NULL, CELL_COUNT },
		{ "n", "times", CELL_COUNT },	   { "own_ns", "time", CELL_NS },
		{ "max_ns", "longest", CELL_NS },
	};
	struct table t = TABLE(columns);
	char name[48];

	for (uint32_t i = 0; i < q->n_victims; i++) {
		const struct irq_victim *v = &q->victims[i];

		table_text(&t,
			   v->is_idle ? "(idle)" : thread_text(q->run.threads, v->thread, name));
		table_number(&t, v->is_idle ? 0 : threads_at(q->run.threads, v->thread)->tid);
		table_number(&t, (int64_t)v->n);
		table_number(&t, (int64_t)v->own_ns);
		table_number(&t, (int64_t)v->max_ns);
	}
	page_table(p, "interrupted", "Interrupted threads", &t, r->limit);
}

static void print_slowest(struct page *p, const struct irq *q)
{
	static const struct column columns[] = {
		TABLE_SLOW("duration", "began"),
		{ "cpu", "CPU", CELL_COUNT },
		{ "kind", "kind", CELL_TEXT },
		{ "name", "name", CELL_TEXT },
	};
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < q->slowest.n; i++) {
		const struct slow *s = &q->slowest.at[i];

		report_slow(&t, &q->run, s);
		table_number_or_nothing(&t, s->detail != TRACE_CPU_UNKNOWN, s->detail);
		table_text(&t, kinds[q->irqs.sources[s->subject].kind]);
		table_text(&t, q->irqs.sources[s->subject].name);
	}
	page_table(p, "slowest", "The longest", &t, UINT64_MAX);
}

static int read_recording(void *analysis, const struct report *r, struct diag *d)
{
	return irq_init(analysis, r->trace, &r->range, report_is_by(r, "cpu"), r->n_slowest, d);
}

static int check(const void *analysis, const struct report *r)
{
	const struct irq *q = analysis;

	(void)r;
	if (!q->irqs.has_hard && !q->irqs.has_soft && !q->irqs.has_vectors)
		return report_lacks(&q->run, "interrupts", "-k irq");
	return 0;
}

static void print(struct page *p, void *analysis, const struct report *r)
{
	struct irq *q = analysis;
	uint64_t duration_ns =
		(uint64_t)(q->run.last_ns - q->run.first_ns) * (q->run.n_cpus ? q->run.n_cpus : 1);
	char text[32], count[64], cpus[64];

	page_number(p, "n", (int64_t)q->n);
	page_number(p, "own_ns", (int64_t)q->own_ns);
	page_number(p, "n_left", (int64_t)q->irqs.n_left);
	page_number(p, "n_headless", (int64_t)q->irqs.n_headless);
	page_line(p, "%s took %s, %.2f %% of the time of %s",
		  cmd_count_text(q->n, "interrupt", count), duration_text(q->own_ns, text),
		  duration_ns ? 100.0 * (double)q->own_ns / (double)duration_ns : 0,
		  cmd_count_text(q->run.n_cpus, "CPU", cpus));
	if (q->irqs.n_left || q->irqs.n_headless)
		page_line(p,
			  "left out: %" PRIu64 " without a recorded end, %" PRIu64
			  " without a recorded begin",
			  q->irqs.n_left, q->irqs.n_headless);
	print_rows(p, q, r);
	print_victims(p, q, r);
	print_slowest(p, q);
}

static void fini(void *analysis)
{
	irq_fini(analysis);
}

int report_irq(const struct report *r)
{
	static const struct report_kind kind = {
		sizeof(struct irq), offsetof(struct irq, run), read_recording, check, print, fini
	};

	return report_run(r, &kind);
}
