/* SPDX-License-Identifier: MIT */
/* ui/reader/rows.c - which row an event's thread and CPU have: see reader.h. */
#include <stdlib.h>
#include <string.h>

#include "ui/reader/internal.h"

static int compare(const struct reader_thread *x, const struct reader_thread *y)
{
	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->first_ns < y->first_ns ? -1 : x->first_ns > y->first_ns;
}

static int in_order(const void *a, const void *b)
{
	return compare(a, b);
}

bool reader_number_hosts(struct ui_reader *r)
{
	uint32_t n = 0;

	r->hosts = calloc(trace_n_sources(r->trace) + (size_t)1, sizeof *r->hosts);
	for (uint32_t i = 0; r->hosts && i < trace_n_sources(r->trace); i++) {
		uint32_t same = 0;

		while (strcmp(trace_source(r->trace, same)->hostname,
			      trace_source(r->trace, i)->hostname) != 0)
			same++;
		r->hosts[i] = same < i ? r->hosts[same] : n++;
	}
	return r->hosts;
}

static uint32_t host_of(const struct ui_reader *r, const struct trace_event *e)
{
	return r->hosts[e->stream->source->number];
}

bool reader_list_rows(struct ui_reader *r)
{
	struct ui_index_status status;
	struct reader_thread *threads, *cpus;
	struct ui_row row;
	uint32_t n;

	/* The version first: a row that is added in between is listed the next time. */
	ui_index_status(r->index, &status);
	if (r->threads && status.version == r->version)
		return true;
	n = ui_index_n_rows(r->index);
	threads = reallocarray(r->threads, n + (size_t)1, sizeof *threads);
	if (threads)
		r->threads = threads;
	cpus = reallocarray(r->cpus, n + (size_t)1, sizeof *cpus);
	if (cpus)
		r->cpus = cpus;
	if (!threads || !cpus)
		return false;
	r->n_threads = r->n_cpus = 0;
	for (uint32_t i = 0; i < n && ui_index_row(r->index, i, &row); i++)
		if (row.kind == UI_ROW_THREAD && row.tid > 0)
			threads[r->n_threads++] =
				(struct reader_thread){ row.tid, row.first_ns, row.recording, i };
		else if (row.kind == UI_ROW_CPU)
			cpus[r->n_cpus++] = (struct reader_thread){ row.cpu, 0, row.recording, i };
	qsort(threads, r->n_threads, sizeof *threads, in_order);
	r->version = status.version;
	return true;
}

static bool is_same(const struct reader_thread *a, const struct reader_thread *b)
{
	return a->host == b->host && a->tid == b->tid;
}

uint32_t ui_reader_row(const struct ui_reader *r, const struct trace_event *e, int64_t tid,
		       int64_t ns)
{
	const struct reader_thread wanted = { tid, ns, host_of(r, e), 0 };
	uint32_t low = 0, high = r->n_threads;

	while (low < high) { /* the first that was born later */
		uint32_t middle = low + (high - low) / 2;

		if (compare(&r->threads[middle], &wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low && is_same(&r->threads[low - 1], &wanted))
		return r->threads[low - 1].row;
	return low < r->n_threads && is_same(&r->threads[low], &wanted) ? r->threads[low].row
									: UI_NO_ROW;
}

uint32_t ui_reader_cpu_row(const struct ui_reader *r, const struct trace_event *e)
{
	const struct reader_thread wanted = { (int64_t)e->cpu, 0, host_of(r, e), 0 };

	for (uint32_t i = 0; i < r->n_cpus; i++)
		if (is_same(&r->cpus[i], &wanted))
			return r->cpus[i].row;
	return UI_NO_ROW;
}

/* A source of host @host. */
static uint32_t source_of(const struct ui_reader *r, uint32_t host)
{
	uint32_t i = 0;

	while (i + 1 < trace_n_sources(r->trace) && r->hosts[i] != host)
		i++;
	return i;
}

/* Of those with the same tid the last that was born before. */
void reader_name_threads(struct ui_reader *r, int64_t ns)
{
	for (uint32_t i = 0; i < r->n_threads; i++) {
		const struct reader_thread *t = &r->threads[i];
		struct ui_row row;

		if (i + 1 < r->n_threads && is_same(t, t + 1) && t[1].first_ns <= ns)
			continue;
		if (ui_index_row(r->index, t->row, &row))
			names_tell(r->names, source_of(r, t->host), row.tid, row.pid, row.name,
				   strlen(row.name));
		while (i + 1 < r->n_threads && is_same(t, &r->threads[i + 1]))
			i++;
	}
}
