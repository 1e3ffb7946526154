/* SPDX-License-Identifier: MIT */
/*
 * ui/query/events_page.c - the items of a page are found: see events_page.h.
 *
 * Events are read forward only, because their threads and names follow from those before.  A page
 * that ends at a position is found by windows of time before it, each read forward, the next one
 * earlier and longer, until it is full.
 */
#include "ui/query/events_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WORK_NS = 150000000,
	WINDOW_BYTES = 1 << 16,
	WINDOW_MOST_BYTES = 4 << 20,
	BODY_BYTES = 1 << 20, /* a page of events with long texts ends early */
	THREAD_TEXT_MAX = 128,
	SKIP_ROWS_MOST = 64,
	FAR_BYTES = 1 << 17, /* worth another seek */
	QUIET = 4096,	     /* items without a match, before a skip is thought of */
};

/* ---------------------------------------------------------------- one item */

static bool matches(const struct page *p, const struct trace_event *e,
		    const struct thread_identity *who, uint32_t row)
{
	if (p->set.has && (row == UI_NO_ROW || !ui_row_set_has(&p->set, row))) {
		uint32_t cpu = ui_reader_cpu_row(p->reader, e);

		if (cpu == UI_NO_ROW || !ui_row_set_has(&p->set, cpu))
			return false;
	}
	return !p->match || match_event(p->match, e, who);
}

static void add_thread(struct text *t, const struct thread_identity *who)
{
	char name[THREAD_TEXT_MAX] = "";
	int n = 0;

	if (who->size)
		n = snprintf(name, sizeof name, "%.*s", (int)(who->size > 64 ? 64 : who->size),
			     who->name);
	else if (who->tid >= 0)
		n = snprintf(name, sizeof name, "?");
	if (who->tid >= 0)
		n += snprintf(name + n, sizeof name - (size_t)n, ":%" PRId64, who->tid);
	ui_add_key(t, "thread");
	ui_json_string(t, name, (size_t)n);
}

static void add_begin(struct text *t, struct position at, const struct trace_event *e, uint32_t row)
{
	add(t, "{\"pos\":");
	text_addf(t, "\"%" PRId64 ".%" PRIu64 "\"", at.ns, at.n);
	ui_add_member(t, "at", at.ns);
	ui_add_member(t, "cpu", e->cpu == TRACE_CPU_UNKNOWN ? -1 : (int64_t)e->cpu);
	ui_add_member(t, "row", row == UI_NO_ROW ? -1 : (int64_t)row);
}

static void render_event(struct page *p, struct position at, const struct trace_event *e,
			 const struct thread_identity *who, uint32_t row)
{
	struct text *t = &p->rendered;
	const char *fields;
	size_t size;

	fields = ui_reader_fields(p->reader, e, who->pid < 0 ? who->tid : who->pid, &size);
	add_begin(t, at, e, row);
	add_thread(t, who);
	ui_add_string(t, "name", e->ctf->class->name);
	ui_add_key(t, "fields");
	ui_json_string(t, fields, size);
	add(t, "}");
}

static void render_lost(struct page *p, struct position at, const struct trace_event *e)
{
	struct text *t = &p->rendered;

	add_begin(t, at, e, UI_NO_ROW);
	add(t, ",\"thread\":\"\",\"name\":\"\",\"fields\":\"\"");
	ui_add_member(t, "lost", (int64_t)e->lost_events);
	ui_add_member(t, "lost_packets", (int64_t)e->lost_packets);
	add(t, "}");
}

/* Forgets all but the last @limit of the window. */
static void shorten_window(struct page *p)
{
	struct found *first = &p->found[p->window], *kept = &p->found[p->n_found - p->limit];
	size_t less = kept->begin - first->begin;

	p->has_more = true;

	memmove(p->rendered.bytes + first->begin, p->rendered.bytes + kept->begin,
		p->rendered.size - kept->begin);
	p->rendered.size -= less;
	memmove(first, kept, p->limit * sizeof *kept);
	p->n_found = p->window + p->limit;
	for (uint32_t i = p->window; i < p->n_found; i++)
		p->found[i].begin -= less;
}

/* Notes what was rendered since byte @begin.  -ENOMEM. */
static int note_found(struct page *p, struct position at, size_t begin)
{
	if (p->n_found == p->room) {
		uint32_t room = p->room ? p->room * 2 : 256;
		struct found *bigger = reallocarray(p->found, room, sizeof *bigger);

		if (!bigger)
			return -ENOMEM;
		p->found = bigger;
		p->room = room;
	}
	p->found[p->n_found++] = (struct found){ at, begin, p->rendered.size - begin };
	if (p->is_window && p->n_found - p->window >= 2 * p->limit)
		shorten_window(p);
	return p->rendered.failed ? -ENOMEM : 0;
}

static int take_item(struct page *p, int item, struct position at, const struct trace_event *e,
		     const struct thread_identity *who)
{
	size_t begin = p->rendered.size;
	uint32_t row;

	if (item == TRACE_LOST) {
		render_lost(p, at, e);
		return note_found(p, at, begin);
	}
	if (!p->is_wanted[trace_class_number(e)])
		return 0;
	row = who->tid > 0 ? ui_reader_row(p->reader, e, who->tid, at.ns) : UI_NO_ROW;
	if (!matches(p, e, who, row))
		return 0;
	render_event(p, at, e, who, row);
	return note_found(p, at, begin);
}

/* ---------------------------------------------------------------- times without events */

static bool is_off(const struct ui_interval *v)
{
	return v->what == UI_BLOCKED || v->what == UI_RUNNABLE || v->what == UI_PREEMPTED;
}

/* Threads have events only while they run: when the first one of the rows does, at @ns or later. */
static int64_t runs_after(const struct page *p, int64_t ns)
{
	int64_t first = INT64_MAX;

	for (int64_t k = 0; k < p->n_states && first > ns; k++) {
		uint32_t i = ui_track_find(p->reader->index, p->states[k], ns - 1);
		struct ui_interval v;

		while (ui_track_get(p->reader->index, p->states[k], i, &v) && is_off(&v) &&
		       v.begin_ns < first)
			i++;
		if (ui_track_get(p->reader->index, p->states[k], i, &v) && v.begin_ns < first)
			first = v.begin_ns > ns ? v.begin_ns : ns;
	}
	return first;
}

/* When the last one of them did, at @ns or before. */
static int64_t ran_before(const struct page *p, int64_t ns)
{
	int64_t last = INT64_MIN;

	for (int64_t k = 0; k < p->n_states && last < ns; k++) {
		int64_t i = ui_track_find(p->reader->index, p->states[k], ns);
		struct ui_interval v;

		for (; i >= 0; i--) {
			if (!ui_track_get(p->reader->index, p->states[k], (uint32_t)i, &v) ||
			    v.begin_ns > ns)
				continue;
			if (!is_off(&v) || v.end_ns <= last)
				break;
		}
		if (i >= 0 && !is_off(&v) && v.end_ns > last)
			last = v.end_ns < ns ? v.end_ns : ns;
	}
	return last;
}

/* Losses are shown in any table. */
static bool has_gap(const struct page *p, int64_t from, int64_t to)
{
	struct ui_gap gap;

	return ui_index_gaps(p->reader->index, from - 1, to + 1, &gap, 1) > 0;
}

static bool is_far(const struct page *p, int64_t from, int64_t to)
{
	return to > from &&
	       ui_reader_bytes(p->reader, to) - ui_reader_bytes(p->reader, from) > FAR_BYTES;
}

/* Where reading forward from @first may begin. */
static struct position skip_forward(const struct page *p, struct position first)
{
	int64_t next = p->n_states ? runs_after(p, first.ns) : first.ns;

	if (next > p->to)
		next = p->to;
	return is_far(p, first.ns, next) && !has_gap(p, first.ns, next)
		       ? (struct position){ next, 0 }
		       : first;
}

static struct position skip_back(const struct page *p, struct position end)
{
	int64_t last = p->n_states ? ran_before(p, end.ns) : end.ns;

	if (last < p->from)
		last = p->from;
	return last < end.ns && is_far(p, last, end.ns) && !has_gap(p, last, end.ns)
		       ? (struct position){ last + 1, 0 }
		       : end;
}

/* The states of the rows, if they are threads alone, and followed. */
static int list_states(struct page *p)
{
	struct ui_row row;
	uint32_t n = 0;

	for (uint32_t r = 0; r < p->set.n_rows && n <= SKIP_ROWS_MOST; r++) {
		if (!ui_row_set_has(&p->set, r) || !ui_index_row(p->reader->index, r, &row) ||
		    row.kind == UI_ROW_PROCESS)
			continue;
		if (row.kind != UI_ROW_THREAD || row.is_partial)
			return 0;
		n++;
	}
	if (!n || n > SKIP_ROWS_MOST)
		return 0;
	p->n_states = ui_tracks_of(p->reader->index, &p->set, UI_TRACK_STATES, &p->states);
	if (p->n_states < 0)
		return -ENOMEM;
	if (p->n_states != n)
		p->n_states = 0; /* of some all times must be looked at */
	return 0;
}

int page_prepare(struct page *p, struct diag *d)
{
	uint32_t n = trace_n_classes(p->reader->trace);

	p->is_wanted = calloc(n + (size_t)1, sizeof *p->is_wanted);
	if (!p->is_wanted || (p->set.has && list_states(p)))
		return diag_fail(d, -ENOMEM, "no memory for a page of events");
	for (uint32_t i = 0; i < n; i++)
		p->is_wanted[i] = p->reader->is_shown[i] && (!p->match || match_may(p->match, i));
	return 0;
}

void page_fini(struct page *p)
{
	free(p->is_wanted);
	free(p->states);
	free(p->found);
	text_fini(&p->rendered);
}

/* ---------------------------------------------------------------- reading */

static bool is_late(const struct page *p)
{
	return ui_is_cancelled(p->q) || ui_clock_ns() > p->deadline_ns;
}

static bool is_full(const struct page *p)
{
	return p->n_found >= p->limit || p->rendered.size >= BODY_BYTES;
}

/*
 * Reads items in [@first, @end); but a window ends only at @end: else until the page is full or the time
 * is over.  Returns 1: @end was reached; 2: what comes next is quiet for long; 0: neither; or -errno.
 */
static int read_items(struct page *p, struct position first, struct position end, struct diag *d)
{
	struct position at = { INT64_MIN, 0 };
	struct thread_identity who;
	struct trace_event e;
	uint32_t n = 0, n_found = p->n_found, quiet = 0;
	int item, err = ui_reader_seek(p->reader, first.ns, d);

	while (!err && (p->is_window || !is_full(p))) {
		item = ui_reader_skim(p->reader, p->is_wanted, &e, &who, d);
		if (item <= 0)
			return item < 0 ? item : 1;
		at.n = e.time_ns - p->reader->begin_ns == at.ns ? at.n + 1 : 0;
		at.ns = e.time_ns - p->reader->begin_ns;
		if (!position_is_before(at, end))
			return 1;
		if (position_is_before(at, first))
			continue;
		err = take_item(p, item, at, &e, &who);
		p->looked = at;
		p->has_looked = true;
		if (++n % 256 != 0 || p->is_window)
			continue;
		quiet = p->n_found > n_found ? 0 : quiet + 256;
		n_found = p->n_found;
		if (is_late(p))
			return err;
		if (quiet >= QUIET && !err && skip_forward(p, at).ns > at.ns)
			return 2;
	}
	return err ? diag_fail(d, err, "no memory for a page of events") : 0;
}

int page_read_forward(struct page *p, struct position first, struct diag *d)
{
	const struct position end = { p->to, UINT64_MAX };
	int got;

	p->deadline_ns = ui_clock_ns() + WORK_NS;
	do {
		got = read_items(p, skip_forward(p, first), end, d);
		first = (struct position){ p->looked.ns, p->looked.n + 1 };
	} while (got == 2);
	p->is_end = got == 1;
	p->is_whole = p->is_end || is_full(p);
	return got < 0 ? got : 0;
}

/* The time before @end with about @bytes of the recording in between. */
static int64_t time_before(const struct page *p, int64_t end, uint64_t bytes)
{
	uint64_t last = ui_reader_bytes(p->reader, end);
	int64_t low = p->from, high = end;

	while (low < high) { /* the first time with at most @bytes behind it */
		int64_t middle = low + (high - low) / 2;

		if (last - ui_reader_bytes(p->reader, middle) > bytes)
			low = middle + 1;
		else
			high = middle;
	}
	return low < end ? low : end > p->from ? end - 1 : end;
}

/* Puts what was found in the window before what was found in later ones. */
static int put_first(struct page *p)
{
	uint32_t n = p->n_found - p->window;
	struct found *copy = malloc((n + (size_t)1) * sizeof *copy);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, p->found + p->window, n * sizeof *copy);
	memmove(p->found + n, p->found, p->window * sizeof *copy);
	memcpy(p->found, copy, n * sizeof *copy);
	free(copy);
	return 0;
}

static void keep_last(struct page *p)
{
	uint32_t n = p->n_found > p->limit ? p->n_found - p->limit : 0;

	if (n)
		memmove(p->found, p->found + n, p->limit * sizeof *p->found);
	p->n_found -= n;
}

int page_read_back(struct page *p, struct position end, struct diag *d)
{
	uint64_t bytes = WINDOW_BYTES;
	int got = 1;

	p->deadline_ns = ui_clock_ns() + WORK_NS;
	p->is_window = true;
	while (got >= 0 && !is_full(p)) {
		struct position begin;

		end = skip_back(p, end);
		begin = (struct position){ time_before(p, end.ns, bytes), 0 };
		if (!position_is_before(begin, end))
			break;
		p->window = p->n_found;
		got = read_items(p, begin, end, d);
		if (got >= 0 && p->window && p->n_found > p->window && put_first(p))
			got = diag_fail(d, -ENOMEM, "no memory for a page of events");
		end = begin;
		bytes = bytes < WINDOW_MOST_BYTES ? bytes * 2 : bytes;
		if (is_late(p))
			break;
	}
	p->is_end = end.ns <= p->from && !end.n && p->n_found <= p->limit && !p->has_more;
	p->is_whole = p->is_end || is_full(p);
	p->looked = end;
	keep_last(p);
	return got < 0 ? got : 0;
}
