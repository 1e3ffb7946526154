/* SPDX-License-Identifier: MIT */
/* tests/unit/script/values_array_test.c - arrays, strings and globals of a running script. */
#include "values_for_test.h"

static struct script_array_code numbers = { .name = "n", .n_keys = 1, .keys = { L }, .value = L };

static void element_that_is_not_there_is_zero_and_is_not_made(void)
{
	struct world_of_values w = values_with(&numbers, 1, 0);

	is(get(w.v, 0, 5), 0);
	is(values_count(w.v, 0), 0);
	ok(!values_has(w.v, 0, number_key(5), 0));
	script_values_close(w.v);
}

static void a_million_elements_are_found_again(void)
{
	struct script_array_code many = numbers;
	struct world_of_values w;
	int n_wrong = 0;
	int64_t sum;

	many.capacity = 1000000;
	w = values_with(&many, 1, 0);
	for (int64_t i = 0; i < 1000000; i++)
		n_wrong += values_add(w.v, 0, number_key(i * 4096), i, &sum) || sum != i;
	for (int64_t i = 0; i < 1000000; i++)
		n_wrong += get(w.v, 0, i * 4096) != i;
	is(n_wrong, 0);
	is(values_count(w.v, 0), 1000000);
	is(set(w.v, 0, -1, 1), VALUES_FULL);
	is(set(w.v, 0, 4096, 7), VALUES_FINE);
	script_values_close(w.v);
}

/* Against an array of flags, with many deletions among colliding keys. */
static void random_changes_agree_with_a_model(void)
{
	enum { KEYS = 700, ROUNDS = 400000 };
	struct world_of_values w = values_with(&numbers, 1, 0);
	static int64_t model[KEYS];
	static bool is_there[KEYS];
	uint32_t n = 0;
	int n_wrong = 0;
	unsigned seed = 7;
	int64_t sum;

	for (int i = 0; i < ROUNDS; i++) {
		int key = rand_r(&seed) % KEYS, what = rand_r(&seed) % 4;

		if (what == 0) {
			values_delete(w.v, 0, number_key(key), 0);
			n -= is_there[key];
			is_there[key] = false;
			model[key] = 0;
		} else if (what == 1) {
			n_wrong += get(w.v, 0, key) != model[key];
			n_wrong += values_has(w.v, 0, number_key(key), 0) != is_there[key];
		} else {
			values_add(w.v, 0, number_key(key), i, &sum);
			model[key] += i;
			n += !is_there[key];
			is_there[key] = true;
			n_wrong += sum != model[key];
		}
		n_wrong += values_count(w.v, 0) != n;
	}
	is(n_wrong, 0);
	script_values_close(w.v);
}

static void keys_of_several_types_are_told_apart(void)
{
	struct script_array_code a = { .name = "a", .n_keys = 3, .keys = { S, L, S }, .value = L };
	struct world_of_values w = values_with(&a, 1, 0);
	union script_cell k[3] = { { .text = string(w.v, "ab") },
				   { .number = 1 },
				   { .text = string(w.v, "c") } };
	union script_cell other[3] = { { .text = string(w.v, "a") },
				       { .number = 1 },
				       { .text = string(w.v, "bc") } },
			  value;

	values_set(w.v, 0, k, (union script_cell){ .number = 5 });
	values_set(w.v, 0, other, (union script_cell){ .number = 6 });
	values_end_handler(w.v); /* the keys of the array are its own */
	k[0].text = string(w.v, "ab");
	k[2].text = string(w.v, "c");
	values_get(w.v, 0, k, &value);
	is(value.number, 5);
	is(values_count(w.v, 0), 2);
	script_values_close(w.v);
}

static void wrapping_array_loses_its_oldest_element(void)
{
	struct script_array_code a = numbers;
	struct world_of_values w;

	a.capacity = 3;
	a.wraps = true;
	w = values_with(&a, 1, 0);
	for (int64_t i = 1; i <= 4; i++)
		is(set(w.v, 0, i, i * 10), VALUES_FINE);
	is(get(w.v, 0, 1), 0);
	is(get(w.v, 0, 2), 20);
	is(set(w.v, 0, 2, 21), VALUES_FINE); /* a new value makes nothing younger */
	is(set(w.v, 0, 5, 50), VALUES_FINE);
	is(get(w.v, 0, 2), 0);
	is(get(w.v, 0, 3), 30);
	values_delete(w.v, 0, number_key(4), 0);
	is(set(w.v, 0, 6, 60), VALUES_FINE);
	is(get(w.v, 0, 3), 30);
	is(values_count(w.v, 0), 3);
	script_values_close(w.v);
}

static void slices_are_found_and_deleted(void)
{
	struct script_array_code a = { .name = "a", .n_keys = 2, .keys = { L, S }, .value = L };
	struct world_of_values w = values_with(&a, 1, 0);
	union script_cell k[2];

	for (int64_t i = 0; i < 10; i++) {
		k[0].number = i % 3;
		k[1].text = string(w.v, i & 1 ? "odd" : "even");
		values_set(w.v, 0, k, (union script_cell){ .number = i });
	}
	is(values_count(w.v, 0), 6);
	k[0].number = 2;
	ok(values_has(w.v, 0, k, 2));
	is(values_delete(w.v, 0, k, 2), VALUES_FINE);
	ok(!values_has(w.v, 0, k, 2));
	is(values_count(w.v, 0), 4);
	k[1].text = string(w.v, "odd");
	values_delete(w.v, 0, k, 1);
	is(values_count(w.v, 0), 2);
	script_values_close(w.v);
}

static void string_that_is_replaced_lives_until_the_handler_ends(void)
{
	struct script_array_code a = { .name = "a", .n_keys = 1, .keys = { L }, .value = S };
	struct world_of_values w = values_with(&a, 1, 0);
	union script_cell first;

	values_set(w.v, 0, number_key(1), (union script_cell){ .text = string(w.v, "first") });
	values_end_handler(w.v);
	values_get(w.v, 0, number_key(1), &first);
	values_set(w.v, 0, number_key(1), (union script_cell){ .text = string(w.v, "second") });
	values_clear(w.v, 0);
	is_text(first.text->bytes, "first");
	values_end_handler(w.v);
	values_get(w.v, 0, number_key(1), &first);
	is(first.text->size, 0);
	script_values_close(w.v);
}

static void strings_are_cut_and_keep_nul_bytes(void)
{
	struct script_unit unit = { 0 };
	struct script_values *v =
		script_values_open(&unit, &(struct script_limits){ .string_bytes = 8 });

	is(values_string(v, "123456789", 9)->size, 7);
	is_text(values_string(v, "123456789", 9)->bytes, "1234567");
	is(values_string(v, "a\0b", 3)->size, 3);
	is(values_long_string(v, "123456789", 9)->size, 9);
	ok(values_compare(values_string(v, "a\0b", 3), values_string(v, "a\0c", 3)) < 0);
	ok(values_compare(values_string(v, "a", 1), values_string(v, "ab", 2)) < 0);
	is(values_compare(values_string(v, "", 0), values_string(v, "", 0)), 0);
	script_values_close(v);
}

static void memory_is_limited_and_given_back(void)
{
	struct script_array_code arrays[] = {
		{ .name = "a", .n_keys = 1, .keys = { S }, .value = S, .capacity = 1 << 20 },
	};
	struct world_of_values w = values_with(arrays, 1, 4 << 20);
	char text[400];
	enum values_error error = VALUES_FINE;
	int64_t i;

	memset(text, 'x', sizeof text);
	for (int round = 0; round < 3; round++) {
		for (i = 0, error = VALUES_FINE; !error; i++) {
			char key[32];

			snprintf(key, sizeof key, "key %lld", (long long)i);
			error = values_set(
				w.v, 0, text_key(w.v, key),
				(union script_cell){ .text = values_string(w.v, text, 400) });
			values_end_handler(w.v);
		}
		is(error, VALUES_NO_MEMORY);
		ok(i > 5000 && i < 10000);
		is(values_clear(w.v, 0), VALUES_FINE);
		values_end_handler(w.v);
	}
	script_values_close(w.v);
}

static void temporary_strings_without_memory_are_empty(void)
{
	struct world_of_values w = values_with(&numbers, 1, 1 << 20);
	char text[500];
	int n_empty = 0;

	memset(text, 'x', sizeof text);
	for (int i = 0; i < 4000; i++)
		n_empty += !values_string(w.v, text, 500)->size;
	ok(n_empty > 1000 && n_empty < 3000);
	values_end_handler(w.v);
	is(values_string(w.v, text, 500)->size, 500);
	script_values_close(w.v);
}

static void globals_begin_with_their_value_and_own_their_strings(void)
{
	struct script_global_code globals[] = { { .name = "n", .type = L, .number = 7 },
						{ .name = "s", .type = S, .text = "seven" },
						{ .name = "e", .type = S } };
	struct script_unit unit = { .globals = globals, .n_globals = 3 };
	struct script_values *v = script_values_open(&unit, &(struct script_limits){ 0 });
	const struct script_string *old;

	is(values_globals(v)[0].number, 7);
	is_text(values_globals(v)[1].text->bytes, "seven");
	is_text(values_globals(v)[2].text->bytes, "");
	old = values_globals(v)[1].text;
	is(values_set_global(v, 1, string(v, "eight")), VALUES_FINE);
	is_text(old->bytes, "seven");
	values_end_handler(v);
	is_text(values_globals(v)[1].text->bytes, "eight");
	script_values_close(v);
}

int main(void)
{
	run(element_that_is_not_there_is_zero_and_is_not_made);
	run(a_million_elements_are_found_again);
	run(random_changes_agree_with_a_model);
	run(keys_of_several_types_are_told_apart);
	run(wrapping_array_loses_its_oldest_element);
	run(slices_are_found_and_deleted);
	run(string_that_is_replaced_lives_until_the_handler_ends);
	run(strings_are_cut_and_keep_nul_bytes);
	run(memory_is_limited_and_given_back);
	run(temporary_strings_without_memory_are_empty);
	run(globals_begin_with_their_value_and_own_their_strings);
	return test_status();
}
