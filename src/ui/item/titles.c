/* SPDX-License-Identifier: MIT */
/*
 * ui/item/titles.c - /api/titles: the object of a span or system call, in a word or two, for the timeline.
 *
 * They are read in the order of time, so that one reader moves forward.  At least one is read; the rest only
 * as long as there is time.
 */
#include <stdlib.h>

#include "ui/item/internal.h"
#include "ui/query/answers.h"

enum {
	IDS_MOST = 64,
	TITLE_BYTES = 80,
	TIME_NS = 100000000,
	NEAR_BYTES = 1 << 20, /* read rather than skipped */
};

struct wanted {
	struct ui_id id;
	int64_t begin_ns;
	uint8_t kind;
};

struct titles {
	const struct ui_subject *s;
	const struct ui_request *q;
	struct text *t; /* the answer */
	struct ui_reader *reader;
	struct call_reading *calls; /* NULL: not needed yet */
	int64_t at_ns;		    /* the reader stands behind an event of this time, if... */
	bool is_at;		    /* ...this is set */
	struct wanted wanted[IDS_MOST];
	int n;
};

/* Spans first, which a reader meets one after the other; calls move it elsewhere. */
static int by_kind_and_time(const void *a, const void *b)
{
	const struct wanted *m = a, *n = b;

	if (m->kind != n->kind)
		return m->kind < n->kind ? -1 : 1;
	return m->begin_ns < n->begin_ns ? -1 : m->begin_ns > n->begin_ns;
}

static bool read_wanted(struct titles *o, struct ui_answer *a)
{
	struct ui_id ids[IDS_MOST];

	o->n = ui_param_ids(o->s, o->q, a, ids, IDS_MOST);
	for (int k = 0; k < o->n; k++) {
		struct ui_track_info info = { .kind = 0 };
		struct ui_interval v = { .begin_ns = 0 };

		ui_track_info(o->s->index, ids[k].track, &info);
		ui_track_get(o->s->index, ids[k].track, ids[k].index, &v);
		o->wanted[k] = (struct wanted){ ids[k], v.begin_ns, info.kind };
	}
	if (o->n > 0)
		qsort(o->wanted, (size_t)o->n, sizeof *o->wanted, by_kind_and_time);
	return o->n >= 0;
}

/* The last name of a path, or the whole text if it is none. */
static void keep_short(struct text *title)
{
	char *slash = title->size && *title->bytes == '/' ? strrchr(title->bytes, '/') : NULL;

	if (slash && slash[1]) {
		title->size -= (size_t)(slash + 1 - title->bytes);
		memmove(title->bytes, slash + 1, title->size + 1);
	}
	if (title->size > TITLE_BYTES) {
		title->size = item_whole_characters(title->bytes, title->size, TITLE_BYTES);
		add(title, "\xe2\x80\xa6");
	}
}

static bool is_near(const struct titles *o, int64_t ns)
{
	return o->is_at && ns > o->at_ns &&
	       ui_reader_bytes(o->reader, ns) - ui_reader_bytes(o->reader, o->at_ns) < NEAR_BYTES;
}

/* An unreadable item has no title. */
static void read_title(struct titles *o, struct item *i, struct text *title)
{
	struct diag d = { "" };

	if (!o->reader || !i->thread)
		return;
	if (i->info.kind == UI_TRACK_SPANS) {
		o->is_at =
			item_values_title(i, is_near(o, i->v.begin_ns), title, TITLE_BYTES, &d) > 0;
		o->at_ns = i->v.begin_ns;
	} else if (i->info.kind == UI_TRACK_SYSCALLS) {
		o->is_at = false;
		if (!o->calls)
			o->calls = item_calls_open(o->reader, &d);
		if (o->calls)
			item_calls_title(o->calls, i, title, &d);
	}
}

static void add_title(struct titles *o, const struct wanted *w)
{
	struct item i = { .s = o->s, .q = o->q, .x = o->s->index, .reader = o->reader };
	struct text title = { .size = 0 };

	if (item_find(&i, w->id.track, w->id.index))
		read_title(o, &i, &title);
	add(o->t, o->t->bytes[o->t->size - 1] == '{' ? "" : ",");
	ui_add_id(o->t, w->id.track, w->id.index);
	add(o->t, ":");
	if (i.info.kind == UI_TRACK_SYSCALLS)
		keep_short(&title);
	ui_json_string(o->t, title.size ? title.bytes : "", title.size);
	o->t->failed |= title.failed;
	text_fini(&title);
}

void ui_query_titles(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a)
{
	struct titles o = { .s = s, .q = q, .t = &a->body };
	int64_t end_ns = ui_clock_ns() + TIME_NS;
	struct diag d = { "" };

	if (!ui_has_recording(s, a) || !read_wanted(&o, a))
		return;
	o.reader = ui_reader_take(s->index, s->paths, s->n_paths, s->is_live, q->is_cancelled, &d);
	add(o.t, "{\"titles\":{");
	for (int k = 0; k < o.n && !ui_is_cancelled(q) && (!k || ui_clock_ns() < end_ns); k++)
		add_title(&o, &o.wanted[k]);
	add(o.t, "}}");
	item_calls_close(o.calls);
	ui_reader_give(o.reader);
	if (ui_is_cancelled(q))
		ui_refuse(a, 500, "nobody waits for these titles any more");
	else if (a->body.failed)
		ui_refuse(a, 500, "no memory for titles");
}
