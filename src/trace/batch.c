/* SPDX-License-Identifier: MIT */
/*
 * trace/batch.c - returns many events at once, with all their fields: trace_batch().
 *
 * Each stream decodes a block of some dozen events ahead, in one pass and within one packet; the
 * merge picks rows from the blocks.  A block holds nothing but rows.  A loss, damage, other kinds
 * of fields and the end of a packet end it: the stream handles them one item at a time.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

/* Fills the block with the current event of @s and those after it. */
static bool fill(struct stream *s)
{
	struct stream_batch *r = s->batch;
	struct ctf_reader ahead;

	if (s->item != TRACE_EVENT || !s->event.class->program->loads)
		return false;
	if (!r) {
		r = s->batch = malloc(sizeof *r);
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
	r->n_given = 0;
	s->has_rows = true;
	memcpy(r->slots, s->slots, sizeof r->slots);
	ahead = s->reader;
	ahead.slots = r->slots;
	ctf_reader_batch(&ahead, &r->ctf);
	s->reader.at = ahead.at;
	s->reader.clock = ahead.clock;
	s->reader.back_at = ahead.back_at;
	stream_trim_sometimes(s);
	for (uint32_t i = 1; i < r->ctf.n && s->freq; i++)
		r->ctf.rows[i].time_ns = stream_to_ns(s, r->ctf.clock[i]);
	return true;
}

/* Marks @n rows of @s as returned. */
static void count_taken(struct stream *s, uint32_t n)
{
	struct stream_batch *r = s->batch;

	assert(n <= r->ctf.n - r->n_given);
	r->n_given += n;
	s->has_rows = r->n_given < r->ctf.n;
	s->time_ns = r->ctf.rows[r->n_given - !s->has_rows].time_ns;
}

/* Returns rows of @s, the first stream, while it stays first.  Returns their number. */
static uint32_t take_first(const struct trace *t, struct stream *s, struct ctf_row *rows,
			   uint32_t n_rows)
{
	/* At equal times the lower stream number is first, so one inclusive limit is enough. */
	int64_t last =
		t->next ? t->next->time_ns - (s->info.number > t->next->info.number) : INT64_MAX;
	const struct ctf_row *row = s->batch->ctf.rows + s->batch->n_given;
	uint32_t left = s->batch->ctf.n - s->batch->n_given, n = 0;

	n_rows = n_rows < left ? n_rows : left;
	do
		rows[n] = row[n];
	while (++n < n_rows && row[n].time_ns <= last);
	count_taken(s, n);
	return n;
}

/* The earliest time of all streams but heap[0] and heap[@second], or INT64_MAX. */
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
 * Returns rows of the first two streams, while all others are later and both have rows left.
 *
 * Two streams that alternate every few events are common, one for each CPU.  Which is next cannot
 * be predicted, so the loop selects without a branch.  Returns the number of rows, which may be 0.
 * The stream whose block is spent is then the first: it gave the last row.
 */
static uint32_t take_from_two(struct trace *t, uint32_t second, struct ctf_row *rows,
			      uint32_t n_rows)
{
	struct stream *s[2] = { t->heap[0], t->heap[second] };
	const struct ctf_row *a = s[0]->batch->ctf.rows + s[0]->batch->n_given, *a_first = a;
	const struct ctf_row *b = s[1]->batch->ctf.rows + s[1]->batch->n_given, *b_first = b;
	const struct ctf_row *a_end = s[0]->batch->ctf.rows + s[0]->batch->ctf.n;
	const struct ctf_row *b_end = s[1]->batch->ctf.rows + s[1]->batch->ctf.n;
	bool a_wins = s[0]->info.number < s[1]->info.number; /* at equal times */
	int64_t limit = third_ns(t, second);
	struct ctf_row *to = rows;

	assert(second == 1 || second == 2);
	assert(s[0]->has_rows && s[1]->has_rows);
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
		count_taken(s[0], (uint32_t)(a - a_first));
	if (b != b_first)
		count_taken(s[1], (uint32_t)(b - b_first));
	if (b == b_end) {
		t->heap[0] = s[1];
		t->heap[second] = s[0];
	}
	t->is_spent = a == a_end || b == b_end;
	trace_sink(t, second);
	return (uint32_t)(to - rows);
}

/* Positions the trace on what is not returned yet.  A stream at its end needs no more blocks. */
static void position(struct trace *t)
{
	struct stream *s = t->n_heap ? t->heap[0] : NULL;

	if (t->mode == TRACE_FORWARD || t->is_spent)
		trace_advance(t);
	else if (t->mode != TRACE_ROWS)
		trace_turn_forward(t);
	t->mode = TRACE_ROWS;
	t->is_spent = false;
	if (s && s->item == TRACE_END) {
		free(s->batch);
		s->batch = NULL;
	}
}

/* Whether all events that @s decoded ahead precede the current item of @next. */
static bool is_run(const struct stream *s, const struct stream *next)
{
	assert(s->has_rows);
	return s->batch->ctf.rows[s->batch->ctf.n - 1].time_ns < next->time_ns;
}

static uint32_t take_rows(struct trace *t, struct ctf_row *rows, uint32_t n_rows)
{
	struct stream *s = t->heap[0], *next = t->next;
	uint32_t n = 0;

	if (next && !is_run(s, next) && (next->has_rows || fill(next)))
		n = take_from_two(t, next == t->heap[1] ? 1 : 2, rows, n_rows);
	if (!n) {
		n = take_first(t, s, rows, n_rows);
		t->is_spent = !s->has_rows;
	}
	trace_heap_sift(t);
	return n;
}

uint32_t trace_batch(struct trace *t, struct ctf_row *rows, uint32_t n_rows)
{
	uint32_t n = 0;

	if (t->follow || !n_rows)
		return 0;
	position(t);
	assert(t->mode == TRACE_ROWS && !t->is_spent);
	/* A spent block ends the batch: the stream may leave its packet only after the rows in it
	 * were used. */
	while (t->n_heap && n < n_rows && !t->is_spent) {
		if (!t->heap[0]->has_rows && !fill(t->heap[0]))
			break;
		n += take_rows(t, rows + n, n_rows - n);
	}
	return n;
}

void trace_unread(struct stream *s)
{
	const struct stream_batch *r = s->batch;
	uint32_t before;

	if (!s->has_rows)
		return;
	s->has_rows = false;
	/* The first row is the event the cursor was on when the block was filled. */
	before = r->n_given ? r->n_given - 1 : 0;
	s->reader.clock = r->ctf.clock[before];
	if (before + 1 < r->ctf.n)
		s->reader.at = r->ctf.from[before + 1];
	if (r->n_given)
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
