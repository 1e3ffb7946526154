/* SPDX-License-Identifier: MIT */
/* tests/unit/script/values_for_test.h - values of arrays that a test describes. */
#ifndef TESTS_VALUES_FOR_TEST_H
#define TESTS_VALUES_FOR_TEST_H

#include "script/values/values.h"
#include "test.h"

#define L SCRIPT_LONG
#define S SCRIPT_STRING

struct world_of_values {
	struct script_values *v;
};

static inline struct world_of_values values_with(struct script_array_code *arrays, uint32_t n,
						 uint64_t memory)
{
	static struct script_unit unit; /* one world at a time */
	struct world_of_values w;

	unit = (struct script_unit){ .arrays = arrays, .n_arrays = n };
	w.v = script_values_open(&unit, &(struct script_limits){ .memory = memory });
	if (!w.v)
		skip("no memory");
	return w;
}

static inline const union script_cell *number_key(int64_t number)
{
	static union script_cell cells[8];
	static int next;
	union script_cell *cell = &cells[next++ % 8];

	cell->number = number;
	return cell;
}

static inline const struct script_string *string(struct script_values *v, const char *text)
{
	return values_string(v, text, strlen(text));
}

static inline const union script_cell *text_key(struct script_values *v, const char *text)
{
	static union script_cell cells[8];
	static int next;
	union script_cell *cell = &cells[next++ % 8];

	cell->text = string(v, text);
	return cell;
}

static inline int64_t get(struct script_values *v, uint32_t array, int64_t key)
{
	union script_cell value;

	values_get(v, array, number_key(key), &value);
	return value.number;
}

static inline enum values_error set(struct script_values *v, uint32_t array, int64_t key,
				    int64_t value)
{
	return values_set(v, array, number_key(key), (union script_cell){ .number = value });
}

#endif
