/* SPDX-License-Identifier: MIT */
/*
 * trace/batch.c - many events at once, with all their fields: see trace_batch(), and internal.h.
 *
 * Each stream is decoded ahead by a block of some dozen events, in one go and within one packet;
 * the merge picks from the blocks.  What is no row - a loss, damage, other fields, a packet's end -
 * is never in a block: the stream comes to it as ever, one item at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

/* The item that @s stands on, and what comes behind it. */
static bool fill(struct stream *s)
{
	struct stream_batch *r = s->rows;
	struct ctf_reader ahead;

	if (s->item != TRACE_EVENT || !s->event.class->program->loads)
		return false;
	if (!r) {
		r = s->rows = malloc(sizeof *r);
		if (r) {
			r->ctf.is_mixed = false;
			r->ctf.fast.stream = NULL;
		}
	}
	if (!r || !ctf_event_columns(&s->event, r->ctf.columns))
		return false;
	r->ctf.base_ns = s->base_ns;
	r->ctf.stream = s->info.number;
	r->ctf.cpu = s->cpu;
	r->ctf.rows[0] =
		(struct ctf_row){ s->time_ns, s->event.class->number, s->info.number, s->cpu,
				  0,	      r->ctf.columns };
	r->ctf.clock[0] = s->reader.clock;
	r->ctf.n = 1;
	r->ctf.n_columns = s->event.class->program->n_columns;
	r->given = 0;
	s->rows_left = true;
	memcpy(r->slots, s->slots, sizeof r->slots);
	ahead = s->reader;
	ahead.slots = r->slots;
	ctf_reader_batch(&ahead, &r->ctf);
	s->reader.at = ahead.at;
	s->reader.clock = ahead.clock;
	stream_trim_sometimes(s);
	for (uint32_t i = 1; i < r->ctf.n && s->freq; i++)
		r->ctf.rows[i].time_ns = stream_to_ns(s, r->ctf.clock[i]);
	return true;
}

/* @n rows of @s are given. */
static void count_given(struct stream *s, uint32_t n)
{
	struct stream_batch *r = s->rows;

	r->given += n;
	s->rows_left = r->given < r->ctf.n;
	s->time_ns = r->ctf.rows[r->given - !s->rows_left].time_ns;
}

/* Gives rows of @s, which is before all others, as long as it is.  Returns how many. */
static uint32_t give_one(const struct trace *t, struct stream *s, struct ctf_row *rows,
			 uint32_t n_rows)
{
	/* Of one time the lower number is first; so there is a time that is less than that of
	 * @next. */
	int64_t last =
		t->next ? t->next->time_ns - (s->info.number > t->next->info.number) : INT64_MAX;
	const struct ctf_row *row = s->rows->ctf.rows + s->rows->given;
	uint32_t left = s->rows->ctf.n - s->rows->given, n = 0;

	n_rows = n_rows < left ? n_rows : left;
	do
		rows[n] = row[n];
	while (++n < n_rows && row[n].time_ns <= last);
	count_given(s, n);
	return n;
}

/* The first of all streams but heap[0] and heap[@second], or INT64_MAX. */
static int64_t third_ns(const struct trace *t, uint32_t second)
{
	const uint32_t places[] = { 3 - second, 2 * second + 1, 2 * second + 2 };
	int64_t first = INT64_MAX;

	for (int i = 0; i < 3; i++)
		if (places[i] < t->n_heap && t->heap[places[i]]->time_ns < first)
			first = t->heap[places[i]]->time_ns;
	return first;
}

/*
 * Gives rows of the first two streams, as long as all others are later, and both have any left. Two
 * that take turns every few events are the rule, one on each CPU: which is next cannot be foreseen,
 * so nothing jumps. Returns how many; it may be none.  The one whose block is spent is the first
 * then: it gave the last row.
 */
static uint32_t give_two(struct trace *t, uint32_t second, struct ctf_row *rows, uint32_t n_rows)
{
	struct stream *s[2] = { t->heap[0], t->heap[second] };
	const struct ctf_row *a = s[0]->rows->ctf.rows + s[0]->rows->given, *a_first = a;
	const struct ctf_row *b = s[1]->rows->ctf.rows + s[1]->rows->given, *b_first = b;
	const struct ctf_row *a_end = s[0]->rows->ctf.rows + s[0]->rows->ctf.n;
	const struct ctf_row *b_end = s[1]->rows->ctf.rows + s[1]->rows->ctf.n;
	bool a_wins = s[0]->info.number < s[1]->info.number; /* of one time */
	int64_t limit = third_ns(t, second);
	struct ctf_row *to = rows;

	for (;;) {
		size_t n = (size_t)(a_end - a) < (size_t)(b_end - b) ? (size_t)(a_end - a)
								     : (size_t)(b_end - b);

		n = n < n_rows - (size_t)(to - rows) ? n : n_rows - (size_t)(to - rows);
		if (!n)
			break;
		for (; n; n--) {
			bool is_a =
				(a->time_ns < b->time_ns) | ((a->time_ns == b->time_ns) & a_wins);
			uintptr_t mask = -(uintptr_t)is_a;
			const struct ctf_row *row =
				(const struct ctf_row *)(((uintptr_t)a & mask) |
							 ((uintptr_t)b & ~mask));

			if (unlikely(row->time_ns >= limit))
				goto done;
			*to++ = *row;
			a += is_a;
			b += !is_a;
		}
	}
done:
	if (a != a_first)
		count_given(s[0], (uint32_t)(a - a_first));
	if (b != b_first)
		count_given(s[1], (uint32_t)(b - b_first));
	if (b == b_end) {
		t->heap[0] = s[1];
		t->heap[second] = s[0];
	}
	t->is_spent = a == a_end || b == b_end;
	trace_sink(t, second);
	return (uint32_t)(to - rows);
}

/* To what is not given yet.  A stream at its end needs no more blocks. */
static void move_on(struct trace *t)
{
	struct stream *s = t->n_heap ? t->heap[0] : NULL;

	if (t->mode == TRACE_FORWARD || t->is_spent)
		trace_advance(t);
	else if (t->mode != TRACE_ROWS)
		trace_turn_forward(t);
	t->mode = TRACE_ROWS;
	t->is_spent = false;
	if (s && s->item == TRACE_END) {
		free(s->rows);
		s->rows = NULL;
	}
}

/* Whether all that @s has decoded comes before what @next stands on. */
static bool is_run(const struct stream *s, const struct stream *next)
{
	return s->rows->ctf.rows[s->rows->ctf.n - 1].time_ns < next->time_ns;
}

static uint32_t give(struct trace *t, struct ctf_row *rows, uint32_t n_rows)
{
	struct stream *s = t->heap[0], *next = t->next;
	uint32_t n = 0;

	if (next && !is_run(s, next) && (next->rows_left || fill(next)))
		n = give_two(t, next == t->heap[1] ? 1 : 2, rows, n_rows);
	if (!n) {
		n = give_one(t, s, rows, n_rows);
		t->is_spent = !s->rows_left;
	}
	trace_heap_sift(t);
	return n;
}

uint32_t trace_batch(struct trace *t, struct ctf_row *rows, uint32_t n_rows)
{
	uint32_t n = 0;

	if (t->follow || !n_rows)
		return 0;
	move_on(t);
	/* A spent block ends it: only when what was lent is not asked for any more the stream may
	 * leave its packet. */
	while (t->n_heap && n < n_rows && !t->is_spent) {
		if (!t->heap[0]->rows_left && !fill(t->heap[0]))
			break;
		n += give(t, rows + n, n_rows - n);
	}
	return n;
}

void trace_unread(struct stream *s)
{
	const struct stream_batch *r = s->rows;
	uint32_t before;

	if (!s->rows_left)
		return;
	s->rows_left = false;
	before = r->given ? r->given - 1
			  : 0; /* the first is what it stood on when the others were decoded */
	s->reader.clock = r->ctf.clock[before];
	if (before + 1 < r->ctf.n)
		s->reader.at = r->ctf.from[before + 1];
	if (r->given)
		stream_next(s);
}

void trace_leave_batch(struct trace *t)
{
	if (t->mode == TRACE_ROWS) {
		if (t->is_spent)
			trace_advance(t);
		t->is_spent = false;
		t->mode = TRACE_FRESH;
	}
	for (uint32_t i = 0; i < t->n_streams; i++)
		trace_unread(t->streams[i]);
}
