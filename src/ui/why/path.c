/* SPDX-License-Identifier: MIT */
/* ui/why/path.c - states of the row, and its waits followed back over the index: see internal.h. */
#include <stdlib.h>

#include "ui/why/internal.h"

enum {
	STATES_AT_ONCE = 1024,
	STATES_MOST = 1 << 22, /* of the row, in the span */
	SLICES_MOST = 1 << 18,
	FOLLOW_NS = 60000000,
};

bool why_grow(struct why *w, void *array, uint32_t *room, uint32_t n, size_t size)
{
	uint32_t more = n + n / 2 + 64;
	void *bigger;

	if (n < *room)
		return true;
	bigger = reallocarray(*(void **)array, more, size);
	if (!bigger) {
		w->has_failed = true;
		return false;
	}
	*(void **)array = bigger;
	*room = more;
	return true;
}

const char *why_call_name(const struct why *w, uint32_t call)
{
	return call ? ui_index_name(w->x, call - 1) : NULL;
}

/* ---------------------------------------------------------------- rows */

static const struct why_tracks *tracks_of(struct why *w, uint32_t thread)
{
	static const struct why_tracks none;
	struct ui_track_info info;
	struct why_tracks *t;
	uint32_t track;

	if (!thread || thread > w->n_rows)
		return &none;
	t = &w->tracks[thread - 1];
	for (uint32_t i = 0; !t->is_known; i++) {
		track = ui_row_track(w->x, thread - 1, i);
		if (!ui_track_info(w->x, track, &info))
			t->is_known = true;
		else if (info.kind == UI_TRACK_STATES)
			t->states = track + 1;
		else if (info.kind == UI_TRACK_SYSCALLS)
			t->calls = track + 1;
	}
	return t;
}

uint32_t path_call_at(struct why *w, uint32_t thread, int64_t ns, uint32_t *index)
{
	const struct why_tracks *t = tracks_of(w, thread);
	struct ui_interval v;

	if (!t->calls)
		return 0;
	*index = ui_track_find(w->x, t->calls - 1, ns);
	if (!ui_track_get(w->x, t->calls - 1, *index, &v) || v.begin_ns > ns)
		return 0;
	return v.what + 1;
}

static bool is_in_call(uint8_t state)
{
	return state == UI_KERNEL || state == UI_BLOCKED;
}

/* ---------------------------------------------------------------- the row itself */

static void add_wait(struct why *w, const struct ui_interval *v, int64_t begin, int64_t end)
{
	uint32_t index;

	if (why_grow(w, &w->waits, &w->wait_room, w->n_waits, sizeof *w->waits))
		w->waits[w->n_waits++] =
			(struct why_wait){ v->begin_ns,
					   v->is_open ? INT64_MAX : v->end_ns,
					   (uint64_t)(end - begin),
					   path_call_at(w, w->row + 1, v->begin_ns, &index),
					   0,
					   0 };
}

static bool is_running(uint8_t state)
{
	return state == UI_USER || state == UI_KERNEL || state == UI_IRQ;
}

/* Running states that are too short to be drawn are joined with the one before. */
static void add_own(struct why *w, const struct ui_interval *v, int64_t begin, int64_t end)
{
	struct why_slice one = { begin, end, 0, w->row + 1, 0, (uint8_t)v->what, 0, 0, 0, 0 };
	struct why_slice *last = w->n_own ? &w->own[w->n_own - 1] : NULL;
	uint32_t index;

	if (last && last->end_ns == begin && end - begin < w->least_ns && is_running(last->state) &&
	    is_running(one.state)) {
		last->end_ns = end;
		return;
	}
	if (is_in_call(one.state))
		one.call = path_call_at(w, w->row + 1, v->begin_ns, &index);
	if (why_grow(w, &w->own, &w->own_room, w->n_own, sizeof *w->own))
		w->own[w->n_own++] = one;
}

static int longest_first(const void *a, const void *b)
{
	const struct why_wait *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

void path_read(struct why *w)
{
	const struct why_tracks *t = tracks_of(w, w->row + 1);
	struct ui_interval v[STATES_AT_ONCE];
	uint32_t i, n, looked = 0;

	if (!t->states)
		return;
	ui_track_sums(w->x, t->states - 1, w->from, w->to, &w->sums);
	i = ui_track_find(w->x, t->states - 1, w->from);
	do {
		n = ui_track_read(w->x, t->states - 1, i, v, STATES_AT_ONCE);
		for (uint32_t k = 0; k < n; k++) {
			int64_t begin = v[k].begin_ns > w->from ? v[k].begin_ns : w->from;
			int64_t end = v[k].end_ns < w->to ? v[k].end_ns : w->to;

			if (begin < end && v[k].what == UI_BLOCKED)
				add_wait(w, &v[k], begin, end);
			else if (begin < end)
				add_own(w, &v[k], begin, end);
		}
		i += n;
		looked += n;
		w->is_cut |= looked >= STATES_MOST;
	} while (n == STATES_AT_ONCE && v[n - 1].end_ns < w->to && !w->is_cut && !w->has_failed &&
		 !ui_is_cancelled(w->q));
	if (w->n_waits)
		qsort(w->waits, w->n_waits, sizeof *w->waits, longest_first);
}

/* ---------------------------------------------------------------- followed back */

struct walk {
	struct wait_walk walk;
	struct why *w;
};

/* What ended the blocked state of @thread at @woken_ns: *@waker, or the result is a cause. */
static uint8_t end_of_wait(struct why *w, uint32_t thread, int64_t woken_ns, uint32_t *waker)
{
	struct ui_wake wake;

	*waker = 0;
	if (woken_ns == INT64_MAX ||
	    !ui_index_wakes(w->x, thread - 1, false, woken_ns, woken_ns + 1, &wake, 1))
		return 0;
	*waker = wake.waker;
	return !wake.waker;
}

/* One interval of the index goes on through several calls: the part of @s that ends at @at_ns lies in one
 * call, or in none. */
static void cut_to_call(struct why *w, uint32_t thread, int64_t at_ns, struct wait_segment *s)
{
	const struct why_tracks *t = tracks_of(w, thread);
	uint32_t i = t->calls ? ui_track_find(w->x, t->calls - 1, at_ns - 1) : 0;
	int64_t begin = INT64_MIN;
	struct ui_interval v;

	if (!t->calls)
		return;
	if (ui_track_get(w->x, t->calls - 1, i, &v) && v.begin_ns < at_ns) {
		s->call = v.what + 1;
		begin = v.begin_ns;
	} else if (i && ui_track_get(w->x, t->calls - 1, i - 1, &v)) {
		begin = v.end_ns;
	}
	if (begin > s->begin_ns && begin < at_ns)
		s->begin_ns = begin;
}

static bool state_before(struct wait_walk *walk, uint32_t thread, int64_t at_ns,
			 struct wait_segment *s)
{
	struct why *w = ((struct walk *)walk)->w;
	const struct why_tracks *t = tracks_of(w, thread);
	struct ui_interval v;
	uint32_t i, index;

	if (!t->states)
		return false;
	i = ui_track_find(w->x, t->states - 1, at_ns - 1);
	if (!ui_track_get(w->x, t->states - 1, i, &v) || v.begin_ns >= at_ns)
		if (!i || !ui_track_get(w->x, t->states - 1, i - 1, &v))
			return false;
	*s = (struct wait_segment){
		v.begin_ns, v.is_open ? INT64_MAX : v.end_ns, (uint8_t)v.what, 0, 0, { 0 }
	};
	if (s->state == UI_KERNEL)
		cut_to_call(w, thread, at_ns < s->end_ns ? at_ns : s->end_ns, s);
	else if (s->state == UI_BLOCKED)
		s->call = path_call_at(w, thread, v.begin_ns, &index);
	if (s->state == UI_BLOCKED && s->end_ns == at_ns)
		s->cause.source = end_of_wait(w, thread, at_ns, &s->waker);
	s->cause.kind = s->cause.source ? CAUSE_SOME_IRQ : CAUSE_NONE;
	return true;
}

static void add_slice(struct why *w, const struct why_slice *one)
{
	if (why_grow(w, &w->slices, &w->slice_room, w->n_slices, sizeof *w->slices))
		w->slices[w->n_slices++] = *one;
}

/* Slices of a wait that ends behind the span are cut. */
static void take_slice(struct wait_walk *walk, const struct wait_slice *s)
{
	struct why *w = ((struct walk *)walk)->w;
	struct why_slice one = { s->begin_ns, s->end_ns < w->to ? s->end_ns : w->to,
				 s->end_ns,   s->thread,
				 s->call,     s->state,
				 s->depth,    (uint8_t)s->cause.source,
				 false,	      false };

	if (one.begin_ns < one.end_ns)
		add_slice(w, &one);
}

static void take_turn(struct wait_walk *walk, const struct wait_segment *s, uint32_t thread,
		      int64_t begin_ns, int64_t end_ns, bool is_end)
{
	struct why *w = ((struct walk *)walk)->w;
	struct why_slice one = { begin_ns, end_ns < w->to ? end_ns : w->to,
				 end_ns,   thread,
				 s->call,  s->state,
				 0,	   0,
				 true,	   is_end };

	if (begin_ns < w->to)
		add_slice(w, &one);
}

static void follow_wait(struct why *w, struct why_wait *wait)
{
	int64_t begin = wait->begin_ns > w->from ? wait->begin_ns : w->from;
	int64_t end = wait->end_ns < w->to ? wait->end_ns : w->to;
	struct walk walk = { { state_before, take_slice, take_turn, SLICES_MOST }, w };
	uint32_t waker;
	uint8_t cause = end_of_wait(w, w->row + 1, wait->end_ns, &waker);

	wait->first = w->n_slices;
	if (waker)
		wait_walk(&walk.walk, waker, begin, wait->end_ns);
	else
		add_slice(w, &(struct why_slice){ begin, end, wait->end_ns, w->row + 1, wait->call,
						  UI_BLOCKED, 0, cause, false, false });
	wait->n_slices = w->n_slices - wait->first;
}

void path_follow(struct why *w)
{
	int64_t until = ui_work_ns() + FOLLOW_NS;

	for (uint32_t i = 0; i < w->n_waits && !w->has_failed; i++) {
		if (w->n_slices > SLICES_MOST || (i % 16 == 15 && ui_work_ns() > until) ||
		    ui_is_cancelled(w->q)) {
			w->is_cut = true;
			return;
		}
		follow_wait(w, &w->waits[i]);
		w->n_followed++;
	}
}
