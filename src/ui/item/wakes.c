/* SPDX-License-Identifier: MIT */
/* ui/item/wakes.c - /api/wakes: wakeups of a thread and by it, for the arrows. */
#include <stdlib.h>

#include "ui/query/answer.h"

enum { WAKES_MOST = 2000 };

static void add_wake(struct text *t, const struct ui_wake *w)
{
	add(t, "{");
	ui_add_member(t, "at", w->time_ns);
	ui_add_member(t, "runs", w->runs_ns);
	ui_add_member(t, "waker", (int64_t)w->waker - 1);
	ui_add_member(t, "woken", w->woken);
	add(t, "}");
}

void ui_query_wakes(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a)
{
	static const char *const names[] = { "of", "by" };
	struct ui_wake *wakes;
	int64_t from, to, limit;
	bool has_more = false;
	uint32_t row;

	if (!ui_has_recording(s, a) || !ui_param_row(s, q, a, "row", &row) ||
	    !ui_param_range(s, q, a, &from, &to) ||
	    !ui_param_int(q, a, "limit", 1, WAKES_MOST, WAKES_MOST, &limit))
		return;
	wakes = malloc(((size_t)limit + 1) * sizeof *wakes);
	if (!wakes) {
		ui_refuse(a, 500, "no memory for wakeups");
		return;
	}
	add(&a->body, "{");
	for (int by = 0; by < 2; by++) {
		uint32_t n =
			ui_index_wakes(s->index, row, by, from, to, wakes, (uint32_t)limit + 1);

		has_more |= n > limit;
		ui_add_key(&a->body, names[by]);
		add(&a->body, "[");
		for (uint32_t i = 0; i < n && i < limit; i++) {
			add(&a->body, i ? "," : "");
			add_wake(&a->body, &wakes[i]);
		}
		add(&a->body, "]");
	}
	add(&a->body, has_more ? ",\"more\":true}" : ",\"more\":false}");
	free(wakes);
}
