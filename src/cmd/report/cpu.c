/* SPDX-License-Identifier: MIT */
/* cmd/report/cpu.c - `duet report cpu`: tables of CPUs and of threads or processes. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "analysis/report/public.h"
#include "cmd/cmd.h"
#include "cmd/report/internal.h"

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static bool has_unknown(const struct cpu *c)
{
	for (uint32_t i = 0; i < c->n_cpus; i++)
		if (c->cpus[i].unknown_ns)
			return true;
	return false;
}

/* If other threads are not followed, their time looks like idle time: for people both are one
 * column. */
static void print_cpus(struct page *p, const struct cpu *c)
{
	bool has_irqs = c->n_irqs;
	const struct column columns[] = {
		{ "cpu", "CPU", CELL_COUNT },
		{ "package", NULL, CELL_COUNT },
		{ "core", NULL, CELL_COUNT },
		{ "busy_ns", "busy", CELL_NS },
		{ "busy_percent", c->is_partial ? "recorded" : "of the time", CELL_PERCENT },
		{ "idle_ns", c->is_partial ? NULL : "idle", CELL_NS },
		{ "others_ns", NULL, CELL_NS },
		{ "not_ours_ns", c->is_partial ? "idle or others" : NULL, CELL_NS },
		{ "unknown_ns", has_unknown(c) ? "unknown" : NULL, CELL_NS },
		{ "unseen_ns", NULL, CELL_NS },
		{ "irq_ns", has_irqs ? "interrupts" : NULL, CELL_NS },
		{ "n_irqs", has_irqs ? "count" : NULL, CELL_COUNT },
		{ "softirq_ns", has_irqs ? "soft" : NULL, CELL_NS },
		{ "n_softirqs", has_irqs ? "count" : NULL, CELL_COUNT },
		{ "n_switches", "switches", CELL_COUNT },
	};
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < c->n_cpus; i++) {
		const struct cpu_one *one = &c->cpus[i];
		const struct devices_cpu *at = devices_cpu(&c->machine, one->cpu);

		table_number(&t, one->cpu);
		table_number(&t, at ? (int64_t)at->package : -1);
		table_number(&t, at ? (int64_t)at->core : -1);
		table_number(&t, (int64_t)one->busy_ns);
		table_real(&t, percent(one->busy_ns, c->duration_ns));
		table_number(&t, (int64_t)one->idle_ns);
		table_number(&t, (int64_t)one->others_ns);
		table_number(&t, (int64_t)(one->idle_ns + one->others_ns));
		table_number(&t, (int64_t)one->unknown_ns);
		table_number(&t, (int64_t)one->unseen_ns);
		table_number(&t, (int64_t)one->irq_ns);
		table_number(&t, (int64_t)one->n_irqs);
		table_number(&t, (int64_t)one->softirq_ns);
		table_number(&t, (int64_t)one->n_softirqs);
		table_number(&t, (int64_t)one->n_switches);
	}
	page_table(p, "cpus", NULL, &t, UINT64_MAX);
}

static void print_rows(struct page *p, const struct cpu *c, const struct report *r)
{
	bool by_thread = report_is_by(r, "thread");
	const struct column columns[] = {
		{ by_thread ? "thread" : "process", by_thread ? "thread" : "process", CELL_TEXT },
		{ by_thread ? "tid" : "pid", NULL, CELL_COUNT },
		{ "cpu_ns", "on CPUs", CELL_NS },
		{ "percent", "of one CPU", CELL_PERCENT },
		{ "irq_ns", c->n_irqs ? "interrupted" : NULL, CELL_NS },
		{ "n_switches", "switches", CELL_COUNT },
	};
	struct table t = TABLE(columns);
	char name[48];

	for (uint32_t i = 0; i < c->n_rows; i++) {
		const struct cpu_row *row = &c->rows[i];

		table_text(&t, thread_text(c->run.threads, row->thread, name));
		table_number(&t, threads_at(c->run.threads, row->thread)->tid);
		table_number(&t, (int64_t)row->ns);
		table_real(&t, percent(row->ns, c->duration_ns));
		table_number(&t, (int64_t)row->irq_ns);
		table_number(&t, (int64_t)row->n_switches);
	}
	page_table(p, by_thread ? "threads" : "processes", NULL, &t, r->limit);
}

static int read_recording(void *analysis, const struct report *r, struct diag *d)
{
	return cpu_init(analysis, r->trace, &r->range, !report_is_by(r, "thread"), d);
}

static int check(const void *analysis, const struct report *r)
{
	const struct cpu *c = analysis;

	(void)r;
	return c->n_switches ? 0 : report_lacks(&c->run, "switches of threads", "-k sched");
}

static void print(struct page *p, void *analysis, const struct report *r)
{
	struct cpu *c = analysis;
	char duration[32], cpus[64], cores[64], packages[64];

	page_number(p, "duration_ns", (int64_t)c->duration_ns);
	page_number(p, "is_partial", c->is_partial);
	page_number(p, "n_unseen", (int64_t)c->n_unseen);
	page_line(p, "the kernel was recorded for %s", duration_text(c->duration_ns, duration));
	if (c->machine.n_cpus)
		page_line(p, "%s in %s, %s%s%s", cmd_count_text(c->machine.n_cpus, "CPU", cpus),
			  cmd_count_text(devices_cores(&c->machine), "core", cores),
			  cmd_count_text(devices_packages(&c->machine), "package", packages),
			  *c->machine.model ? ": " : "", c->machine.model);
	if (c->is_partial)
		page_line(p,
			  "only some processes were followed: record with --all-kernel to see all");
	else if (c->n_unseen)
		page_line(p,
			  "times are low: at least %" PRIu64 " of %" PRIu64
			  " switches are missing; their time is unknown",
			  c->n_unseen, c->n_unseen + c->n_switches);
	if (!c->n_irqs)
		page_line(p,
			  "the time of interrupts counts for the interrupted thread: record with "
			  "-k irq to see it");
	print_cpus(p, c);
	print_rows(p, c, r);
}

static void fini(void *analysis)
{
	cpu_fini(analysis);
}

int report_cpu(const struct report *r)
{
	static const struct report_kind kind = {
		sizeof(struct cpu), offsetof(struct cpu, run), read_recording, check, print, fini
	};

	return report_run(r, &kind);
}
