/* SPDX-License-Identifier: MIT */
/*
 * ctf/decode/batch.c - ctf_reader_batch(): many events of a packet, each with all its fields.
 *
 * There are two passes.  The first goes from event to event, and finds the time of each and the
 * place of its columns.  It reads no field except strings, which it must skip.  The second takes
 * one class after another, of that class one field after another, and decodes that field for all
 * events.  So each decision is made once for many numbers, and no branch depends on the class of
 * the next event.
 *
 * An event that is not a fixed number of bytes followed by strings, or whose class has no free
 * entry, gets its columns in the first pass.
 */
#include <assert.h>

#include "ctf/decode/columns.h"
#include "ctf/decode/next.h"

enum {
	NO_ID = UINT32_MAX,
	LONG_ID = NO_ID - 1, /* of no class: its header is extended */
	AHEAD = 512	     /* bytes to prefetch: like the processor, but across pages */
};

/* ---------------------------------------------------------------- the second pass */

#define FILL_NUMBERS(type)                                                                         \
	for (uint32_t k = 0; k < n; k++) {                                                         \
		const uint8_t *from = bodies[numbers[k]] + l->at;                                  \
		struct ctf_column *to = (struct ctf_column *)rows[numbers[k]].columns + cell;      \
		type v;                                                                            \
                                                                                                   \
		for (uint32_t i = l->n; i; i--, from += sizeof v, to++) {                          \
			memcpy(&v, from, sizeof v);                                                \
			to->i = (int64_t)v;                                                        \
		}                                                                                  \
	}                                                                                          \
	cell += l->n;                                                                              \
	break

/* Loads the numbers; the strings are there already. */
static void load_columns(const struct ctf_fast_class *s, const struct ctf_row *rows,
			 const uint8_t *const *bodies, const uint8_t *packet)
{
	const struct ctf_program *p = s->class->program;
	const uint16_t *numbers = s->rows;
	uint32_t n = s->n, cell = 0;

	for (const struct ctf_load *l = p->loads;; l++) {
		switch ((enum ctf_load_code)l->code) {
		case LOAD_U8:
			FILL_NUMBERS(uint8_t);
		case LOAD_I8:
			FILL_NUMBERS(int8_t);
		case LOAD_U16:
			FILL_NUMBERS(uint16_t);
		case LOAD_I16:
			FILL_NUMBERS(int16_t);
		case LOAD_I24:
			for (uint32_t k = 0; k < n; k++)
				columns_i24((struct ctf_column *)rows[numbers[k]].columns + cell,
					    bodies[numbers[k]] + l->at, l->n);
			cell += l->n;
			break;
		case LOAD_U32:
			FILL_NUMBERS(uint32_t);
		case LOAD_I32:
			FILL_NUMBERS(int32_t);
		case LOAD_64:
			FILL_NUMBERS(uint64_t);
		case LOAD_NUMBER:
			for (uint32_t k = 0; k < n; k++)
				columns_number(p->columns[cell], packet,
					       (uint64_t)(bodies[numbers[k]] - packet) * 8,
					       (struct ctf_column *)rows[numbers[k]].columns +
						       cell);
			cell++;
			break;
		case LOAD_TEXT_ARRAY:
			for (uint32_t k = 0; k < n; k++)
				columns_text((struct ctf_column *)rows[numbers[k]].columns + cell,
					     bodies[numbers[k]] + l->at, l->count);
			cell++;
			break;
		case LOAD_RUN: /* the only one */
			break;
		default: /* LOAD_STRING, LOAD_END */
			return;
		}
	}
}

/* ---------------------------------------------------------------- the first pass */

/* The state between events. */
struct scan {
	const uint8_t *p, *stop;
	uint64_t clock;
	struct ctf_column *cell;
	uint32_t n;
	uint32_t n_changes; /* of class */
};

/* Reads the strings of an event, from byte @p on, into the last of its columns.  Returns the
 * position after them, or NULL. */
static inline __attribute__((always_inline)) const uint8_t *
take_strings(const uint8_t *p, const uint8_t *stop, struct ctf_column *columns, uint32_t n)
{
	for (; n; n--, columns++) {
		columns_text(columns, p, (uint64_t)(stop - p));
		p += columns->size + 1;
		if (unlikely(p > stop))
			return NULL;
	}
	return p;
}

/* Reads a header of *head bytes, and its id: LONG_ID if it is extended or cut. */
static inline __attribute__((always_inline)) uint32_t
wide_header(const uint8_t *p, const uint8_t *stop, uint64_t *clock, uint32_t *head)
{
	uint32_t v = next_u32(p), id = v & 31;

	*head = 4;
	*clock = next_clock(*clock, v >> 5, 27);
	if (likely(id < 30))
		return id;
	if (id == 31 || stop - p < 6)
		return LONG_ID;
	*head = 6;
	return p[4] | (uint32_t)p[5] << 8;
}

/* Reads a header that is not extended.  Returns its id. */
static inline __attribute__((always_inline)) uint32_t
short_header(const uint8_t *p, enum ctf_header kind, uint64_t *clock)
{
	uint32_t v = next_u32(p);

	if (kind == CTF_HEADER_COMPACT) {
		*clock = next_clock(*clock, v >> 5, 27);
		return v & 31;
	}
	if (kind == CTF_HEADER_KERNEL) {
		*clock = next_clock(*clock, v, 32);
		return p[4] | (uint32_t)p[5] << 8;
	}
	*clock = next_clock(*clock, next_u32(p + 2), 32);
	return v & 0xffff;
}

/* Reads events with short headers of classes that have an entry; with @guesses, only of class
 * @last, so that no event waits for the look-up of the class of the event before. */
static inline __attribute__((always_inline)) void
scan_fast(struct scan *scan, struct ctf_batch *rows, struct ctf_fast_classes *fast,
	  enum ctf_header kind, bool guesses, uint32_t last)
{
	uint32_t head = kind == CTF_HEADER_COMPACT || kind == CTF_HEADER_WIDE ? 4 : 6;
	struct ctf_column *cell = scan->cell,
			  *last_cell = rows->columns + CTF_ROW_COLUMNS - CTF_COLUMNS_MAX;
	const uint8_t *p = scan->p, *stop = scan->stop, *body, *next;
	uint64_t clock = scan->clock, then = clock, base_ns = rows->base_ns;
	uint32_t n = scan->n, n_changes = 0, stream = rows->stream, cpu = rows->cpu, id;
	struct ctf_fast_class *s = &fast->entries[last % CTF_FAST_CLASSES];

	for (; n < CTF_ROWS && cell <= last_cell &&
	       (size_t)(stop - p) >= (kind == CTF_HEADER_WIDE ? 4 : head);
	     p = next, clock = then) {
		id = kind == CTF_HEADER_WIDE ? wide_header(p, stop, &then, &head)
					     : short_header(p, kind, &then);
		if (guesses) {
			if (unlikely(id != last))
				break;
		} else {
			if (unlikely(id != fast->ids[id % CTF_FAST_CLASSES]))
				break;
			s = &fast->entries[id % CTF_FAST_CLASSES];
			n_changes += id != last;
			last = id;
		}
		body = p + head;
		if (unlikely((size_t)(stop - body) < s->size))
			break;
		__builtin_prefetch(body + AHEAD);
		next = body + s->size;
		if (s->n_strings) {
			next = take_strings(next, stop, cell + s->n_columns - s->n_strings,
					    s->n_strings);
			if (unlikely(!next))
				break;
		}
		rows->from[n] = (uint64_t)(p - fast->packet) * 8;
		rows->clock[n] = then;
		rows->rows[n] = (struct ctf_row){
			(int64_t)(base_ns + then), s->number, stream, cpu, 0, cell
		};
		fast->body[n] = body;
		s->rows[s->n++] = (uint16_t)n++;
		cell += s->n_columns;
	}
	scan->p = p;
	scan->clock = clock;
	scan->cell = cell;
	scan->n = n;
	scan->n_changes += n_changes;
}

/* Whether the events of @class, with @id, may have an entry; if so it is made. */
static bool make_fast(const struct ctf_reader *r, struct ctf_fast_classes *fast,
		      const struct ctf_event_class *class, uint32_t id, uint32_t first_long)
{
	struct ctf_fast_class *s = &fast->entries[id % CTF_FAST_CLASSES];
	const struct ctf_by_id *known;

	if (id >= r->stream->n_by_id || id >= first_long)
		return false;
	if (fast->ids[id % CTF_FAST_CLASSES] == id)
		return true;
	known = &r->stream->by_id[id];
	if (fast->ids[id % CTF_FAST_CLASSES] != NO_ID || known->size_bits % 8 ||
	    !(known->size_bits || known->n_strings))
		return false;
	fast->ids[id % CTF_FAST_CLASSES] = id;
	fast->used[fast->n_used++] = (uint8_t)(id % CTF_FAST_CLASSES);
	s->class = class;
	s->number = class->number;
	s->n_columns = class->program->n_columns;
	s->n_strings = known->n_strings;
	s->size = known->size_bits / 8;
	s->n = 0;
	return true;
}

/* Reads one event of any kind at r->at, with its columns.  Returns its id, or NO_ID: it is not a
 * row. */
static inline __attribute__((always_inline)) uint32_t
scan_slow(struct ctf_reader *r, struct scan *scan, struct ctf_batch *rows, enum ctf_header kind,
	  const struct ctf_event_class **class)
{
	uint64_t at = r->at, end;
	uint32_t id;

	if (!next_header_of(r, kind, &id))
		return NO_ID;
	*class = ctf_stream_event(r->stream, id);
	if (!*class || !(*class)->program || !(*class)->program->loads)
		return NO_ID;
	end = columns_take((*class)->program, r->packet, r->at, r->end, r->slots, scan->cell);
	if (end <= at)
		return NO_ID;
	rows->from[scan->n] = at;
	rows->clock[scan->n] = r->clock;
	rows->rows[scan->n++] = (struct ctf_row){ (int64_t)(rows->base_ns + r->clock),
						  (*class)->number,
						  rows->stream,
						  rows->cpu,
						  0,
						  scan->cell };
	scan->cell += (*class)->program->n_columns;
	r->at = end;
	return id;
}

/* Works on a copy of the reader, and stores only the state after complete events. */
static inline __attribute__((always_inline)) void scan_rows(struct ctf_reader *reader,
							    struct ctf_batch *rows,
							    struct ctf_fast_classes *fast,
							    enum ctf_header kind)
{
	struct ctf_reader r = { .stream = reader->stream,
				.packet = reader->packet,
				.at = reader->at,
				.end = reader->end,
				.clock = reader->clock,
				.slots = reader->slots,
				.first = reader->first,
				.back_at = reader->back_at };
	const struct ctf_column *last_cell = rows->columns + CTF_ROW_COLUMNS - CTF_COLUMNS_MAX;
	bool is_short = kind == CTF_HEADER_COMPACT || kind == CTF_HEADER_WIDE ||
			kind == CTF_HEADER_LARGE || kind == CTF_HEADER_KERNEL;
	uint32_t first_long = kind == CTF_HEADER_COMPACT ? 31
			      : kind == CTF_HEADER_WIDE	 ? 65536
			      : kind == CTF_HEADER_LARGE ? 65535
							 : NO_ID,
		 id;
	struct scan scan = { .cell = rows->columns + rows->n_columns,
			     .n = rows->n,
			     .stop = r.packet + r.end / 8 };
	const struct ctf_event_class *class;

	while (scan.n < CTF_ROWS && scan.cell <= last_cell && r.at < r.end) {
		id = scan_slow(&r, &scan, rows, kind, &class);
		if (id == NO_ID)
			break;
		reader->at = r.at;
		reader->clock = r.clock;
		reader->back_at = r.back_at;
		scan.n_changes++;
		if (!is_short || r.at & 7 || !make_fast(&r, fast, class, id, first_long))
			continue;
		scan.p = r.packet + r.at / 8;
		scan.clock = r.clock;
		if (rows->is_mixed)
			scan_fast(&scan, rows, fast, kind, false, id);
		else
			scan_fast(&scan, rows, fast, kind, true, id);
		reader->at = r.at = (uint64_t)(scan.p - r.packet) * 8;
		reader->clock = r.clock = scan.clock;
	}
	rows->is_mixed = scan.n_changes > (scan.n - rows->n) / 8;
	rows->n = scan.n;
	rows->n_columns = (uint32_t)(scan.cell - rows->columns);
	assert(rows->n <= CTF_ROWS && rows->n_columns <= CTF_ROW_COLUMNS);
}

static void scan_all(struct ctf_reader *r, struct ctf_batch *rows, struct ctf_fast_classes *fast)
{
	switch (r->stream->header_kind) {
	case CTF_HEADER_COMPACT:
		return scan_rows(r, rows, fast, CTF_HEADER_COMPACT);
	case CTF_HEADER_WIDE:
		return scan_rows(r, rows, fast, CTF_HEADER_WIDE);
	case CTF_HEADER_LARGE:
		return scan_rows(r, rows, fast, CTF_HEADER_LARGE);
	case CTF_HEADER_KERNEL:
		return scan_rows(r, rows, fast, CTF_HEADER_KERNEL);
	case CTF_HEADER_NONE:
		return scan_rows(r, rows, fast, CTF_HEADER_NONE);
	default:
		return scan_rows(r, rows, fast, CTF_HEADER_GENERIC);
	}
}

/* The entries of classes are kept from call to call. */
static void reset_fast_classes(struct ctf_fast_classes *fast, const struct ctf_stream_class *stream)
{
	memset(fast->ids, 0xff, sizeof fast->ids);
	fast->n_used = 0;
	fast->stream = stream;
}

void ctf_reader_batch(struct ctf_reader *r, struct ctf_batch *rows)
{
	struct ctf_fast_classes *fast = &rows->fast;

	if (fast->stream != r->stream)
		reset_fast_classes(fast, r->stream);
	fast->packet = r->packet;
	scan_all(r, rows, fast);
	assert(fast->n_used <= CTF_FAST_CLASSES);
	for (uint32_t i = 0; i < fast->n_used; i++) {
		struct ctf_fast_class *s = &fast->entries[fast->used[i]];

		if (s->n)
			load_columns(s, rows->rows, fast->body, r->packet);
		s->n = 0;
	}
}
