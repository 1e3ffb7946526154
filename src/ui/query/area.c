/* SPDX-License-Identifier: MIT */
/*
 * ui/query/area.c - /api/area: statistics of a span of time and some rows, from the index alone.
 *
 * States and what ran on CPUs are cut at the ends of the span, so they add up to it; calls, spans and
 * events count where they begin.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "ui/digest/digest.h"
#include "ui/query/answers.h"

enum { AREA_LIST_MOST = 1000, CPU_THREADS = 10 };

struct area {
	const struct ui_subject *s;
	const struct ui_request *q;
	struct text *t;
	struct ui_row_set set;
	int64_t from, to, limit;
	int64_t until;	 /* what begins before it counts: behind the end, what begins there too */
	bool has_failed; /* no memory */
};

/* A row with its times. */
struct part {
	uint32_t row, n_threads;
	uint64_t ns[UI_STATES], n;
};

struct parts {
	struct part *at;
	uint32_t n, room;
};

static struct part *add_part(struct area *a, struct parts *p)
{
	if (p->n == p->room) {
		uint32_t room = p->room * 2 + 64;
		struct part *bigger = reallocarray(p->at, room, sizeof *bigger);

		if (!bigger) {
			a->has_failed = true;
			return NULL;
		}
		p->at = bigger;
		p->room = room;
	}
	p->at[p->n] = (struct part){ .row = 0 };
	return &p->at[p->n++];
}

static uint64_t running_of(const struct part *p)
{
	return p->ns[UI_USER] + p->ns[UI_KERNEL] + p->ns[UI_IRQ];
}

/* Most time on a CPU first, then most time off it. */
static int most_first(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	uint64_t m = running_of(x), n = running_of(y);

	if (m == n) {
		m = x->ns[UI_RUNNABLE] + x->ns[UI_PREEMPTED];
		n = y->ns[UI_RUNNABLE] + y->ns[UI_PREEMPTED];
	}
	if (m == n) {
		m = x->ns[UI_BLOCKED];
		n = y->ns[UI_BLOCKED];
	}
	if (m != n)
		return m < n ? 1 : -1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static void begin_list(struct area *a, const char *name, uint64_t n)
{
	ui_add_key(a->t, name);
	add(a->t, "{");
	ui_add_member(a->t, "n", (int64_t)n);
	add(a->t, ",\"list\":[");
}

static bool next_in_list(struct area *a, uint32_t i, uint32_t n)
{
	if (i >= n || i >= a->limit)
		return false;
	add(a->t, i ? "," : "");
	return true;
}

/* ---------------------------------------------------------------- threads and processes */

static void add_states(struct area *a, const struct part *p)
{
	static const uint8_t order[] = { UI_USER,     UI_KERNEL,  UI_IRQ,    UI_PREEMPTED,
					 UI_RUNNABLE, UI_BLOCKED, UI_UNKNOWN };

	for (size_t i = 0; i < sizeof order; i++)
		ui_add_member(a->t, ui_state_names[order[i]], (int64_t)p->ns[order[i]]);
	ui_add_member(a->t, "n", (int64_t)p->n);
}

static void list_parts(struct area *a, const char *name, struct parts *p, bool are_processes)
{
	if (p->n)
		qsort(p->at, p->n, sizeof *p->at, most_first);
	begin_list(a, name, p->n);
	for (uint32_t i = 0; next_in_list(a, i, p->n); i++) {
		add(a->t, "{");
		ui_add_member(a->t, "row", p->at[i].row);
		if (are_processes)
			ui_add_member(a->t, "threads", p->at[i].n_threads);
		add_states(a, &p->at[i]);
		add(a->t, "}");
	}
	add(a->t, "]}");
}

static void add_to_process(struct area *a, struct parts *processes, uint32_t *process_of,
			   uint32_t parent, const struct part *thread)
{
	struct part *p;

	if (parent >= a->set.n_rows)
		return;
	if (!process_of[parent]) {
		p = add_part(a, processes);
		if (!p)
			return;
		p->row = parent;
		process_of[parent] = processes->n;
	}
	p = &processes->at[process_of[parent] - 1];
	p->n_threads++;
	p->n += thread->n;
	for (int i = 0; i < UI_STATES; i++)
		p->ns[i] += thread->ns[i];
}

static void add_threads(struct area *a)
{
	uint32_t *process_of = calloc(a->set.n_rows + (size_t)1, sizeof *process_of);
	struct parts threads = { 0 }, processes = { 0 };
	uint32_t *tracks;
	int64_t n = ui_tracks_of(a->s->index, &a->set, UI_TRACK_STATES, &tracks);

	a->has_failed |= !process_of || n < 0;
	for (int64_t i = 0; i < n && !a->has_failed; i++) {
		struct ui_track_info info;
		struct ui_sums sums;
		struct ui_row row;
		struct part *p;
		uint64_t any = 0;

		ui_track_sums(a->s->index, tracks[i], a->from, a->to, &sums);
		for (int k = 0; k < UI_STATES; k++)
			any |= sums.ns[k];
		if (!any || !ui_track_info(a->s->index, tracks[i], &info) ||
		    !ui_index_row(a->s->index, info.row, &row) || !(p = add_part(a, &threads)))
			continue;
		p->row = info.row;
		memcpy(p->ns, sums.ns, sizeof p->ns);
		p->n = sums.n;
		if (row.parent)
			add_to_process(a, &processes, process_of, row.parent - 1, p);
	}
	list_parts(a, "threads", &threads, false);
	list_parts(a, "processes", &processes, true);
	free(process_of);
	free(threads.at);
	free(processes.at);
	free(tracks);
}

/* ---------------------------------------------------------------- CPUs and devices */

/* The intervals that lie across an end of the span count with their part inside. */
static void cut_ends(struct area *a, struct ui_digest *g, uint32_t track)
{
	uint32_t first = ui_track_find(a->s->index, track, a->from);
	uint32_t last = ui_track_find(a->s->index, track, a->to);
	struct ui_interval v = { 0 };

	for (uint32_t i = first;; i = last) {
		struct ui_sum *s;
		bool is_inside = ui_track_get(a->s->index, track, i, &v) && v.begin_ns < a->to &&
				 v.end_ns > a->from;
		uint64_t counted =
			v.begin_ns >= a->from && !v.is_open ? (uint64_t)(v.end_ns - v.begin_ns) : 0;
		int64_t begin = v.begin_ns > a->from ? v.begin_ns : a->from;
		int64_t end = v.end_ns < a->to ? v.end_ns : a->to;

		s = is_inside ? ui_digest_touch(g, v.what) : NULL;
		if (s) {
			s->sum += (uint64_t)(end - begin);
			s->sum -= counted;
			s->n += !counted;
		}
		if (i == last)
			return;
	}
}

static int most_sum_first(const void *a, const void *b)
{
	const struct ui_sum *x = a, *y = b;

	if (x->sum != y->sum)
		return x->sum < y->sum ? 1 : -1;
	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return x->what < y->what ? -1 : x->what > y->what;
}

/* [row, ns, n] of the threads that ran there most. */
static void add_running(struct area *a, uint32_t track)
{
	struct ui_digest g;

	ui_add_key(a->t, "threads");
	add(a->t, "[");
	if (ui_digest_init(&g, a->s->index, a->from, a->until, a->q->is_cancelled)) {
		a->has_failed = true;
	} else {
		g.is_plain = true;
		ui_digest_tracks(&g, &track, 1);
		cut_ends(a, &g, track);
		if (g.n_sums)
			qsort(g.sums, g.n_sums, sizeof *g.sums, most_sum_first);
	}
	for (uint32_t i = 0; i < g.n_sums && i < CPU_THREADS && g.sums[i].sum; i++)
		text_addf(a->t, "%s[%" PRIu32 ",%" PRIu64 ",%" PRIu64 "]", i ? "," : "",
			  g.sums[i].what, g.sums[i].sum, g.sums[i].n);
	add(a->t, "]");
	a->has_failed |= g.has_failed;
	ui_digest_fini(&g);
}

static bool is_kind(const struct ui_row *row, bool are_cpus)
{
	return are_cpus ? row->kind == UI_ROW_CPU
			: row->kind == UI_ROW_IRQ || row->kind == UI_ROW_DISK;
}

static void add_busy(struct area *a, const char *name, bool are_cpus)
{
	struct parts parts = { 0 };
	struct ui_row row;

	for (uint32_t r = 0; r < a->set.n_rows && ui_index_row(a->s->index, r, &row); r++) {
		struct part *p = ui_row_set_has(&a->set, r) && is_kind(&row, are_cpus)
					 ? add_part(a, &parts)
					 : NULL;

		for (uint32_t i = 0; p && i < row.n_tracks; i++) {
			struct ui_sums sums;

			ui_track_sums(a->s->index, ui_row_track(a->s->index, r, i), a->from, a->to,
				      &sums);
			p->row = r;
			p->ns[UI_USER] += sums.ns[0];
			p->n += sums.n;
		}
	}
	if (parts.n)
		qsort(parts.at, parts.n, sizeof *parts.at, most_first);
	begin_list(a, name, parts.n);
	for (uint32_t i = 0; next_in_list(a, i, parts.n); i++) {
		add(a->t, "{");
		ui_add_member(a->t, "row", parts.at[i].row);
		ui_add_member(a->t, "busy", (int64_t)parts.at[i].ns[UI_USER]);
		ui_add_member(a->t, "n", (int64_t)parts.at[i].n);
		if (are_cpus)
			add_running(a, ui_row_track(a->s->index, parts.at[i].row, 0));
		add(a->t, "}");
	}
	add(a->t, "]}");
	free(parts.at);
}

/* ---------------------------------------------------------------- names */

static void add_sum(struct area *a, const struct ui_sum *s, bool has_errors)
{
	add(a->t, "{");
	ui_add_member(a->t, "name", s->what);
	ui_add_member(a->t, "n", (int64_t)s->n);
	if (has_errors)
		ui_add_member(a->t, "errors", (int64_t)s->errors);
	ui_add_member(a->t, "sum", (int64_t)s->sum);
	ui_add_member(a->t, "mean", (int64_t)(s->n ? s->sum / s->n : 0));
	ui_add_member(a->t, "min", (int64_t)s->min);
	ui_add_member(a->t, "p50", (int64_t)ui_sum_percentile(s, 50));
	ui_add_member(a->t, "p99", (int64_t)ui_sum_percentile(s, 99));
	ui_add_member(a->t, "max", (int64_t)s->max);
	ui_add_key(a->t, "max_id");
	ui_add_id(a->t, s->max_track, s->max_i);
	ui_add_key(a->t, "is_exact");
	add(a->t, ui_sum_is_exact(s) ? "true}" : "false}");
}

static void add_rate(struct area *a, const struct ui_sum *s)
{
	double seconds = (double)(a->to - a->from) / 1e9;

	add(a->t, "{");
	ui_add_member(a->t, "name", s->what);
	ui_add_member(a->t, "n", (int64_t)s->n);
	ui_add_key(a->t, "rate");
	text_addf(a->t, "%.9g}", seconds > 0 ? (double)s->n / seconds : 0);
}

/* Distributions of those that are listed only: each may need as much memory as it has values. */
static void add_names(struct area *a, const char *name, uint8_t kind)
{
	bool are_points = kind == UI_TRACK_EVENTS;
	struct ui_digest g;
	uint32_t *tracks;
	int64_t n = ui_tracks_of(a->s->index, &a->set, kind, &tracks);
	int err = ui_digest_init(&g, a->s->index, a->from, a->until, a->q->is_cancelled);

	g.is_plain = are_points;
	if (!err && n > 0)
		ui_digest_tracks(&g, tracks, (uint32_t)n);
	ui_digest_order(&g, most_sum_first);
	for (uint32_t i = 0; i < g.n_sums && i < a->limit && !are_points; i++)
		ui_digest_spread(&g, &g.sums[i]);
	if (!err && n > 0 && !are_points)
		ui_digest_fill(&g, tracks, (uint32_t)n);
	begin_list(a, name, g.n_sums);
	for (uint32_t i = 0; !g.has_failed && next_in_list(a, i, g.n_sums); i++)
		if (are_points)
			add_rate(a, &g.sums[i]);
		else
			add_sum(a, &g.sums[i], kind == UI_TRACK_SYSCALLS);
	add(a->t, "]}");
	a->has_failed |= n < 0 || err || g.has_failed;
	ui_digest_fini(&g);
	free(tracks);
}

void ui_query_area(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *answer)
{
	struct area a = { .s = s, .q = q, .t = &answer->body };
	struct ui_index_status status;

	if (!ui_has_recording(s, answer) || !ui_param_range(s, q, answer, &a.from, &a.to) ||
	    !ui_param_int(q, answer, "limit", 1, AREA_LIST_MOST, 100, &a.limit) ||
	    !ui_row_set_read(s, q, answer, &a.set))
		return;
	ui_index_status(s->index, &status);
	a.until = a.to + (a.to >= status.end_ns);
	add(a.t, "{");
	ui_add_member(a.t, "from", a.from);
	ui_add_member(a.t, "to", a.to);
	add_threads(&a);
	add_busy(&a, "cpus", true);
	add_busy(&a, "devices", false);
	add_names(&a, "syscalls", UI_TRACK_SYSCALLS);
	add_names(&a, "spans", UI_TRACK_SPANS);
	add_names(&a, "calls", UI_TRACK_CALLS);
	add_names(&a, "events", UI_TRACK_EVENTS);
	add(a.t, "}");
	if (a.has_failed)
		ui_refuse(answer, 500, "%s: no memory for so many rows: ask for fewer", q->path);
	ui_row_set_fini(&a.set);
}
