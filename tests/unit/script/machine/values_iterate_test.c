/* SPDX-License-Identifier: MIT */
/* tests/unit/script/values_iterate_test.c - iterations: order, limits, slices, locks. */
#include "values_for_test.h"

enum { ALL = 0xffff };

static struct script_array_code numbers = { .name = "n", .n_keys = 1, .keys = { L }, .value = L };

/* The keys of an iteration, with a blank between them. */
static const char *keys_of(struct script_values *v, const struct script_iteration *how,
			   const union script_cell *keys, int64_t limit)
{
	static char text[4096];
	size_t size = 0;
	int64_t handle;
	union script_cell cell;

	*text = 0;
	if (values_iterate(v, how, keys, limit, &handle))
		return "error";
	while (values_next(v, handle)) {
		if (!values_key(v, handle, 0, L, &cell))
			size += (size_t)snprintf(text + size, sizeof text - size, "%s%lld",
						 size ? " " : "", (long long)cell.number);
		else if (!values_key(v, handle, 0, S, &cell))
			size += (size_t)snprintf(text + size, sizeof text - size, "%s%s",
						 size ? " " : "", cell.text->bytes);
	}
	is(values_depth(v), 0);
	return text;
}

static struct world_of_values some_numbers(void)
{
	static const int64_t pairs[][2] = { { 30, 1 }, { 10, 3 }, { 20, 3 }, { -5, 2 }, { 40, 3 } };
	struct world_of_values w = values_with(&numbers, 1, 0);

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		set(w.v, 0, pairs[i][0], pairs[i][1]);
	return w;
}

static void elements_come_in_order_of_insertion(void)
{
	struct world_of_values w = some_numbers();
	struct script_iteration how = { .sort_key = -1, .wild = ALL };

	is_text(keys_of(w.v, &how, NULL, -1), "30 10 20 -5 40");
	is_text(keys_of(w.v, &how, NULL, 2), "30 10");
	is_text(keys_of(w.v, &how, NULL, 0), "");
	values_delete(w.v, 0, number_key(10), 0);
	set(w.v, 0, 10, 1);
	is_text(keys_of(w.v, &how, NULL, -1), "30 20 -5 40 10");
	script_values_close(w.v);
}

static void equal_ranks_stay_in_order_of_insertion(void)
{
	struct world_of_values w = some_numbers();
	struct script_iteration by_value = { .sort = -1, .sort_key = -1, .wild = ALL };
	struct script_iteration by_key = { .sort = 1, .sort_key = 0, .wild = ALL };

	is_text(keys_of(w.v, &by_value, NULL, -1), "10 20 40 -5 30");
	is_text(keys_of(w.v, &by_value, NULL, 2), "10 20");
	is_text(keys_of(w.v, &by_key, NULL, -1), "-5 10 20 30 40");
	is_text(keys_of(w.v, &by_key, NULL, 3), "-5 10 20");
	by_value.sort = 1;
	is_text(keys_of(w.v, &by_value, NULL, -1), "30 -5 10 20 40");
	is_text(keys_of(w.v, &by_value, NULL, 4), "30 -5 10 20");
	script_values_close(w.v);
}

/* Radix sort, and the heap for each limit, against what must hold. */
static void long_arrays_are_sorted_the_same_with_and_without_limit(void)
{
	struct script_iteration how = { .sort = -1, .sort_key = -1, .wild = ALL };
	struct world_of_values w = values_with(&numbers, 1, 0);
	static int64_t all[5000];
	unsigned seed = 3;
	int n_wrong = 0;

	for (int i = 0; i < 5000; i++)
		set(w.v, 0, i,
		    (int64_t)(rand_r(&seed) % 1000) - 500 + (i % 7 ? 0 : INT64_MIN + 500));
	for (int64_t limit = 5000; limit; limit /= 3) {
		union script_cell key, value;
		int64_t handle, last_value = INT64_MAX, last_key = -1;

		values_iterate(w.v, &how, NULL, limit, &handle);
		is(values_iterated(w.v, handle), limit);
		for (int i = 0; values_next(w.v, handle); i++) {
			values_key(w.v, handle, 0, L, &key);
			values_value(w.v, handle, L, &value);
			n_wrong += value.number > last_value;
			n_wrong += value.number == last_value && key.number < last_key;
			if (limit == 5000)
				all[i] = key.number;
			n_wrong += all[i] != key.number;
			last_value = value.number;
			last_key = key.number;
		}
	}
	is(n_wrong, 0);
	script_values_close(w.v);
}

static void strings_are_sorted_by_their_bytes(void)
{
	struct script_array_code a = { .name = "a", .n_keys = 1, .keys = { S }, .value = S };
	struct script_iteration how = { .sort = 1, .sort_key = 0, .wild = ALL };
	struct world_of_values w = values_with(&a, 1, 0);
	static const char *const words[] = { "tea", "te", "\303\251", "Tea", "", "coffee" };

	for (size_t i = 0; i < 6; i++)
		values_set(w.v, 0, text_key(w.v, words[i]),
			   (union script_cell){ .text = string(w.v, words[5 - i]) });
	is_text(keys_of(w.v, &how, NULL, -1), "Tea coffee te tea \303\251");
	how.sort_key = -1;
	how.sort = -1;
	is_text(keys_of(w.v, &how, NULL, 3), "Tea coffee ");
	script_values_close(w.v);
}

static void statistics_are_sorted_by_the_one_that_is_asked(void)
{
	struct script_array_code a = {
		.name = "s", .n_keys = 1, .keys = { L }, .value = SCRIPT_STATS
	};
	struct script_iteration how = { .sort = -1, .sort_key = -1, .wild = ALL };
	struct world_of_values w = values_with(&a, 1, 0);

	for (int i = 0; i < 3; i++)
		values_collect(w.v, 0, number_key(1), 5);
	values_collect(w.v, 0, number_key(2), 100);
	values_collect(w.v, 0, number_key(3), -7);
	values_collect(w.v, 0, number_key(3), -9);
	how.statistic = STATISTIC_COUNT;
	is_text(keys_of(w.v, &how, NULL, -1), "1 3 2");
	how.statistic = STATISTIC_SUM;
	is_text(keys_of(w.v, &how, NULL, -1), "2 1 3");
	how.statistic = STATISTIC_MIN;
	how.sort = 1;
	is_text(keys_of(w.v, &how, NULL, -1), "3 1 2");
	script_values_close(w.v);
}

static void slices_visit_what_fits(void)
{
	struct script_array_code a = { .name = "a", .n_keys = 2, .keys = { L, L }, .value = L };
	struct script_iteration how = { .sort_key = -1, .wild = 1 };
	struct world_of_values w = values_with(&a, 1, 0);
	union script_cell k[2];

	for (int i = 0; i < 12; i++) {
		k[0].number = i;
		k[1].number = i % 4;
		values_set(w.v, 0, k, (union script_cell){ .number = -i });
	}
	k[1].number = 3;
	is_text(keys_of(w.v, &how, k, -1), "3 7 11");
	is_text(keys_of(w.v, &how, k, 2), "3 7");
	how.sort = 1;
	is_text(keys_of(w.v, &how, k, 2), "11 7");
	script_values_close(w.v);
}

static void array_cannot_change_while_it_is_iterated_over(void)
{
	struct world_of_values w = some_numbers();
	struct script_iteration how = { .sort_key = -1, .wild = ALL };
	int64_t outer, inner, sum;

	values_iterate(w.v, &how, NULL, -1, &outer);
	values_iterate(w.v, &how, NULL, -1, &inner);
	is(values_depth(w.v), 2);
	is(set(w.v, 0, 77, 1), VALUES_ITERATED);
	is(set(w.v, 0, 10, 1), VALUES_ITERATED);
	is(values_add(w.v, 0, number_key(10), 1, &sum), VALUES_ITERATED);
	is(values_delete(w.v, 0, number_key(10), 0), VALUES_ITERATED);
	is(values_clear(w.v, 0), VALUES_ITERATED);
	values_unwind(w.v, 1);
	is(set(w.v, 0, 77, 1), VALUES_ITERATED);
	ok(!values_next(w.v, inner));
	values_end_handler(w.v);
	is(set(w.v, 0, 77, 1), VALUES_FINE);
	script_values_close(w.v);
}

static void iteration_has_no_element_before_its_first_step(void)
{
	struct world_of_values w = some_numbers();
	struct script_iteration how = { .sort_key = -1, .wild = ALL };
	union script_cell cell;
	int64_t handle, last = 0;

	values_iterate(w.v, &how, NULL, -1, &handle);
	is(values_key(w.v, handle, 0, L, &cell), VALUES_NO_HANDLE);
	is(values_value(w.v, 99, L, &cell), VALUES_NO_HANDLE);
	is(values_value(w.v, -1, L, &cell), VALUES_NO_HANDLE);
	values_next(w.v, handle);
	is(values_key(w.v, handle, 0, S, &cell), VALUES_NO_HANDLE);
	is(values_key(w.v, handle, 7, L, &cell), VALUES_NO_HANDLE);
	for (int i = 0; i < 1000 && !values_iterate(w.v, &how, NULL, -1, &handle); i++)
		last = handle;
	is(last, 256);
	is(values_iterate(w.v, &how, NULL, -1, &handle), VALUES_TOO_MANY);
	script_values_close(w.v);
}

static int add_key(void *context, const union script_cell *keys, uint32_t element)
{
	int64_t *sum = context;

	(void)element;
	*sum = *sum * 100 + keys[0].number + keys[1].number;
	return keys[0].number == 20 ? 9 : 0;
}

static void each_visits_in_order_until_it_is_stopped(void)
{
	struct world_of_values w = some_numbers();
	int64_t sum = 0;

	is(values_each(w.v, 0, add_key, &sum), 9);
	is(sum, 311323);
	is(set(w.v, 0, 1, 1), VALUES_FINE);
	script_values_close(w.v);
}

int main(void)
{
	run(elements_come_in_order_of_insertion);
	run(equal_ranks_stay_in_order_of_insertion);
	run(long_arrays_are_sorted_the_same_with_and_without_limit);
	run(strings_are_sorted_by_their_bytes);
	run(statistics_are_sorted_by_the_one_that_is_asked);
	run(slices_visit_what_fits);
	run(array_cannot_change_while_it_is_iterated_over);
	run(iteration_has_no_element_before_its_first_step);
	run(each_visits_in_order_until_it_is_stopped);
	return test_status();
}
