/* SPDX-License-Identifier: MIT */
/* ui/item/waits.c - where an item's time went, what it waited for, who woke it: see internal.h. */
#include <stdlib.h>

#include "ui/item/internal.h"

enum { WAITS_SHOWN = 8, STATES_AT_ONCE = 512, STATES_MOST = 2000000 };

struct wait {
	uint32_t index; /* of the track of states */
	struct ui_interval v;
};

void item_add_sums(struct item *i)
{
	struct ui_sums sums;

	if (!i->states || i->v.end_ns == i->v.begin_ns)
		return;
	ui_track_sums(i->x, i->states - 1, i->v.begin_ns, i->v.end_ns, &sums);
	ui_add_key(i->t, "sums");
	add(i->t, "{");
	for (int k = 1; k <= UI_STATES; k++)
		ui_add_member(i->t, ui_state_names[k % UI_STATES], (int64_t)sums.ns[k % UI_STATES]);
	add(i->t, "}");
}

/* ---------------------------------------------------------------- waits */

static int64_t length(const struct wait *w)
{
	return w->v.end_ns - w->v.begin_ns;
}

/* Keeps the longest, in order. */
static uint32_t note_wait(struct wait *waits, uint32_t n, const struct wait *w)
{
	uint32_t k;

	if (n == WAITS_SHOWN) {
		if (length(w) <= length(&waits[n - 1]))
			return n;
		n--;
	}
	for (k = n; k && length(&waits[k - 1]) < length(w); k--)
		waits[k] = waits[k - 1];
	waits[k] = *w;
	return n + 1;
}

/* The longest blocked states in the item.  One that it only has a part of is not its wait. */
static uint32_t find_waits(struct item *i, struct wait *waits)
{
	struct ui_interval v[STATES_AT_ONCE];
	uint32_t at = ui_track_find(i->x, i->states - 1, i->v.begin_ns), n = 0, looked = 0, got;

	do {
		got = ui_track_read(i->x, i->states - 1, at, v, STATES_AT_ONCE);
		for (uint32_t k = 0; k < got && v[k].begin_ns < i->v.end_ns; k++) {
			const struct wait w = { at + k, v[k] };

			if (v[k].what == UI_BLOCKED && v[k].begin_ns >= i->v.begin_ns)
				n = note_wait(waits, n, &w);
		}
		at += got;
		looked += got;
		if (looked >= STATES_MOST) {
			item_note(i, "only the first %u states were searched for waits", looked);
			break;
		}
	} while (got == STATES_AT_ONCE && v[got - 1].begin_ns < i->v.end_ns &&
		 !ui_is_cancelled(i->q));
	return n;
}

/* The wakeup of thread row @row that ended a wait at @ns. */
static bool find_wake(struct ui_index *x, uint32_t row, int64_t ns, struct ui_wake *wake)
{
	return ui_index_wakes(x, row, false, ns, ns + 1, wake, 1);
}

static void add_wait(struct item *i, const struct wait *w)
{
	struct item_around call[16];
	uint32_t n = item_around(i->x, i->thread - 1, w->v.begin_ns, call, 16);
	struct ui_wake wake;
	struct text *t = i->t;

	add(t, "{");
	ui_add_key(t, "id");
	ui_add_id(t, i->states - 1, w->index);
	ui_add_member(t, "from", w->v.begin_ns);
	ui_add_member(t, "to", w->v.end_ns);
	for (uint32_t k = 0; k < n; k++) {
		if (call[k].kind != UI_TRACK_SYSCALLS)
			continue;
		ui_add_string(t, "call", ui_index_name(i->x, call[k].v.what));
		ui_add_key(t, "call_id");
		ui_add_id(t, call[k].track, call[k].index);
		break;
	}
	if (!w->v.is_open && find_wake(i->x, i->thread - 1, w->v.end_ns, &wake))
		ui_add_member(t, "waker", (int64_t)wake.waker - 1);
	add(t, "}");
}

/* ---------------------------------------------------------------- the wakeup of a state */

/* What @row was doing at @ns: the innermost. */
static void add_doing(struct item *i, uint32_t row, int64_t ns)
{
	struct item_around doing[16];

	if (!item_around(i->x, row, ns, doing, 16))
		return;
	ui_add_key(i->t, "in");
	ui_add_item(i->t, i->x, doing[0].track, doing[0].index);
}

/* Blocked: the wakeup at its end.  Runnable: that at its begin. */
static void add_woken(struct item *i)
{
	struct ui_wake wake;
	int64_t ns = i->v.what == UI_BLOCKED ? i->v.end_ns : i->v.begin_ns;

	if (i->v.what != UI_BLOCKED && i->v.what != UI_RUNNABLE)
		return;
	if (!find_wake(i->x, i->thread - 1, ns, &wake))
		return;
	ui_add_key(i->t, "woken");
	add(i->t, "{");
	ui_add_member(i->t, "at", wake.time_ns);
	ui_add_member(i->t, "runs", wake.runs_ns);
	ui_add_member(i->t, "waker", (int64_t)wake.waker - 1);
	if (wake.waker)
		add_doing(i, wake.waker - 1, wake.time_ns);
	add(i->t, "}");
}

void item_add_waits(struct item *i)
{
	struct wait waits[WAITS_SHOWN];
	uint32_t n;

	if (!i->states || i->v.end_ns == i->v.begin_ns || i->info.kind == UI_TRACK_RUNNING)
		return;
	if (i->info.kind == UI_TRACK_STATES)
		add_woken(i);
	n = find_waits(i, waits);
	ui_add_key(i->t, "waits");
	add(i->t, "[");
	for (uint32_t k = 0; k < n; k++) {
		add(i->t, k ? "," : "");
		add_wait(i, &waits[k]);
	}
	add(i->t, "]");
}
