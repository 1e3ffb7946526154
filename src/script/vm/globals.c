/* SPDX-License-Identifier: MIT */
/* vm/globals.c - globals from outside: set, added to, and printed. */
#include <errno.h>
#include <stdlib.h>

#include "script/vm/internal.h"

static int find(const struct script_unit *u, const char *name)
{
	uint32_t i;

	for (i = 0; i < u->n_globals; i++)
		if (!strcmp(u->globals[i].name, name))
			return (int)i;
	return -1;
}

static int find_array(const struct script_unit *u, const char *name)
{
	uint32_t i;

	for (i = 0; i < u->n_arrays; i++)
		if (!strcmp(u->arrays[i].name, name))
			return (int)i;
	return -1;
}

/* As in a script: above 2^63 it wraps. */
static int set_number(union script_cell *cell, const char *name, const char *value, struct diag *d)
{
	bool is_negative = *value == '-';
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(value + is_negative, &end, 0);
	if (errno || *end || end == value + is_negative || value[is_negative] == '-' ||
	    value[is_negative] == '+' || value[is_negative] == ' ')
		return diag_fail(d, -EINVAL, "global %s is a number: `%s` is none", name, value);
	cell->number = (int64_t)(is_negative ? -number : number);
	return 0;
}

int script_vm_set_global(struct script_vm *vm, const char *name, const char *value, struct diag *d)
{
	int global = find(vm->unit, name);

	if (global < 0 && find_array(vm->unit, name) >= 0)
		return diag_fail(d, -EINVAL,
				 "global %s is an array: only numbers and strings can "
				 "be set",
				 name);
	if (global < 0)
		return diag_fail(d, -ENOENT, "the script has no global called %s that it uses",
				 name);
	if (vm->unit->globals[global].type == SCRIPT_LONG)
		return set_number(&values_globals(vm->values)[global], name, value, d);
	if (values_set_global(vm->values, (uint32_t)global,
			      values_string(vm->values, value, strlen(value))))
		return diag_fail(d, -ENOMEM, "no memory for global %s", name);
	return 0;
}

static int error_number(enum values_error e)
{
	switch (e) {
	case VALUES_FINE:
		return 0;
	case VALUES_FULL:
		return -ENOSPC;
	case VALUES_ITERATED:
		return -EBUSY;
	default:
		return -ENOMEM;
	}
}

int script_vm_array_add(struct script_vm *vm, uint32_t array, const union script_cell *keys,
			int64_t delta)
{
	int64_t sum;

	return error_number(values_add(vm->values, array, keys, delta, &sum));
}

int script_vm_stats_add(struct script_vm *vm, uint32_t array, const union script_cell *keys,
			const struct script_stats_delta *delta)
{
	return error_number(values_collect_many(vm->values, array, keys, delta));
}

void script_vm_global_add(struct script_vm *vm, uint32_t global, int64_t delta)
{
	union script_cell *cell = &values_globals(vm->values)[global];

	cell->number = (int64_t)((uint64_t)cell->number + (uint64_t)delta);
}

static void add_string(struct text *t, const struct script_string *s)
{
	uint32_t i;
	unsigned char c;
	size_t n;

	text_add(t, "\"", 1);
	for (i = 0; i < s->size; i += n ? (uint32_t)n : 1) {
		c = (unsigned char)s->bytes[i];
		n = text_shown_length(s->bytes + i, s->size - i);
		if (c == '"' || c == '\\')
			text_addf(t, "\\%c", c);
		else if (c == '\n')
			text_add(t, "\\n", 2);
		else if (c == '\t')
			text_add(t, "\\t", 2);
		else if (!n)
			text_addf(t, "\\%03o", c);
		else
			text_add(t, s->bytes + i, n);
	}
	text_add(t, "\"", 1);
}

static void add_cell(struct text *t, enum script_type type, union script_cell cell)
{
	if (type == SCRIPT_STRING)
		add_string(t, cell.text);
	else
		text_addf(t, "%lld", (long long)cell.number);
}

static void add_statistics(struct text *t, struct script_values *v, uint32_t array,
			   const union script_cell *keys)
{
	static const struct {
		const char *name;
		enum script_statistic which;
	} rows[] = {
		{ "count", STATISTIC_COUNT }, { "min", STATISTIC_MIN }, { "max", STATISTIC_MAX },
		{ "sum", STATISTIC_SUM },     { "avg", STATISTIC_AVG },
	};
	int64_t value;
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!values_statistic(v, array, keys, rows[i].which, 0, &value))
			text_addf(t, " @%s=%lld", rows[i].name, (long long)value);
}

struct printing {
	struct script_vm *vm;
	uint32_t array;
	struct text text;
};

/* name["key",5]=7 */
static int add_element(void *context, const union script_cell *keys, uint32_t element)
{
	struct printing *p = context;
	const struct script_array_code *a = &p->vm->unit->arrays[p->array];
	union script_cell value;
	uint32_t i;

	(void)element;
	text_addf(&p->text, "%s", a->name);
	for (i = 0; i < a->n_keys; i++) {
		text_add(&p->text, i ? "," : "[", 1);
		add_cell(&p->text, a->keys[i], keys[i]);
	}
	if (a->n_keys)
		text_add(&p->text, "]", 1);
	if (a->value == SCRIPT_STATS) {
		add_statistics(&p->text, p->vm->values, p->array, keys);
	} else if (!values_get(p->vm->values, p->array, keys, &value)) {
		text_add(&p->text, "=", 1);
		add_cell(&p->text, a->value, value);
	}
	text_add(&p->text, "\n", 1);
	return 0;
}

void script_vm_print_global(struct script_vm *vm, const char *name)
{
	int global = find(vm->unit, name), array = find_array(vm->unit, name);
	struct printing p = { vm, (uint32_t)array, { 0 } };

	if (global >= 0) {
		text_addf(&p.text, "%s=", name);
		add_cell(&p.text, vm->unit->globals[global].type,
			 values_globals(vm->values)[global]);
		text_add(&p.text, "\n", 1);
	} else if (array >= 0) {
		values_each(vm->values, p.array, add_element, &p);
	}
	if (p.text.size && vm->services.write)
		vm->services.write(vm->services.context, p.text.bytes, p.text.size);
	text_fini(&p.text);
}
