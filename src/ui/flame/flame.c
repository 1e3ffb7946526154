/* SPDX-License-Identifier: MIT */
/* ui/flame/flame.c - chooses where a flame graph's times come from, and makes it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "base/monotonic.h"
#include "ui/flame/internal.h"

void flame_note(struct flame *f, const char *format, ...)
{
	size_t n = strlen(f->note);
	char text[256];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	if (!strstr(f->note, text))
		snprintf(f->note + n, sizeof f->note - n, "%s%s", n ? " " : "", text);
}

static bool is_cancelled(const struct flame_options *o)
{
	return o->is_cancelled && load(o->is_cancelled);
}

bool flame_is_over(struct flame_work *w)
{
	return is_cancelled(w->o) || monotonic_ns() > w->deadline_ns;
}

/* ---------------------------------------------------------------- sources */

static bool has_samples(const struct flame_work *w, uint32_t row)
{
	struct ui_index *x = w->o->index;
	struct ui_track_info info;
	struct ui_row r;

	if (!ui_index_row(x, row, &r))
		return false;
	for (uint32_t i = 0; i < r.n_tracks; i++) {
		uint32_t track = ui_row_track(x, row, i);

		if (ui_track_info(x, track, &info) && info.kind == UI_TRACK_SAMPLES &&
		    ui_track_find(x, track, w->o->from) < ui_track_find(x, track, w->o->to))
			return true;
	}
	return false;
}

static int look_for_sources(struct flame_work *w, struct diag *d)
{
	struct trace *t;
	int err;

	for (uint32_t i = 0; i < w->n_threads && w->o->is_on && !w->f->has_samples; i++)
		w->f->has_samples = has_samples(w, w->threads[i].row);
	if (w->o->is_on || !w->has_states)
		return 0;
	err = trace_open(&t, w->o->paths, w->o->n_paths, NULL, d);
	if (err)
		return err;
	w->f->has_stacks = flame_has_switch_stacks(t);
	trace_close(t);
	return 0;
}

static enum flame_source choose(const struct flame_work *w)
{
	enum flame_source wanted = w->o->source;

	if (w->f->has_samples && (wanted == FLAME_ANY || wanted == FLAME_SAMPLES))
		return FLAME_SAMPLES;
	if (w->f->has_stacks && (wanted == FLAME_ANY || wanted == FLAME_STACKS))
		return FLAME_STACKS;
	return wanted == FLAME_CALLS ? FLAME_CALLS
	       : w->f->has_samples   ? FLAME_SAMPLES
	       : w->f->has_stacks    ? FLAME_STACKS
				     : FLAME_CALLS;
}

static void explain(struct flame_work *w)
{
	struct flame *f = w->f;

	if (!w->n_threads)
		flame_note(f, w->o->is_on ? "No thread and no CPU is selected."
					  : "No thread is selected.");
	else if (!w->has_states && !w->o->is_on)
		flame_note(f, "Without switches it is not known when threads waited: record with "
			      "-k sched.");
	else if (!w->has_states && f->source == FLAME_SAMPLES)
		flame_note(f, "Counts of samples: times need switches, -k sched.");
	else if (!w->has_states)
		flame_note(f, "Times include waiting: switches were not recorded, -k sched.");
}

/* By call stacks; -ENODATA: the events have none after all. */
static int fill_by_stacks(struct flame_work *w, struct diag *d)
{
	int err = w->f->source == FLAME_SAMPLES ? flame_by_samples(w, d) : flame_by_switches(w, d);

	if (err == -ENODATA) {
		*d = (struct diag){ "" };
		w->f->source = FLAME_CALLS;
		w->f->has_samples = w->f->has_stacks = w->f->counts_samples = false;
	}
	return err;
}

static int fill_tree(struct flame_work *w, struct diag *d)
{
	struct flame *f = w->f;
	int err = -ENODATA;

	f->source = choose(w);
	if (f->source != FLAME_CALLS)
		err = fill_by_stacks(w, d);
	explain(w);
	if (err != -ENODATA)
		return err;
	if (!w->o->is_on && w->has_states) {
		w->deadline_ns = monotonic_ns() + OBJECTS_SECONDS_MOST * 1000000000ull;
		err = flame_read_objects(w, d);
		if (err)
			return err;
		w->deadline_ns = monotonic_ns() + SECONDS_MOST * 1000000000ull;
	}
	return flame_by_tracks(w);
}

int flame_make(struct flame *f, const struct flame_options *o, struct diag *d)
{
	struct flame_work w = { .f = f,
				.o = o,
				.deadline_ns = monotonic_ns() + SECONDS_MOST * 1000000000ull };
	struct ui_index_status status;
	int err;

	*f = (struct flame){ 0 };
	ui_index_status(o->index, &status);
	w.begin_ns = status.begin_ns;
	err = flame_tree_init(f);
	if (!err)
		err = flame_select(&w);
	if (!err)
		err = look_for_sources(&w, d);
	if (!err)
		err = fill_tree(&w, d);
	if (!err && f->tables->failed)
		err = -ENOMEM;
	flame_unselect(&w);
	if (!err && is_cancelled(o))
		err = -ECANCELED;
	if (err == -ENOMEM)
		diag_fail(d, err, "no memory for the flame graph");
	if (err)
		flame_fini(f);
	else
		flame_totals(f);
	return err;
}
