/* SPDX-License-Identifier: MIT */
/*
 * ui/flame/rows.c - the threads that rows mean, and the thread of an event.
 *
 * A row stands for all rows below it.  CPUs count if no thread is meant: then all that ran there.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/public.h"
#include "ui/flame/internal.h"

/* Whether @row or one above it was asked for. */
static bool is_meant(const struct flame_work *w, const bool *is_asked, uint32_t row)
{
	struct ui_row r;

	for (int depth = 0; depth < 8; depth++) {
		if (!w->o->n_rows || is_asked[row])
			return true;
		if (!ui_index_row(w->o->index, row, &r) || !r.parent || r.parent > w->n_rows)
			return false;
		row = r.parent - 1;
	}
	return false;
}

static uint32_t track_of(const struct flame_work *w, const struct ui_row *r, uint32_t row,
			 enum ui_track_kind kind)
{
	struct ui_track_info info;

	for (uint32_t i = 0; i < r->n_tracks; i++) {
		uint32_t track = ui_row_track(w->o->index, row, i);

		if (ui_track_info(w->o->index, track, &info) && info.kind == kind)
			return track + 1;
	}
	return 0;
}

static int add_thread(struct flame_work *w, uint32_t row, const struct ui_row *r)
{
	struct slot *slot = table_find(&w->by_tid, (uint64_t)r->tid, 0);
	struct flame_thread *t = &w->threads[w->n_threads];

	if (!slot)
		return -ENOMEM;
	*t = (struct flame_thread){ .row = row, .states = track_of(w, r, row, UI_TRACK_STATES) };
	w->has_states |= t->states != 0;
	w->thread_of[row] = ++w->n_threads;
	if (slot->value) {
		w->before[row] = slot->value;
		slot->value = row + 1;
	} else {
		fill(&w->by_tid, slot, row);
	}
	return 0;
}

static int add_row(struct flame_work *w, const bool *is_asked, uint32_t row, bool is_of_cpus)
{
	struct ui_row r;

	if (!ui_index_row(w->o->index, row, &r))
		return 0;
	if (r.kind == UI_ROW_THREAD && (is_of_cpus || is_meant(w, is_asked, row)))
		return add_thread(w, row, &r);
	if (r.kind == UI_ROW_CPU && is_of_cpus && is_meant(w, is_asked, row)) {
		w->cpus[w->n_cpus] = track_of(w, &r, row, UI_TRACK_RUNNING);
		w->cpu_numbers[w->n_cpus] = r.cpu;
		w->n_cpus += w->cpus[w->n_cpus] != 0;
	}
	return 0;
}

int flame_select(struct flame_work *w)
{
	uint32_t n = ui_index_n_rows(w->o->index);
	bool *is_asked = calloc(n + (size_t)1, sizeof *is_asked);
	int err = 0;

	w->n_rows = n;
	w->threads = calloc(n + (size_t)1, sizeof *w->threads);
	w->thread_of = calloc(n + (size_t)1, sizeof *w->thread_of);
	w->before = calloc(n + (size_t)1, sizeof *w->before);
	w->cpus = calloc(n + (size_t)1, sizeof *w->cpus);
	w->cpu_numbers = calloc(n + (size_t)1, sizeof *w->cpu_numbers);
	if (!is_asked || !w->threads || !w->thread_of || !w->before || !w->cpus || !w->cpu_numbers)
		err = -ENOMEM;
	for (int i = 0; i < w->o->n_rows && !err; i++)
		if (w->o->rows[i] < n)
			is_asked[w->o->rows[i]] = true;
	for (uint32_t i = 0; i < n && !err; i++)
		err = add_row(w, is_asked, i, false);
	if (!err && !w->n_threads && w->o->is_on) {
		w->is_by_cpu = true;
		for (uint32_t i = 0; i < n && !err; i++)
			err = add_row(w, is_asked, i, true);
	}
	free(is_asked);
	return err;
}

void flame_unselect(struct flame_work *w)
{
	free(w->threads);
	free(w->thread_of);
	free(w->before);
	free(w->cpus);
	free(w->cpu_numbers);
	free(w->by_tid.at);
	free(w->objects.at);
}

struct flame_thread *flame_thread_of(struct flame_work *w, int64_t tid, int64_t at)
{
	struct slot *slot = tid > 0 ? table_find(&w->by_tid, (uint64_t)tid, 0) : NULL;
	uint32_t row = slot ? slot->value : 0, last = row;
	struct ui_row r;

	for (; row; row = w->before[row - 1]) {
		last = row;
		if (!ui_index_row(w->o->index, row - 1, &r) || at >= r.first_ns)
			break;
	}
	return last ? &w->threads[w->thread_of[last - 1] - 1] : NULL;
}

bool flame_is_of_cpus(const struct flame_work *w, int32_t cpu)
{
	for (uint32_t i = 0; i < w->n_cpus; i++)
		if (w->cpu_numbers[i] == cpu)
			return true;
	return !w->is_by_cpu;
}
