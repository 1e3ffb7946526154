/* SPDX-License-Identifier: MIT */
/* ui/query/events.c - /api/events: a page of the event table. */
#include "ui/query/events_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_MOST = 1000 };

/* ---------------------------------------------------------------- parameters */

/* "123.4" */
static bool read_position(const char *s, struct position *at)
{
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	at->ns = strtoll(s, &end, 10);
	if (errno || *end != '.' || end[1] < '0' || end[1] > '9')
		return false;
	at->n = strtoull(end + 1, &end, 10);
	return !errno && !*end && at->n < UINT32_MAX && at->ns < 1ll << 60;
}

struct asked {
	struct position begin; /* or end, going back */
	int64_t direction, limit;
	const char *filter; /* NULL: none */
};

static bool read_asked(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a,
		       struct page *p, struct asked *asked)
{
	const char *after, *at;
	int64_t ns;

	if (!ui_param_range(s, q, a, &p->from, &p->to) ||
	    !ui_param_int(q, a, "direction", -1, 1, 1, &asked->direction) ||
	    !ui_param_int(q, a, "limit", 1, EVENTS_MOST, 200, &asked->limit) ||
	    !ui_param_text(q, a, "filter", &asked->filter) ||
	    !ui_param_text(q, a, "after", &after) || !ui_param_text(q, a, "at", &at) ||
	    !ui_param_int(q, a, "at", -(1ll << 60), 1ll << 60, 0, &ns))
		return false;
	p->is_back = asked->direction < 0;
	p->limit = (uint32_t)asked->limit;
	if (p->from < 0)
		p->from = 0;
	if (after && !read_position(after, &asked->begin)) {
		ui_refuse(a, 400, "%s: parameter after is no position, as in 123456.0: %.60s",
			  q->path, after);
		return false;
	}
	if (after)
		asked->begin.n += !p->is_back;
	else if (at)
		asked->begin = (struct position){ ns, 0 };
	else
		asked->begin = p->is_back ? (struct position){ p->to, UINT64_MAX }
					  : (struct position){ p->from, 0 };
	if (position_is_before(asked->begin, (struct position){ p->from, 0 }))
		asked->begin = (struct position){ p->from, 0 };
	if (position_is_before((struct position){ p->to, UINT64_MAX }, asked->begin))
		asked->begin = (struct position){ p->to, UINT64_MAX };
	if (asked->direction)
		return ui_row_set_read(s, q, a, &p->set);
	ui_refuse(a, 400, "%s: parameter direction is 1 or -1", q->path);
	return false;
}

/* The filter's own message, and the byte that it is about, which it names by its column. */
static void refuse_filter(struct ui_answer *a, const char *why)
{
	const char *column = strstr(why, "column ");

	ui_refuse(a, 400, "%s", why);
	if (!column || strncmp(why, "filter", 6))
		return;
	a->body.size--; /* its closing brace */
	ui_add_member(&a->body, "position", atoll(column + 7) - 1);
	add(&a->body, "}");
}

static bool open_filter(struct page *p, const char *filter, struct ui_answer *a)
{
	struct diag d = { "" };
	int err;

	if (!filter || !*filter)
		return true;
	err = match_open(&p->match, p->reader->trace, filter, p->reader->is_shown, &d);
	if (err == -ENOMEM)
		ui_refuse(a, 500, "%s", d.text);
	else if (err)
		refuse_filter(a, d.text);
	return !err;
}

/* ---------------------------------------------------------------- the answer */

static void add_position(struct text *t, const char *name, const struct position *at)
{
	ui_add_key(t, name);
	if (at)
		text_addf(t, "\"%" PRId64 ".%" PRIu64 "\"", at->ns, at->n);
	else
		add(t, "null");
}

/* Where to go on. */
static void add_cursors(struct text *t, const struct page *p, struct position begin, bool is_open)
{
	const struct position *first = p->n_found ? &p->found[0].at : NULL,
			      *last = p->n_found ? &p->found[p->n_found - 1].at : NULL;
	bool is_full_page = p->is_whole && !p->is_end;

	if (p->is_back) {
		const struct position *earlier = is_full_page ? first : &p->looked;
		bool is_last = begin.ns == p->to && begin.n == UINT64_MAX;

		add_position(t, "earlier", p->is_end ? NULL : earlier);
		add_position(t, "later", is_last && !is_open ? NULL : last);
	} else {
		const struct position *later = is_full_page    ? last
					       : p->has_looked ? &p->looked
							       : NULL;
		bool is_first = begin.ns == p->from && !begin.n;

		add_position(t, "earlier", is_first ? NULL : first ? first : &begin);
		add_position(t, "later", p->is_end && !is_open ? NULL : later);
	}
}

static void add_searched(struct text *t, const struct page *p, struct position begin)
{
	int64_t from = p->is_back ? p->looked.ns : begin.ns;
	int64_t to = p->is_back ? begin.ns : p->is_end ? p->to : p->looked.ns;

	if (p->n_found && p->is_back && p->is_whole && !p->is_end)
		from = p->found[0].at.ns;
	ui_add_key(t, "searched");
	text_addf(t, "[%" PRId64 ",%" PRId64 "]", from, to > from ? to : from);
}

/* By the bytes of packets: events are of different sizes, so these are estimates. */
static void add_estimates(struct text *t, const struct page *p, struct position begin,
			  uint64_t n_events)
{
	bool is_all = p->is_end && (p->is_back ? begin.ns == p->to && begin.n == UINT64_MAX
					       : begin.ns == p->from && !begin.n);
	uint64_t all = ui_reader_bytes(p->reader, INT64_MAX);
	uint64_t from = ui_reader_bytes(p->reader, p->from);
	double each = all ? (double)n_events / (double)all : 0;
	int64_t first = p->n_found ? p->found[0].at.ns : begin.ns;
	uint64_t n = ui_reader_bytes(p->reader, p->to + 1) - from;
	uint64_t before = ui_reader_bytes(p->reader, first) - from;

	ui_add_member(t, "n", is_all ? p->n_found : (int64_t)((double)n * each));
	ui_add_member(t, "before", is_all ? 0 : (int64_t)((double)before * each));
	ui_add_key(t, "is_exact");
	add(t, is_all ? "true" : "false");
}

static void add_page(const struct ui_subject *s, struct ui_answer *a, const struct page *p,
		     struct position begin)
{
	struct text *t = &a->body;
	struct ui_index_status status;

	ui_index_status(s->index, &status);
	add(t, "{\"events\":[");
	for (uint32_t i = 0; i < p->n_found; i++) {
		add(t, i ? "," : "");
		text_add(t, p->rendered.bytes + p->found[i].begin, p->found[i].size);
	}
	add(t, "]");
	add_cursors(t, p, begin, s->is_live && p->to >= status.ready_ns);
	add_searched(t, p, begin);
	ui_add_key(t, "is_whole");
	add(t, p->is_whole ? "true" : "false");
	add_estimates(t, p, begin, status.n_events);
	add(t, "}");
}

static void answer_page(const struct ui_subject *s, struct ui_answer *a, struct page *p,
			const struct asked *asked)
{
	struct diag d = { "" };
	int err;

	p->reader =
		ui_reader_take(s->index, s->paths, s->n_paths, s->is_live, p->q->is_cancelled, &d);
	if (!p->reader) {
		ui_refuse(a, 500, "%s", d.text);
		return;
	}
	if (!open_filter(p, asked->filter, a))
		return;
	p->looked = asked->begin;
	err = page_prepare(p, &d);
	if (!err)
		err = p->is_back ? page_read_back(p, asked->begin, &d)
				 : page_read_forward(p, asked->begin, &d);
	if (err)
		ui_refuse(a, 500, "the events cannot be read: %s", d.text);
	else
		add_page(s, a, p, asked->begin);
}

void ui_query_events(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a)
{
	struct page p = { .q = q };
	struct asked asked = { .limit = 0 };

	if (ui_has_recording(s, a) && read_asked(s, q, a, &p, &asked))
		answer_page(s, a, &p, &asked);
	match_close(p.match);
	ui_reader_give(p.reader);
	ui_row_set_fini(&p.set);
	page_fini(&p);
}
