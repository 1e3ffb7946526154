/* SPDX-License-Identifier: MIT */
/* ctf/cells.c - see cells.h; and many events of a packet, each with all its fields. */
#include "ctf/cells.h"

#include <errno.h>
#include <stdlib.h>

#include "ctf/step.h"

static bool is_cell(const struct ctf_op *op)
{
	return !op->is_hidden && (op->code == OP_NUMBER || op->code == OP_STRING || op->code == OP_TEXT_ARRAY ||
				  op->code == OP_TEXT_SEQUENCE);
}

static bool lies_in_run(const struct ctf_op *op)
{
	return op->code == OP_NUMBER || op->code == OP_TEXT_ARRAY || op->code == OP_ARRAY;
}

/* What is hidden and moves would have to be moved over: such a class has no cells. */
static bool is_possible(const struct ctf_program *p)
{
	uint32_t n = 0;

	for (const struct ctf_op *op = p->ops; op->code != OP_END; op++) {
		if (op->code != OP_RUN && op->code != OP_SAVE && !is_cell(op) && !(op->is_hidden && lies_in_run(op)))
			return false;
		n += is_cell(op);
	}
	return n <= CTF_CELLS_MAX;
}

static enum ctf_load_code number_code(const struct ctf_op *op)
{
	if (!op->is_plain || op->type->kind == CTF_FLOAT)
		return LOAD_NUMBER;
	switch (op->size_bits) {
	case 8:
		return op->is_signed ? LOAD_I8 : LOAD_U8;
	case 16:
		return op->is_signed ? LOAD_I16 : LOAD_U16;
	case 32:
		return op->is_signed ? LOAD_I32 : LOAD_U32;
	case 64:
		return LOAD_64;
	}
	return LOAD_NUMBER;
}

static struct ctf_load load_of(const struct ctf_program *p, const struct ctf_op *op)
{
	struct ctf_load l = { .slot = op->slot, .n = 1, .at = op->offset_bits / 8, .count = op->count };

	switch (op->code) {
	case OP_RUN:
		l.code = LOAD_RUN;
		l.n = op->align_bits;
		break;
	case OP_SAVE:
		l.code = LOAD_SAVE;
		l.n = (uint32_t)(op - p->ops);
		break;
	case OP_STRING:
		l.code = LOAD_STRING;
		break;
	case OP_TEXT_SEQUENCE:
		l.code = LOAD_TEXT_SEQUENCE;
		l.n = op->align_bits;
		break;
	case OP_TEXT_ARRAY:
		l.code = LOAD_TEXT_ARRAY;
		break;
	case OP_NUMBER:
		l.code = (uint8_t)number_code(op);
		l.count = op->size_bits / 8;
		break;
	default:
		l.code = LOAD_END;
	}
	return l;
}

/* Whether @l is of the kind of @before, and directly behind it. */
static bool continues(const struct ctf_load *before, const struct ctf_load *l)
{
	return l->code < LOAD_NUMBER && l->code == before->code && l->at == before->at + before->n * before->count;
}

/* Returns how many; there are not more than operations. */
static uint32_t list_loads(const struct ctf_program *p, struct ctf_load *loads, const struct ctf_op **cells)
{
	uint32_t n = 0, n_cells = 0;

	for (const struct ctf_op *op = p->ops;; op++) {
		if (lies_in_run(op) && !is_cell(op))
			continue;
		loads[n] = load_of(p, op);
		if (is_cell(op))
			cells[n_cells++] = op;
		if (n && continues(&loads[n - 1], &loads[n]))
			loads[n - 1].n++;
		else
			n++;
		if (op->code == OP_END)
			return n;
	}
}

int ctf_cells_compile(struct ctf_meta *m, struct ctf_program *p)
{
	const struct ctf_op *cells[CTF_CELLS_MAX];
	struct ctf_load *loads, *kept;
	uint32_t n;

	if (!is_possible(p))
		return 0;
	for (const struct ctf_op *op = p->ops; op->code != OP_END; op++)
		p->n_cells += is_cell(op);
	loads = calloc(p->n_ops, sizeof *loads);
	n = loads ? list_loads(p, loads, cells) : 0;
	kept = ctf_meta_alloc(m, n * sizeof *kept);
	p->cells = ctf_meta_alloc(m, (p->n_cells + (size_t)1) * sizeof *p->cells);
	if (!loads || !kept || !p->cells) {
		free(loads);
		return -ENOMEM;
	}
	memcpy(kept, loads, n * sizeof *kept);
	memcpy(p->cells, cells, p->n_cells * sizeof *cells);
	p->loads = kept;
	free(loads);
	return 0;
}

bool ctf_event_cells(const struct ctf_event *e, struct ctf_cell *cells)
{
	const struct ctf_program *p = e->class->program;

	return p->loads && cells_take(p, e->packet, e->body_bits, e->end_bits, e->slots, cells);
}

/* The class of @id if its events have cells. */
static const struct ctf_event_class *rows_class(const struct ctf_reader *r, uint32_t id)
{
	const struct ctf_event_class *class = ctf_stream_event(r->stream, id);

	return class && class->program && class->program->loads ? class : NULL;
}

/* The reader is a copy, which stays in registers; only what is whole is taken over.  That an event is of the class of
 * the last one is a guess: else each would wait for the look-ups of the one before. */
static inline __attribute__((always_inline)) void take_rows(struct ctf_reader *reader, struct ctf_rows *rows,
							    enum ctf_header kind)
{
	struct ctf_reader r = { .stream = reader->stream, .packet = reader->packet, .at = reader->at,
				.end = reader->end, .clock = reader->clock, .slots = reader->slots };
	struct ctf_cell *cell = rows->cells + rows->n_cells, *stop = rows->cells + CTF_ROW_CELLS - CTF_CELLS_MAX;
	struct ctf_row *row = rows->rows + rows->n, *full = rows->rows + CTF_ROWS;
	uint64_t at = r.at, clock = r.clock, end;
	const struct ctf_event_class *class = rows_class(&r, 0);
	const struct ctf_program *p = class ? class->program : NULL;
	uint32_t id, last = 0;

	for (; row < full && cell <= stop && at < r.end; at = end) {
		r.at = at;
		if (unlikely(!step_header_of(&r, kind, &id)))
			break;
		if (id != last) {
			class = rows_class(&r, id);
			p = class ? class->program : NULL;
			last = id;
		}
		if (unlikely(!p))
			break;
		end = cells_take(p, r.packet, r.at, r.end, r.slots, cell);
		if (unlikely(end <= at))
			break;
		*row++ = (struct ctf_row){ r.clock, at, class, cell };
		cell += p->n_cells;
		clock = r.clock;
	}
	rows->n = (uint32_t)(row - rows->rows);
	rows->n_cells = (uint32_t)(cell - rows->cells);
	reader->at = at;
	reader->clock = clock;
}

void ctf_reader_rows(struct ctf_reader *r, struct ctf_rows *rows)
{
	switch (r->stream->header_kind) {
	case CTF_HEADER_COMPACT:
		return take_rows(r, rows, CTF_HEADER_COMPACT);
	case CTF_HEADER_LARGE:
		return take_rows(r, rows, CTF_HEADER_LARGE);
	case CTF_HEADER_KERNEL:
		return take_rows(r, rows, CTF_HEADER_KERNEL);
	case CTF_HEADER_NONE:
		return take_rows(r, rows, CTF_HEADER_NONE);
	default:
		return take_rows(r, rows, CTF_HEADER_GENERIC);
	}
}
