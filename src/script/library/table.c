/* SPDX-License-Identifier: MIT */
/*
 * library/table.c - table() and plot(): an array as aligned columns, as bars, or as JSON.
 *
 *	process  calls   slowest
 *	sshd       812   1.20 ms
 *	cron        17  310.0 us
 *
 * Rows come in the order of the iteration.  It is gone through twice: for the widths, then for the
 * lines.  As JSON: {"table":"x","columns":["process",...],"rows":[["sshd",812,...],...]}; numbers
 * are in the units in which the script collected them.
 */
#include <inttypes.h>
#include <stdio.h>

#include "script/library/internal.h"
#include "script/unit/columns.h"

enum { BAR = 40, FLUSH_BYTES = 1 << 16, GAP = 2 };

struct table {
	struct script_vm *vm;
	struct script_values *values;
	const struct script_array_code *array;
	const struct script_iteration *how;
	int64_t handle;
	uint32_t n_rows;
	struct script_column columns[SCRIPT_COLUMNS_MAX];
	uint32_t n_columns, n_keys;
	uint32_t widths[SCRIPT_COLUMNS_MAX];
	struct text cell;
	struct text out;
	bool is_plot;
};

static enum script_type type_of(const struct table *t, uint32_t column)
{
	return (enum script_type)(column < t->n_keys ? t->array->keys[column] : t->array->value);
}

static bool is_text(const struct table *t, uint32_t column)
{
	return type_of(t, column) == SCRIPT_STRING;
}

/* The number or string of the row at which the iteration is; false: it has none. */
static bool get(struct table *t, uint32_t column, union script_cell *cell)
{
	const struct script_column *c = &t->columns[column];

	if (column < t->n_keys)
		return !values_key(t->values, t->handle, column, type_of(t, column), cell);
	if (t->array->value != SCRIPT_STATS)
		return !values_value(t->values, t->handle, type_of(t, column), cell);
	return !values_iterated_statistic(t->values, t->handle, (enum script_statistic)c->statistic,
					  c->parameter, &cell->number);
}

struct scale {
	double factor;
	const char *unit;
};

static void add_scaled(struct text *to, double value, const struct scale *scales, int n)
{
	double magnitude = value < 0 ? -value : value;
	int i = n - 1;

	while (i && magnitude < scales[i].factor)
		i--;
	magnitude /= scales[i].factor;
	if (i == 0)
		text_addf(to, "%.0f %s", value, scales[0].unit);
	else
		text_addf(to, "%.*f %s",
			  magnitude < 10    ? 2
			  : magnitude < 100 ? 1
					    : 0,
			  value / scales[i].factor, scales[i].unit);
}

static void add_number(struct text *to, int64_t number, enum script_column_unit unit)
{
	static const struct scale times[] = {
		{ 1, "ns" }, { 1e3, "us" }, { 1e6, "ms" }, { 1e9, "s" }
	};
	static const struct scale sizes[] = {
		{ 1, "B" }, { 1024., "KiB" }, { 1048576., "MiB" }, { 1073741824., "GiB" }
	};
	static const double in_ns[] = {
		[UNIT_NS] = 1, [UNIT_US] = 1e3, [UNIT_MS] = 1e6, [UNIT_S] = 1e9
	};

	if (unit == UNIT_NONE)
		text_addf(to, "%" PRIi64, number);
	else if (unit == UNIT_BYTES)
		add_scaled(to, (double)number, sizes, 4);
	else
		add_scaled(to, (double)number * in_ns[unit], times, 4);
}

/* Control characters would break the lines. */
static void add_visible(struct text *to, const struct script_string *s)
{
	text_add_printable(to, s->bytes, s->size);
}

static void format_cell(struct table *t, uint32_t column)
{
	union script_cell cell;

	t->cell.size = 0;
	text_add(&t->cell, "", 0);
	if (!get(t, column, &cell))
		text_add(&t->cell, "-", 1);
	else if (is_text(t, column))
		add_visible(&t->cell, cell.text);
	else
		add_number(&t->cell, cell.number, (enum script_column_unit)t->columns[column].unit);
}

/* Characters, not bytes. */
static uint32_t width_of(const char *bytes, size_t size)
{
	uint32_t n = 0;

	for (size_t i = 0; i < size; i++)
		n += ((unsigned char)bytes[i] & 0xc0) != 0x80;
	return n;
}

static void measure(struct table *t)
{
	for (uint32_t i = 0; i < t->n_columns; i++)
		t->widths[i] = width_of(t->columns[i].heading, t->columns[i].heading_size);
	for (uint32_t row = 0; row < t->n_rows && values_next(t->values, t->handle); row++)
		for (uint32_t i = 0; i < t->n_columns; i++) {
			uint32_t width;

			format_cell(t, i);
			width = width_of(t->cell.bytes, t->cell.size);
			t->widths[i] = width > t->widths[i] ? width : t->widths[i];
		}
	values_rewind(t->values, t->handle);
}

static void flush(struct table *t, size_t least)
{
	if (t->out.size < least)
		return;
	library_write(t->vm, t->out.bytes, t->out.size);
	t->out.size = 0;
}

/* @bytes in its column: texts to the left, numbers to the right. */
static void put(struct table *t, uint32_t column, const char *bytes, size_t size)
{
	int padding = (int)(t->widths[column] - width_of(bytes, size));
	bool is_left = is_text(t, column), is_last = column + 1 == t->n_columns && !t->is_plot;

	if (column)
		text_addf(&t->out, "%*s", GAP, "");
	text_addf(&t->out, "%*s", is_left ? 0 : padding, "");
	text_add(&t->out, bytes, size);
	text_addf(&t->out, "%*s", is_left && !is_last ? padding : 0, "");
}

static void put_cell(struct table *t, uint32_t column)
{
	format_cell(t, column);
	put(t, column, t->cell.bytes, t->cell.size);
}

static void print_columns(struct table *t)
{
	measure(t);
	for (uint32_t i = 0; i < t->n_columns; i++)
		put(t, i, t->columns[i].heading, t->columns[i].heading_size);
	text_add(&t->out, "\n", 1);
	while (values_next(t->values, t->handle)) {
		for (uint32_t i = 0; i < t->n_columns; i++)
			put_cell(t, i);
		text_add(&t->out, "\n", 1);
		flush(t, FLUSH_BYTES);
	}
}

static int64_t greatest_value(struct table *t)
{
	union script_cell cell;
	int64_t most = 1;

	while (t->n_rows-- && values_next(t->values, t->handle))
		if (get(t, t->n_keys, &cell) && cell.number > most)
			most = cell.number;
	values_rewind(t->values, t->handle);
	return most;
}

static void print_bars(struct table *t)
{
	int64_t most;
	union script_cell cell;

	t->n_columns = t->n_keys + 1;
	measure(t);
	most = greatest_value(t);
	while (values_next(t->values, t->handle)) {
		int length = 0;

		for (uint32_t i = 0; i < t->n_columns; i++)
			put_cell(t, i);
		if (get(t, t->n_keys, &cell) && cell.number > 0)
			length = (int)((__int128)cell.number * BAR / most);
		if (!length && cell.number > 0)
			length = 1;
		text_add(&t->out, "  |", 3);
		while (length-- > 0)
			text_add(&t->out, "#", 1);
		text_add(&t->out, "\n", 1);
		flush(t, FLUSH_BYTES);
	}
}

/* A histogram for each key. */
static void print_histograms(struct table *t)
{
	union script_cell keys[SCRIPT_KEYS_MAX];

	while (values_next(t->values, t->handle)) {
		for (uint32_t i = 0; i < t->n_keys; i++) {
			values_key(t->values, t->handle, i, type_of(t, i), &keys[i]);
			format_cell(t, i);
			text_add(&t->out, " ", i ? 1 : 0);
			text_add(&t->out, t->cell.bytes, t->cell.size);
		}
		if (t->n_keys)
			text_add(&t->out, ":\n", 2);
		values_histogram(t->values, t->how->array, keys, &t->out);
		flush(t, FLUSH_BYTES);
	}
}

static void add_json_cell(struct table *t, uint32_t column)
{
	union script_cell cell;

	if (!get(t, column, &cell))
		text_add(&t->out, "null", 4);
	else if (is_text(t, column))
		library_json_string(&t->out, cell.text->bytes, cell.text->size);
	else
		text_addf(&t->out, "%" PRIi64, cell.number);
}

static void make_json(struct table *t)
{
	const char *name = t->array->name ? t->array->name : "";
	const char *kind = t->is_plot ? "plot" : "table", *separator = "";

	text_addf(&t->out, "{\"%s\":", kind);
	library_json_string(&t->out, name, strlen(name));
	text_addf(&t->out, ",\"columns\":[");
	for (uint32_t i = 0; i < t->n_columns; i++) {
		text_add(&t->out, ",", i ? 1 : 0);
		library_json_string(&t->out, t->columns[i].heading, t->columns[i].heading_size);
	}
	text_addf(&t->out, "],\"rows\":[");
	for (uint32_t row = 0; row < t->n_rows && values_next(t->values, t->handle); row++) {
		text_addf(&t->out, "%s[", separator);
		for (uint32_t i = 0; i < t->n_columns; i++) {
			text_add(&t->out, ",", i ? 1 : 0);
			add_json_cell(t, i);
		}
		text_add(&t->out, "]", 1);
		separator = ",";
	}
	text_addf(&t->out, "]}\n");
	values_rewind(t->values, t->handle);
}

static void print_json(struct table *t)
{
	const struct script_services *s = script_vm_services(t->vm);

	if (!s->is_json && !s->result)
		return;
	make_json(t);
	if (t->out.failed)
		return;
	if (s->result)
		s->result(s->context, t->out.bytes, t->out.size - 1);
	if (s->is_json && !s->keeps_tables)
		flush(t, 1);
	t->out.size = 0;
}

static bool open_table(struct table *t, const char *columns, int64_t limit)
{
	static const union script_cell no_keys[SCRIPT_KEYS_MAX];
	enum values_error error;
	struct diag d = { 0 };
	int n;

	t->n_keys = t->array->n_keys;
	n = script_columns_parse(t->columns, columns, t->n_keys, t->array->value == SCRIPT_STATS,
				 &d);
	if (n < 0) {
		script_raise(t->vm, "%s", d.text);
		return false;
	}
	t->n_columns = (uint32_t)n;
	error = values_iterate(t->values, t->how, no_keys, limit, &t->handle);
	if (error) {
		library_raise(t->vm, error, t->how->array);
		return false;
	}
	t->n_rows = values_iterated(t->values, t->handle);
	return true;
}

void library_table(struct script_vm *vm, uint32_t iteration, const char *columns, bool is_plot,
		   int64_t limit)
{
	const struct script_unit *unit = script_vm_unit(vm);
	const struct script_iteration *how = &unit->iterations[iteration];
	struct table t = { .vm = vm,
			   .values = script_vm_values(vm),
			   .how = how,
			   .array = &unit->arrays[how->array],
			   .is_plot = is_plot };

	if (!open_table(&t, columns ? columns : "", limit))
		return;
	print_json(&t);
	if (!script_vm_services(vm)->is_json && !script_vm_services(vm)->keeps_tables) {
		if (!is_plot)
			print_columns(&t);
		else if (t.array->value == SCRIPT_STATS && t.array->histogram != HIST_NONE)
			print_histograms(&t);
		else if (t.array->value == SCRIPT_STRING)
			print_columns(&t);
		else
			print_bars(&t);
		flush(&t, 1);
	}
	if (t.out.failed || t.cell.failed)
		script_raise(vm, "no memory for a table");
	values_end(t.values, t.handle);
	text_fini(&t.out);
	text_fini(&t.cell);
}
