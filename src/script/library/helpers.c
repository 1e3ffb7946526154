/* SPDX-License-Identifier: MIT */
/*
 * library/helpers.c - the helpers that work on values: strings, arrays, statistics, iterations,
 * output.
 *
 * Those of the machine (RAISE, STANDARD, ARGUMENT, ...) are in vm/helpers.c.
 */
#include <stdlib.h>

#include "script/library/internal.h"

static void library_free(void *memory)
{
	struct library *l = memory;

	if (!l)
		return;
	text_fini(&l->text);
	text_fini(&l->matched);
	text_fini(&l->tokens);
	indents_free(l->indents);
	free(l);
}

struct library *library_of(struct script_vm *vm)
{
	static struct library without_memory;
	void **place = values_library(script_vm_values(vm), library_free);

	if (!*place)
		*place = calloc(1, sizeof(struct library));
	return *place ? *place : &without_memory;
}

struct text *library_text(struct script_vm *vm)
{
	struct text *t = &library_of(vm)->text;

	t->size = 0;
	t->failed = false;
	return t;
}

void library_write(struct script_vm *vm, const char *bytes, size_t size)
{
	const struct script_services *s = script_vm_services(vm);

	if (s->write && size)
		s->write(s->context, bytes, size);
}

/* The end of a string of the script's text that holds byte @at of @bytes; 0: there is none. */
static size_t end_of_own(const struct script_unit *u, const char *bytes, size_t size, size_t at)
{
	for (uint32_t i = 0; i < u->n_strings; i++) {
		const struct script_string *s = u->strings[i];

		for (size_t k = 0; k < s->size && k <= at; k++)
			if (s->bytes[k] == bytes[at] && s->size <= size - (at - k) &&
			    !memcmp(bytes + at - k, s->bytes, s->size))
				return at - k + s->size;
	}
	return 0;
}

void library_add_shown(struct script_vm *vm, struct text *to, const char *bytes, size_t size)
{
	bool is_shown = script_vm_services(vm)->is_shown;

	for (size_t i = 0, end; i < size; i = end) {
		size_t n = is_shown ? text_shown_length(bytes + i, size - i) : size;

		if (!n && (bytes[i] == '\n' || bytes[i] == '\t'))
			n = 1;
		end = n ? i + n : end_of_own(script_vm_unit(vm), bytes, size, i);
		if (end)
			text_add(to, bytes + i, end - i);
		else
			text_addf(to, "\\x%02x", (unsigned char)bytes[i]);
		end = end ? end : i + 1;
	}
}

void library_write_shown(struct script_vm *vm, const char *bytes, size_t size)
{
	struct text t = { 0 };

	library_add_shown(vm, &t, bytes, size);
	library_write(vm, t.bytes, t.size);
	text_fini(&t);
}

static const char *array_name(struct script_vm *vm, uint32_t array)
{
	const char *name = script_vm_unit(vm)->arrays[array].name;

	return name ? name : "?";
}

void library_raise(struct script_vm *vm, enum values_error error, uint32_t array)
{
	const char *name = array_name(vm, array);

	switch (error) {
	case VALUES_FINE:
		break;
	case VALUES_FULL:
		script_raise(vm,
			     "array %s is full: it has %u elements (a size in its declaration or "
			     "-D MAXMAPENTRIES allows more)",
			     name, values_count(script_vm_values(vm), array));
		break;
	case VALUES_NO_MEMORY:
		script_raise(vm, "no memory for %s (limit: -D MAXMEMORY)", name);
		break;
	case VALUES_ITERATED:
		script_raise(vm, "array %s cannot change in a foreach over it", name);
		break;
	case VALUES_EMPTY:
		script_raise(vm, "empty aggregate: %s has no values here", name);
		break;
	case VALUES_NO_HANDLE:
		script_raise(vm, "the loop over %s has ended", name);
		break;
	case VALUES_TOO_MANY:
		script_raise(vm, "too many loops over arrays inside each other");
		break;
	case VALUES_NO_BUCKET:
		script_raise(vm, "the histogram of %s has no bucket of this number", name);
		break;
	}
}

static inline void check(struct script_vm *vm, enum values_error error, uint64_t array)
{
	if (__builtin_expect(error != VALUES_FINE, 0))
		library_raise(vm, error, (uint32_t)array);
}

static HELP(help_concat)
{
	const struct script_string *a = string_of(r1), *b = string_of(r2);
	struct script_string *s;
	size_t head;

	UNUSED3;
	if (!a->size)
		return r2;
	if (!b->size)
		return r1;
	s = values_new_string(script_vm_values(vm), (size_t)a->size + b->size);
	if (!s) {
		script_raise(vm, "no memory for a string (limit: -D MAXMEMORY)");
		return r1;
	}
	head = a->size < s->size ? a->size : s->size;
	memcpy(s->bytes, a->bytes, head);
	memcpy(s->bytes + head, b->bytes, s->size - head);
	return of_string(s);
}

static HELP(help_compare)
{
	UNUSED3, (void)vm;
	return (uint64_t)(int64_t)values_compare(string_of(r1), string_of(r2));
}

static HELP(help_equal)
{
	const struct script_string *a = string_of(r1), *b = string_of(r2);

	UNUSED3, (void)vm;
	return a == b || (a->size == b->size && !memcmp(a->bytes, b->bytes, a->size));
}

static HELP(help_match)
{
	const struct script_string *s = string_of(r2);
	struct script_regex *r = script_vm_unit(vm)->regexes[r1];
	struct library *l = library_of(vm);

	UNUSED3;
	if (!script_regex_match(r, s->bytes, s->size, NULL))
		return 0;
	l->searched = r;
	l->matched.size = 0;
	text_add(&l->matched, s->bytes, s->size);
	return 1;
}

static HELP(help_array_get)
{
	union script_cell value;

	UNUSED3;
	values_get(script_vm_values(vm), (uint32_t)r1, cells_of(r2), &value);
	return (uint64_t)value.number;
}

static HELP(help_array_set)
{
	union script_cell value = { .number = (int64_t)r3 };

	(void)r4, (void)r5;
	check(vm, values_set(script_vm_values(vm), (uint32_t)r1, cells_of(r2), value), r1);
	return 0;
}

static HELP(help_array_add)
{
	int64_t sum = 0;

	(void)r4, (void)r5;
	check(vm, values_add(script_vm_values(vm), (uint32_t)r1, cells_of(r2), (int64_t)r3, &sum),
	      r1);
	return (uint64_t)sum;
}

static HELP(help_array_has)
{
	UNUSED3;
	return values_has(script_vm_values(vm), (uint32_t)r1, cells_of(r2), 0);
}

static HELP(help_array_delete)
{
	UNUSED3;
	check(vm, values_delete(script_vm_values(vm), (uint32_t)r1, cells_of(r2), 0), r1);
	return 0;
}

static HELP(help_array_clear)
{
	UNUSED2;
	check(vm, values_clear(script_vm_values(vm), (uint32_t)r1), r1);
	return 0;
}

/* The call walks over the array. */
static void spend(struct script_vm *vm, uint64_t array)
{
	script_vm_spend(vm, values_count(script_vm_values(vm), (uint32_t)array));
}

static HELP(help_array_has_slice)
{
	(void)r4, (void)r5;
	spend(vm, r1);
	return values_has(script_vm_values(vm), (uint32_t)r1, cells_of(r2), (uint32_t)r3);
}

static HELP(help_array_delete_slice)
{
	(void)r4, (void)r5;
	spend(vm, r1);
	check(vm, values_delete(script_vm_values(vm), (uint32_t)r1, cells_of(r2), (uint32_t)r3),
	      r1);
	return 0;
}

static HELP(help_stat_add)
{
	(void)r4, (void)r5;
	check(vm, values_collect(script_vm_values(vm), (uint32_t)r1, cells_of(r2), (int64_t)r3),
	      r1);
	return 0;
}

static HELP(help_stat_get)
{
	int64_t value = 0;

	(void)r5;
	check(vm,
	      values_statistic(script_vm_values(vm), (uint32_t)r1, cells_of(r2),
			       (enum script_statistic)r3, (int64_t)r4, &value),
	      r1);
	return (uint64_t)value;
}

static HELP(help_stat_bucket)
{
	int64_t value = 0;

	(void)r4, (void)r5;
	check(vm,
	      values_bucket(script_vm_values(vm), (uint32_t)r1, cells_of(r2), (int64_t)r3, &value),
	      r1);
	return (uint64_t)value;
}

static HELP(help_stat_histogram)
{
	struct text *t = library_text(vm);

	UNUSED3;
	check(vm, values_histogram(script_vm_values(vm), (uint32_t)r1, cells_of(r2), t), r1);
	return of_string(values_long_string(script_vm_values(vm), t->bytes, t->size));
}

static HELP(help_iter_begin)
{
	const struct script_iteration *how = &script_vm_unit(vm)->iterations[r1];
	int64_t handle = 0;

	(void)r4, (void)r5;
	spend(vm, how->array);
	check(vm, values_iterate(script_vm_values(vm), how, cells_of(r2), (int64_t)r3, &handle),
	      how->array);
	return (uint64_t)handle;
}

static HELP(help_iter_next)
{
	UNUSED2;
	return values_next(script_vm_values(vm), (int64_t)r1);
}

static uint64_t iterated(struct script_vm *vm, enum values_error error, union script_cell cell,
			 enum script_type type)
{
	if (!error)
		return (uint64_t)cell.number;
	script_raise(vm, "the loop over an array has ended");
	return type == SCRIPT_STRING ? new_text(vm, "", 0) : 0;
}

static uint64_t iter_key(struct script_vm *vm, uint64_t handle, uint64_t key, enum script_type type)
{
	union script_cell cell = { 0 };
	enum values_error error =
		values_key(script_vm_values(vm), (int64_t)handle, (uint32_t)key, type, &cell);

	return iterated(vm, error, cell, type);
}

static uint64_t iter_value(struct script_vm *vm, uint64_t handle, enum script_type type)
{
	union script_cell cell = { 0 };
	enum values_error error = values_value(script_vm_values(vm), (int64_t)handle, type, &cell);

	return iterated(vm, error, cell, type);
}

static HELP(help_iter_key_long)
{
	UNUSED3;
	return iter_key(vm, r1, r2, SCRIPT_LONG);
}

static HELP(help_iter_key_string)
{
	UNUSED3;
	return iter_key(vm, r1, r2, SCRIPT_STRING);
}

static HELP(help_iter_value_long)
{
	UNUSED2;
	return iter_value(vm, r1, SCRIPT_LONG);
}

static HELP(help_iter_value_string)
{
	UNUSED2;
	return iter_value(vm, r1, SCRIPT_STRING);
}

static HELP(help_iter_end)
{
	UNUSED2;
	values_end(script_vm_values(vm), (int64_t)r1);
	return 0;
}

static HELP(help_iter_depth)
{
	UNUSED1;
	return (uint64_t)values_depth(script_vm_values(vm));
}

static HELP(help_iter_unwind)
{
	UNUSED2;
	values_unwind(script_vm_values(vm), (int64_t)r1);
	return 0;
}

static HELP(help_print)
{
	struct text *t = library_text(vm);

	UNUSED3;
	if (!library_format_shown(vm, t, &script_vm_unit(vm)->formats[r1], cells_of(r2)))
		library_write(vm, t->bytes, t->size);
	return 0;
}

static HELP(help_format)
{
	struct text *t = library_text(vm);

	UNUSED3;
	library_format(vm, t, &script_vm_unit(vm)->formats[r1], cells_of(r2));
	return new_text(vm, t->bytes, t->size);
}

static HELP(help_table)
{
	(void)r5;
	spend(vm, script_vm_unit(vm)->iterations[r1].array);
	library_table(vm, (uint32_t)r1, script_vm_unit(vm)->columns[r2], r3 == 1, (int64_t)r4);
	return 0;
}

script_help *const script_helpers[SCRIPT_HELPERS_N] = {
	[SCRIPT_HELPER_CONCAT] = help_concat,
	[SCRIPT_HELPER_COMPARE] = help_compare,
	[SCRIPT_HELPER_EQUAL] = help_equal,
	[SCRIPT_HELPER_MATCH] = help_match,
	[SCRIPT_HELPER_ARRAY_GET] = help_array_get,
	[SCRIPT_HELPER_ARRAY_SET] = help_array_set,
	[SCRIPT_HELPER_ARRAY_ADD] = help_array_add,
	[SCRIPT_HELPER_ARRAY_HAS] = help_array_has,
	[SCRIPT_HELPER_ARRAY_DELETE] = help_array_delete,
	[SCRIPT_HELPER_ARRAY_CLEAR] = help_array_clear,
	[SCRIPT_HELPER_ARRAY_HAS_SLICE] = help_array_has_slice,
	[SCRIPT_HELPER_ARRAY_DELETE_SLICE] = help_array_delete_slice,
	[SCRIPT_HELPER_STAT_ADD] = help_stat_add,
	[SCRIPT_HELPER_STAT_GET] = help_stat_get,
	[SCRIPT_HELPER_STAT_BUCKET] = help_stat_bucket,
	[SCRIPT_HELPER_STAT_HISTOGRAM] = help_stat_histogram,
	[SCRIPT_HELPER_ITER_BEGIN] = help_iter_begin,
	[SCRIPT_HELPER_ITER_NEXT] = help_iter_next,
	[SCRIPT_HELPER_ITER_KEY_LONG] = help_iter_key_long,
	[SCRIPT_HELPER_ITER_KEY_STRING] = help_iter_key_string,
	[SCRIPT_HELPER_ITER_VALUE_LONG] = help_iter_value_long,
	[SCRIPT_HELPER_ITER_VALUE_STRING] = help_iter_value_string,
	[SCRIPT_HELPER_ITER_END] = help_iter_end,
	[SCRIPT_HELPER_ITER_DEPTH] = help_iter_depth,
	[SCRIPT_HELPER_ITER_UNWIND] = help_iter_unwind,
	[SCRIPT_HELPER_PRINT] = help_print,
	[SCRIPT_HELPER_FORMAT] = help_format,
	[SCRIPT_HELPER_TABLE] = help_table,
};
