/* SPDX-License-Identifier: MIT */
/* ui/item/item.c - /api/item: one interval or point with all that is known of it: see internal.h. */
#include "ui/item/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { AROUND_MOST = 16 };

void item_note(struct item *i, const char *format, ...)
{
	va_list ap;

	if (i->n_notes == ITEM_NOTES)
		return;
	va_start(ap, format);
	vsnprintf(i->reasons[i->n_notes], sizeof i->reasons[0], format, ap);
	va_end(ap);
	i->notes[i->n_notes] = i->reasons[i->n_notes];
	i->n_notes++;
}

/* ---------------------------------------------------------------- enclosing spans and calls */

static bool can_enclose(uint8_t kind)
{
	return kind == UI_TRACK_SPANS || kind == UI_TRACK_SYSCALLS || kind == UI_TRACK_CALLS;
}

static int innermost_first(const void *a, const void *b)
{
	const struct item_around *m = a, *n = b;

	if (m->v.begin_ns != n->v.begin_ns)
		return m->v.begin_ns > n->v.begin_ns ? -1 : 1;
	return m->v.end_ns < n->v.end_ns ? -1 : m->v.end_ns > n->v.end_ns;
}

uint32_t item_around(struct ui_index *x, uint32_t row, int64_t ns, struct item_around *found,
		     uint32_t most)
{
	struct item_around a;
	struct ui_track_info info;
	uint32_t n = 0;

	for (uint32_t k = 0; n < most && (a.track = ui_row_track(x, row, k)) != UINT32_MAX; k++) {
		if (!ui_track_info(x, a.track, &info) || !can_enclose(info.kind))
			continue;
		a.kind = info.kind;
		a.index = ui_track_find(x, a.track, ns);
		if (ui_track_get(x, a.track, a.index, &a.v) && a.v.begin_ns <= ns)
			found[n++] = a;
	}
	qsort(found, n, sizeof *found, innermost_first);
	return n;
}

static void add_around(struct item *i)
{
	struct item_around found[AROUND_MOST];
	uint32_t n;

	if (!i->thread || i->info.kind == UI_TRACK_RUNNING)
		return;
	n = item_around(i->x, i->thread - 1, i->v.begin_ns, found, AROUND_MOST);
	ui_add_key(i->t, "around");
	add(i->t, "[");
	for (uint32_t k = 0; k < n; k++) {
		if ((found[k].track == i->track && found[k].index == i->index) ||
		    found[k].v.end_ns < i->v.end_ns)
			continue;
		add(i->t, i->t->bytes[i->t->size - 1] == '[' ? "" : ",");
		ui_add_item(i->t, i->x, found[k].track, found[k].index);
	}
	add(i->t, "]");
}

/* ---------------------------------------------------------------- the item itself */

static void add_neighbour(struct item *i, const char *name, uint32_t index)
{
	struct ui_interval v;

	if (!ui_track_get(i->x, i->track, index, &v))
		return;
	ui_add_key(i->t, name);
	ui_add_item(i->t, i->x, i->track, index);
}

static void add_basics(struct item *i)
{
	struct text *t = i->t;

	ui_add_key(t, "id");
	ui_add_id(t, i->track, i->index);
	ui_add_member(t, "row", i->info.row);
	ui_add_string(t, "kind", ui_track_kinds[i->info.kind]);
	ui_add_member(t, "depth", i->info.depth);
	ui_add_string(t, "name", i->name);
	ui_add_member(t, "from", i->v.begin_ns);
	ui_add_member(t, "to", i->v.end_ns);
	ui_add_key(t, "open");
	add(t, i->v.is_open ? "true" : "false");
	if (i->v.is_cut) {
		ui_add_key(t, "cut");
		add(t, "true");
	}
	if (i->thread)
		ui_add_member(t, "thread", i->thread - 1);
	if (i->info.kind == UI_TRACK_STATES)
		ui_add_string(t, "state", i->name);
	if (i->info.kind == UI_TRACK_COUNTER)
		ui_add_member(t, "value", i->v.aux);
}

static void add_notes(struct item *i)
{
	ui_add_key(i->t, "notes");
	add(i->t, "[");
	for (int k = 0; k < i->n_notes; k++) {
		add(i->t, k ? "," : "");
		ui_json_string(i->t, i->notes[k], strlen(i->notes[k]));
	}
	add(i->t, "]");
}

/* ---------------------------------------------------------------- the request */

static void find_thread(struct item *i)
{
	if (i->info.kind == UI_TRACK_RUNNING)
		i->thread = i->v.what + 1;
	else if (i->row.kind == UI_ROW_THREAD)
		i->thread = i->info.row + 1;
	if (i->thread && !ui_index_row(i->x, i->thread - 1, &i->thread_row))
		i->thread = 0;
}

static void find_states(struct item *i)
{
	struct ui_track_info info;
	uint32_t track;

	if (!i->thread)
		return;
	for (uint32_t k = 0; (track = ui_row_track(i->x, i->thread - 1, k)) != UINT32_MAX; k++)
		if (ui_track_info(i->x, track, &info) && info.kind == UI_TRACK_STATES)
			i->states = track + 1;
}

bool item_find(struct item *i, uint32_t track, uint32_t index)
{
	i->track = track;
	i->index = index;
	if (!ui_track_info(i->x, track, &i->info) || !ui_track_get(i->x, track, index, &i->v) ||
	    !ui_index_row(i->x, i->info.row, &i->row))
		return false;
	i->name = ui_item_name(i->x, i->info.kind, &i->v);
	find_thread(i);
	return true;
}

static void read_recording(struct item *i)
{
	struct diag d = { "" };

	i->reader = ui_reader_take(i->x, i->s->paths, i->s->n_paths, i->s->is_live,
				   i->q->is_cancelled, &d);
	if (!i->reader) {
		item_note(i, "the recording cannot be read again: %.200s", d.text);
		return;
	}
	item_add_events(i);
	if (i->info.kind == UI_TRACK_SYSCALLS)
		item_add_call(i);
	ui_reader_give(i->reader);
}

static void answer_item(struct item *i)
{
	add(i->t, "{");
	add_basics(i);
	item_add_sums(i);
	item_add_waits(i);
	add_around(i);
	item_add_rank(i);
	read_recording(i);
	if (i->index)
		add_neighbour(i, "previous", i->index - 1);
	add_neighbour(i, "next", i->index + 1);
	add_notes(i);
	add(i->t, "}");
}

void ui_query_item(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a)
{
	struct item i = { .s = s, .q = q, .x = s->index, .t = &a->body };

	uint32_t track, index;

	if (!ui_has_recording(s, a) || !ui_param_id(s, q, a, &track, &index))
		return;
	if (!item_find(&i, track, index)) {
		ui_refuse(a, 404, "%s: the item is gone", q->path);
		return;
	}
	find_states(&i);
	answer_item(&i);
	if (ui_is_cancelled(q))
		ui_refuse(a, 500, "nobody waits for this item any more");
	else if (a->body.failed)
		ui_refuse(a, 500, "no memory for an item");
}
