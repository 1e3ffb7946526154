/* SPDX-License-Identifier: MIT */
/*
 * trace/rows.c - many events at once, with all their fields: see trace_rows(), and inside.h.
 *
 * Each stream is decoded ahead by a block of some dozen events, in one go and within one packet; the merge picks
 * from the blocks.  What is no row - a loss, damage, other fields, a packet's end - is never in a block: the
 * stream comes to it as ever, one item at a time.
 */
#include <stdlib.h>

#include "trace/inside.h"

/* The item that @s stands on, and what comes behind it. */
static bool fill(struct stream *s)
{
	struct stream_rows *r = s->rows;

	if (s->item != TRACE_EVENT || !s->event.class->program->loads)
		return false;
	if (!r)
		r = s->rows = malloc(sizeof *r);
	if (!r || !ctf_event_cells(&s->event, r->ctf.cells))
		return false;
	r->ctf.rows[0] = (struct ctf_row){ .clock = s->reader.clock, .class = s->event.class, .cells = r->ctf.cells };
	r->ctf.n = 1;
	r->ctf.n_cells = s->event.class->program->n_cells;
	r->given = 0;
	s->rows_left = true;
	ctf_reader_rows(&s->reader, &r->ctf);
	return true;
}

/* Gives rows of @s, which is before all others, as long as it is.  Returns how many. */
static uint32_t give(const struct trace *t, struct stream *s, struct trace_row *rows, uint32_t n_rows)
{
	/* Of one time the lower number is first; so there is a time that is less than that of @next. */
	int64_t last = t->next ? t->next->time_ns - (s->info.number > t->next->info.number) : INT64_MAX;
	struct stream_rows *r = s->rows;
	const struct ctf_row *row = r->ctf.rows + r->given, *end = r->ctf.rows + r->ctf.n;
	uint32_t number = s->info.number, cpu = s->cpu;
	struct trace_row *to = rows, *full = rows + n_rows;
	uint64_t base_ns = s->base_ns;
	int64_t time_ns = s->time_ns;
	bool is_ns = !s->freq;

	do {
		*to++ = (struct trace_row){ time_ns, row->class->number, number, cpu, 0, row->cells };
		if (++row == end)
			break;
		time_ns = is_ns ? (int64_t)(base_ns + row->clock) : stream_to_ns(s, row->clock);
	} while (time_ns <= last && to < full);
	r->given = (uint32_t)(row - r->ctf.rows);
	s->rows_left = row != end;
	s->time_ns = time_ns;
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

uint32_t trace_rows(struct trace *t, struct trace_row *rows, uint32_t n_rows)
{
	uint32_t n = 0;

	if (t->follow || !n_rows)
		return 0;
	move_on(t);
	/* A spent block ends it: only when what was lent is not asked for any more the stream may leave its packet. */
	while (t->n_heap && n < n_rows && !t->is_spent) {
		struct stream *s = t->heap[0];

		if (!s->rows_left && !fill(s))
			break;
		n += give(t, s, rows + n, n_rows - n);
		t->is_spent = !s->rows_left;
		if (!t->is_spent)
			trace_settle(t);
	}
	return n;
}

void trace_unread(struct stream *s)
{
	const struct stream_rows *r = s->rows;

	if (!s->rows_left)
		return;
	s->rows_left = false;
	s->reader.at = r->ctf.rows[r->given].from;
	s->reader.clock = r->ctf.rows[r->given - 1].clock;
	stream_next(s);
}

void trace_leave_rows(struct trace *t)
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
