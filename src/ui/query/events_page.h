/* SPDX-License-Identifier: MIT */
/*
 * ui/query/events_page.h - the items of a page of the event table, found and rendered.
 *
 * Invariants:
 *   (1) a position is a time and the number of items before it that have the same time: it means the
 *       same item in any request
 *   (2) a page is read in about 0.2 s, and says up to where it looked
 *   (3) what goes on from a page's position looks at something new
 */
#ifndef UI_QUERY_EVENTS_PAGE_H
#define UI_QUERY_EVENTS_PAGE_H

#include "trace/filter/match.h"
#include "ui/query/answers.h"
#include "ui/reader/reader.h"

struct position {
	int64_t ns;
	uint64_t n; /* items of this time before it */
};

struct found {
	struct position at;
	size_t begin, size; /* of its JSON in `rendered` */
};

struct page {
	const struct ui_request *q;
	struct ui_reader *reader;
	struct match *match;
	struct ui_row_set set;
	bool *is_wanted;  /* by class: shown, and the filter may match */
	uint32_t *states; /* tracks of the rows, if there are few and nothing else was asked for */
	int64_t n_states; /* 0: all times are looked at */
	int64_t from, to; /* both included */
	bool is_back;
	uint32_t limit;
	struct text rendered;
	struct found *found; /* ascending */
	uint32_t n_found, room;
	bool is_window;		/* going back: only the last ones of a window count, */
	bool has_more;		/* and there were more */
	uint32_t window;	/* its first in `found` */
	struct position looked; /* the last item that was looked at */
	bool has_looked;
	int64_t deadline_ns;
	bool is_whole; /* the span's end was reached, or the page is full */
	bool is_end;   /* the span's end was reached */
};

static inline bool position_is_before(struct position a, struct position b)
{
	return a.ns != b.ns ? a.ns < b.ns : a.n < b.n;
}

/* page_prepare - after reader, filter and rows are there.  -ENOMEM with the reason in @d.  page_fini - what
 * it made. */
int page_prepare(struct page *p, struct diag *d);
void page_fini(struct page *p);

/* page_read_forward - items from @first on.  page_read_back - the latest items before @end.  0 or -errno,
 * reason in @d. */
int page_read_forward(struct page *p, struct position first, struct diag *d);
int page_read_back(struct page *p, struct position end, struct diag *d);

#endif
