/* SPDX-License-Identifier: MIT */
/*
 * ctf/decode/batch.c - many events of a packet, each with all its fields: ctf_reader_batch().
 *
 * In two passes.  The first goes from event to event, and knows of each when it was and where its
 * cells will be; it looks at no field but the strings, which it must pass.  The second takes one
 * class after the other, of that one field after the other, of that all events: what is to be done
 * is decided once for many numbers, and no jump depends on which event comes next.
 *
 * An event that is not so many bytes and then strings, or for whose class there is no room, has its
 * cells at once.
 */
#include "ctf/decode/columns.h"
#include "ctf/decode/next.h"

enum {
	NO_ID = UINT32_MAX,
	AHEAD = 512 /* bytes to fetch ahead: as the processor does, but across pages */
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

/* The strings are there already. */
static void fill(const struct ctf_sort *s, const struct ctf_row *rows, const uint8_t *const *bodies,
		 const uint8_t *packet)
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

/* Between events. */
struct take {
	const uint8_t *p, *stop;
	uint64_t clock;
	struct ctf_column *cell;
	uint32_t n;
	uint32_t n_changes; /* of class */
};

/* The strings of an event, from byte @p on, to the last of its cells.  Returns the place behind
 * them, or NULL. */
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

/* A header that is not an extended one.  Returns its id. */
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

/* Events with short headers of classes that have their sort; with @guesses, of class @last alone:
 * no event waits then for what is known of the one before. */
static inline __attribute__((always_inline)) void
take_sorts(struct take *take, struct ctf_batch *rows, struct ctf_sorts *sorts, enum ctf_header kind,
	   bool guesses, uint32_t last)
{
	const uint32_t head = kind == CTF_HEADER_COMPACT ? 4 : 6;
	struct ctf_column *cell = take->cell,
			  *last_cell = rows->columns + CTF_ROW_CELLS - CTF_CELLS_MAX;
	const uint8_t *p = take->p, *stop = take->stop, *body, *next;
	uint64_t clock = take->clock, then = clock, base_ns = rows->base_ns;
	uint32_t n = take->n, n_changes = 0, stream = rows->stream, cpu = rows->cpu, id;
	struct ctf_sort *s = &sorts->of[last % CTF_SORTS];

	for (; n < CTF_ROWS && cell <= last_cell && (size_t)(stop - p) >= head;
	     p = next, clock = then) {
		id = short_header(p, kind, &then);
		if (guesses) {
			if (unlikely(id != last))
				break;
		} else {
			if (unlikely(id != sorts->ids[id % CTF_SORTS]))
				break;
			s = &sorts->of[id % CTF_SORTS];
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
		rows->from[n] = (uint64_t)(p - sorts->packet) * 8;
		rows->clock[n] = then;
		rows->rows[n] = (struct ctf_row){
			(int64_t)(base_ns + then), s->number, stream, cpu, 0, cell
		};
		sorts->body[n] = body;
		s->rows[s->n++] = (uint16_t)n++;
		cell += s->n_columns;
	}
	take->p = p;
	take->clock = clock;
	take->cell = cell;
	take->n = n;
	take->n_changes += n_changes;
}

/* Whether the events of @class, of @id, may have a sort, and get it. */
static bool has_sort(const struct ctf_reader *r, struct ctf_sorts *sorts,
		     const struct ctf_event_class *class, uint32_t id, uint32_t first_long)
{
	struct ctf_sort *s = &sorts->of[id % CTF_SORTS];
	const struct ctf_by_id *known;

	if (id >= r->stream->n_by_id || id >= first_long)
		return false;
	if (sorts->ids[id % CTF_SORTS] == id)
		return true;
	known = &r->stream->by_id[id];
	if (sorts->ids[id % CTF_SORTS] != NO_ID || known->size_bits % 8 ||
	    !(known->size_bits || known->n_strings))
		return false;
	sorts->ids[id % CTF_SORTS] = id;
	sorts->used[sorts->n_used++] = (uint8_t)(id % CTF_SORTS);
	s->class = class;
	s->number = class->number;
	s->n_columns = class->program->n_columns;
	s->n_strings = known->n_strings;
	s->size = known->size_bits / 8;
	s->n = 0;
	return true;
}

/* One event of any kind, at r->at, with its cells.  Its id, or NO_ID: it is no row. */
static inline __attribute__((always_inline)) uint32_t
take_any(struct ctf_reader *r, struct take *take, struct ctf_batch *rows, enum ctf_header kind,
	 const struct ctf_event_class **class)
{
	uint64_t at = r->at, end;
	uint32_t id;

	if (!next_header_of(r, kind, &id))
		return NO_ID;
	*class = ctf_stream_event(r->stream, id);
	if (!*class || !(*class)->program || !(*class)->program->loads)
		return NO_ID;
	end = columns_take((*class)->program, r->packet, r->at, r->end, r->slots, take->cell);
	if (end <= at)
		return NO_ID;
	rows->from[take->n] = at;
	rows->clock[take->n] = r->clock;
	rows->rows[take->n++] = (struct ctf_row){ (int64_t)(rows->base_ns + r->clock),
						  (*class)->number,
						  rows->stream,
						  rows->cpu,
						  0,
						  take->cell };
	take->cell += (*class)->program->n_columns;
	r->at = end;
	return id;
}

/* The reader is a copy; only what is whole is taken over. */
static inline __attribute__((always_inline)) void take_rows(struct ctf_reader *reader,
							    struct ctf_batch *rows,
							    struct ctf_sorts *sorts,
							    enum ctf_header kind)
{
	struct ctf_reader r = { .stream = reader->stream,
				.packet = reader->packet,
				.at = reader->at,
				.end = reader->end,
				.clock = reader->clock,
				.slots = reader->slots };
	const struct ctf_column *last_cell = rows->columns + CTF_ROW_CELLS - CTF_CELLS_MAX;
	bool is_short =
		kind == CTF_HEADER_COMPACT || kind == CTF_HEADER_LARGE || kind == CTF_HEADER_KERNEL;
	uint32_t first_long = kind == CTF_HEADER_COMPACT ? 31
			      : kind == CTF_HEADER_LARGE ? 65535
							 : NO_ID,
		 id;
	struct take take = { .cell = rows->columns + rows->n_columns,
			     .n = rows->n,
			     .stop = r.packet + r.end / 8 };
	const struct ctf_event_class *class;

	while (take.n < CTF_ROWS && take.cell <= last_cell && r.at < r.end) {
		id = take_any(&r, &take, rows, kind, &class);
		if (id == NO_ID)
			break;
		reader->at = r.at;
		reader->clock = r.clock;
		take.n_changes++;
		if (!is_short || r.at & 7 || !has_sort(&r, sorts, class, id, first_long))
			continue;
		take.p = r.packet + r.at / 8;
		take.clock = r.clock;
		if (rows->is_mixed)
			take_sorts(&take, rows, sorts, kind, false, id);
		else
			take_sorts(&take, rows, sorts, kind, true, id);
		reader->at = r.at = (uint64_t)(take.p - r.packet) * 8;
		reader->clock = r.clock = take.clock;
	}
	rows->is_mixed = take.n_changes > (take.n - rows->n) / 8;
	rows->n = take.n;
	rows->n_columns = (uint32_t)(take.cell - rows->columns);
}

static void take_all(struct ctf_reader *r, struct ctf_batch *rows, struct ctf_sorts *sorts)
{
	switch (r->stream->header_kind) {
	case CTF_HEADER_COMPACT:
		return take_rows(r, rows, sorts, CTF_HEADER_COMPACT);
	case CTF_HEADER_LARGE:
		return take_rows(r, rows, sorts, CTF_HEADER_LARGE);
	case CTF_HEADER_KERNEL:
		return take_rows(r, rows, sorts, CTF_HEADER_KERNEL);
	case CTF_HEADER_NONE:
		return take_rows(r, rows, sorts, CTF_HEADER_NONE);
	default:
		return take_rows(r, rows, sorts, CTF_HEADER_GENERIC);
	}
}

/* What is known of classes stays from call to call. */
static void forget_sorts(struct ctf_sorts *sorts, const struct ctf_stream_class *stream)
{
	memset(sorts->ids, 0xff, sizeof sorts->ids);
	sorts->n_used = 0;
	sorts->stream = stream;
}

void ctf_reader_batch(struct ctf_reader *r, struct ctf_batch *rows)
{
	struct ctf_sorts *sorts = &rows->sorts;

	if (sorts->stream != r->stream)
		forget_sorts(sorts, r->stream);
	sorts->packet = r->packet;
	take_all(r, rows, sorts);
	for (uint32_t i = 0; i < sorts->n_used; i++) {
		struct ctf_sort *s = &sorts->of[sorts->used[i]];

		if (s->n)
			fill(s, rows->rows, sorts->body, r->packet);
		s->n = 0;
	}
}
