/* SPDX-License-Identifier: MIT */
/*
 * read/values.c - reads fields of events: one, all, as a tree, as columns, in batches: duet/read.h.
 *
 * A class of numbers and texts alone is decoded as columns in one pass; other classes are walked
 * field by field.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "read/internal.h"

enum { COLUMNS_MAX = 64, BATCH = 256, ALONE = 8 };

static void show_number(struct duet_read_value *v, const struct ctf_op *op,
			const struct ctf_column *cell)
{
	const struct ctf_type *t = op->type;

	if (t->kind == CTF_FLOAT) {
		v->kind = DUET_READ_REAL;
		v->as.real = cell->real;
		return;
	}
	v->as.u = cell->u;
	v->base = t->base;
	v->is_signed = op->is_signed;
	v->kind = op->is_signed ? DUET_READ_INT : DUET_READ_UINT;
	if (t->n_members) {
		v->kind = DUET_READ_LABEL;
		v->label = ctf_enum_label(t, cell->u);
	}
}

void read_forget_texts(struct duet_read *r)
{
	while (r->texts) {
		struct read_text *t = r->texts;

		r->texts = t->next;
		text_fini(&t->text);
		free(t);
	}
}

static void show_text(struct duet_read *r, struct duet_read_value *v, const struct ctf_value *c)
{
	struct read_text *t = c->encoding == CTF_UTF8 ? NULL : calloc(1, sizeof *t);
	size_t size = c->size;

	v->as.text = c->text;
	if (t) {
		t->next = r->texts;
		r->texts = t;
		v->as.text = encoding_text(c, &t->text, &size);
	}
	v->size = (uint32_t)size;
}

static void show_found(struct duet_read *r, struct duet_read_value *v, enum ctf_found found,
		       const struct ctf_value *c)
{
	static const uint8_t kinds[] = {
		[CTF_WALK_END] = DUET_READ_NONE,    [CTF_INT] = DUET_READ_INT,
		[CTF_UINT] = DUET_READ_UINT,	    [CTF_REAL] = DUET_READ_REAL,
		[CTF_TEXT] = DUET_READ_TEXT,	    [CTF_LABEL] = DUET_READ_LABEL,
		[CTF_OPEN] = DUET_READ_STRUCT,	    [CTF_CLOSE] = DUET_READ_STRUCT_END,
		[CTF_OPEN_ARRAY] = DUET_READ_ARRAY, [CTF_CLOSE_ARRAY] = DUET_READ_ARRAY_END,
	};

	*v = (struct duet_read_value){ .kind = kinds[found] };
	if (found == CTF_WALK_END)
		return;
	v->name = c->name;
	if (found == CTF_REAL) {
		v->as.real = c->real;
	} else if (found == CTF_TEXT) {
		show_text(r, v, c);
	} else if (found <= CTF_LABEL) {
		v->as.u = c->u;
		v->base = c->base;
		v->is_signed = c->is_signed;
		v->label = found == CTF_LABEL ? c->label : NULL;
	} else if (found == CTF_OPEN_ARRAY) {
		v->as.u = c->u;
	}
}

void read_field(struct duet_read *r, const struct ctf_op *op, struct duet_read_value *v)
{
	const struct ctf_event *e = r->event.ctf;
	struct ctf_value c = { 0 };
	struct ctf_column number;

	assert(e && op);
	if (op->code == OP_NUMBER && op->type->kind != CTF_FLOAT &&
	    ctf_event_number(e, op, &number.i)) {
		*v = (struct duet_read_value){ .name = op->name };
		show_number(v, op, &number);
		return;
	}
	show_found(r, v, ctf_event_value(e, op, &c), &c);
}

static const struct read_class *current(const struct duet_read *r)
{
	return r->has_event ? r->classes[trace_class_number(&r->event)] : NULL;
}

int duet_read_get(struct duet_read *r, uint32_t field, struct duet_read_value *v)
{
	const struct read_class *c = current(r);

	if (!c || field >= c->public.n_fields)
		return -EINVAL;
	read_field(r, c->ops[field], v);
	return 0;
}

static void show_cell(struct duet_read_value *v, const struct ctf_op *op,
		      const struct ctf_column *cell)
{
	*v = (struct duet_read_value){ .name = op->name };
	if (op->code == OP_NUMBER)
		return show_number(v, op, cell);
	v->kind = DUET_READ_TEXT;
	v->as.text = cell->text;
	v->size = (uint32_t)cell->size;
}

int duet_read_values(struct duet_read *r, struct duet_read_value *values)
{
	const struct read_class *c = current(r);
	struct ctf_column cells[CTF_COLUMNS_MAX];
	bool has_cells;

	if (!c)
		return -EINVAL;
	has_cells = ctf_event_columns(r->event.ctf, cells);
	for (uint32_t i = 0; i < c->public.n_fields; i++)
		if (has_cells)
			show_cell(&values[i], c->ops[i], &cells[i]);
		else
			read_field(r, c->ops[i], &values[i]);
	return 0;
}

int duet_read_walk(struct duet_read *r, struct duet_read_value *v)
{
	struct ctf_value c = { 0 };
	enum ctf_found found;

	if (!r->has_event)
		return 0;
	if (!r->is_walking)
		ctf_walk_event(&r->walk, r->event.ctf, CTF_CONTEXT);
	do
		found = ctf_walk_next(&r->walk, &c);
	while (found != CTF_WALK_END && c.is_hidden);
	r->is_walking = found != CTF_WALK_END;
	show_found(r, v, found, &c);
	return r->is_walking;
}

uint32_t duet_read_numbers(struct duet_read *r, struct duet_read_value *v, uint64_t *numbers,
			   uint32_t most)
{
	struct ctf_value c;
	uint32_t n =
		r->has_event && r->is_walking ? ctf_walk_numbers(&r->walk, &c, numbers, most) : 0;

	if (n)
		*v = (struct duet_read_value){ .kind = c.is_signed ? DUET_READ_INT : DUET_READ_UINT,
					       .base = c.base,
					       .is_signed = c.is_signed };
	return n;
}

static bool is_column(const struct read_class *c, const struct duet_read_column *column)
{
	uint32_t kind;

	if (column->field < 0)
		return column->field >= DUET_READ_ROW_CLASS;
	if (!c || (uint32_t)column->field >= c->public.n_fields)
		return false;
	kind = c->public.fields[column->field].kind;
	return kind >= DUET_READ_INT && kind <= DUET_READ_LABEL;
}

static void put_property(const struct duet_read *r, int32_t which, void *rows, size_t row)
{
	if (which == DUET_READ_ROW_TIME)
		((int64_t *)rows)[row] = r->event.time_ns;
	else if (which == DUET_READ_ROW_CPU)
		((uint32_t *)rows)[row] = r->event.cpu;
	else
		((uint32_t *)rows)[row] = which == DUET_READ_ROW_STREAM
						  ? r->event.stream->number
						  : trace_class_number(&r->event);
}

static void put_value(const struct duet_read_value *v, uint32_t kind, void *rows, size_t row)
{
	bool is_there = v->kind != DUET_READ_NONE;

	if (kind == DUET_READ_TEXT)
		((struct duet_read_text *)rows)[row] =
			is_there ? (struct duet_read_text){ v->as.text, v->size }
				 : (struct duet_read_text){ "", 0 };
	else if (kind == DUET_READ_REAL)
		((double *)rows)[row] = is_there ? v->as.real : 0;
	else
		((int64_t *)rows)[row] = is_there ? v->as.i : 0;
}

static void put_row(struct duet_read *r, const struct read_class *c,
		    const struct duet_read_column *columns, int n, size_t row)
{
	struct ctf_column cells[CTF_COLUMNS_MAX];
	bool has_cells = c && n > 2 && ctf_event_columns(r->event.ctf, cells);
	struct duet_read_value v;

	for (int i = 0; i < n; i++) {
		int32_t f = columns[i].field;

		if (f < 0) {
			put_property(r, f, columns[i].rows, row);
			continue;
		}
		if (has_cells)
			show_cell(&v, c->ops[f], &cells[f]);
		else
			read_field(r, c->ops[f], &v);
		put_value(&v, c->public.fields[f].kind, columns[i].rows, row);
	}
}

/* Copies column @c of the rows that @selected lists, to the output from @row on. */
static void put_column(const struct read_class *class, const struct duet_read_column *c,
		       const struct ctf_row *rows, const uint16_t *selected, uint32_t n, size_t row)
{
	struct duet_read_text *texts = c->rows;
	uint32_t *heads = c->rows;
	int64_t *numbers = c->rows;

	if (c->field == DUET_READ_ROW_TIME) {
		for (uint32_t i = 0; i < n; i++)
			numbers[row + i] = rows[selected[i]].time_ns;
	} else if (c->field < 0) {
		for (uint32_t i = 0; i < n; i++)
			heads[row + i] = c->field == DUET_READ_ROW_CPU ? rows[selected[i]].cpu
					 : c->field == DUET_READ_ROW_STREAM
						 ? rows[selected[i]].stream
						 : rows[selected[i]].class_number;
	} else if (class->public.fields[c->field].kind == DUET_READ_TEXT) {
		for (uint32_t i = 0; i < n; i++) {
			const struct ctf_column *cell = &rows[selected[i]].columns[c->field];

			texts[row + i] = (struct duet_read_text){ cell->text, cell->size };
		}
	} else { /* an integer, or the bits of a double */
		for (uint32_t i = 0; i < n; i++)
			numbers[row + i] = rows[selected[i]].columns[c->field].i;
	}
}

/* Reads one batch and copies its events of class @c.  *@row is advanced by their number.  Returns
 * the number of events read. */
static uint32_t put_batch(struct duet_read *r, const struct read_class *c,
			  const struct duet_read_column *columns, int n_columns, size_t *row,
			  size_t n_rows)
{
	struct ctf_row rows[BATCH];
	uint16_t selected[BATCH];
	uint32_t n = trace_batch(r->trace, rows,
				 n_rows - *row < BATCH ? (uint32_t)(n_rows - *row) : BATCH),
		 n_selected = 0;

	for (uint32_t i = 0; i < n; i++) {
		selected[n_selected] = (uint16_t)i;
		n_selected += rows[i].class_number == c->ctf->number;
	}
	for (int i = 0; i < n_columns && n_selected; i++)
		put_column(c, &columns[i], rows, selected, n_selected, *row);
	assert(n_selected <= n_rows - *row);
	*row += n_selected;
	return n;
}

static bool has_fields(const struct duet_read_column *columns, int n)
{
	while (n > 0 && columns[n - 1].field < 0)
		n--;
	return n;
}

int64_t duet_read_rows(struct duet_read *r, uint32_t class_number,
		       const struct duet_read_column *columns, int n_columns, size_t n_rows)
{
	bool is_any = class_number == DUET_READ_ANY_CLASS;
	const struct read_class *c =
		is_any || class_number >= r->n_classes ? NULL : r->classes[class_number];
	bool by_batches =
		c && c->ctf->program && c->ctf->program->loads && has_fields(columns, n_columns);
	/* Events to read one by one before the next batch: an attempt that fails is expensive. */
	uint32_t n_alone = 0;
	size_t row = 0;
	int got = 0;

	if ((!c && !is_any) || n_columns < 0 || n_columns > COLUMNS_MAX)
		return -EINVAL;
	for (int i = 0; i < n_columns; i++)
		if (!is_column(c, &columns[i]))
			return -EINVAL;
	r->has_event = false;
	read_forget_texts(r);
	trace_hold(r->trace, true);
	while (row < n_rows) {
		if (by_batches && !n_alone) {
			if (put_batch(r, c, columns, n_columns, &row, n_rows))
				continue;
			n_alone = ALONE;
		}
		n_alone -= n_alone > 0;
		got = trace_next(r->trace, &r->event, &r->why);
		if (got <= 0)
			break;
		if (got == TRACE_EVENT && (is_any || r->event.ctf->class == c->ctf))
			put_row(r, c, columns, n_columns, row++);
	}
	trace_hold(r->trace, false);
	return got < 0 ? got : (int64_t)row;
}

static_assert(sizeof(struct duet_read_cell) == sizeof(struct ctf_column) &&
		      offsetof(struct duet_read_cell, size) == offsetof(struct ctf_column, size),
	      "a cell is what the decoder wrote");
static_assert(sizeof(struct duet_read_row) == sizeof(struct ctf_row) &&
		      offsetof(struct duet_read_row, cells) == offsetof(struct ctf_row, columns) &&
		      offsetof(struct duet_read_row, cpu) == offsetof(struct ctf_row, cpu),
	      "a row is what the merge wrote");

uint32_t duet_read_batch(struct duet_read *r, struct duet_read_row *rows, uint32_t n_rows)
{
	r->has_event = false;
	read_forget_texts(r);
	return trace_batch(r->trace, (struct ctf_row *)rows, n_rows);
}

int duet_read_cell_value(const struct duet_read *r, uint32_t class_number, uint32_t field,
			 const struct duet_read_cell *cell, struct duet_read_value *v)
{
	const struct read_class *c = class_number < r->n_classes ? r->classes[class_number] : NULL;

	if (!c || field >= c->public.n_fields || !c->ctf->program || !c->ctf->program->loads)
		return -EINVAL;
	show_cell(v, c->ops[field], (const struct ctf_column *)cell);
	return 0;
}
