/* SPDX-License-Identifier: MIT */
/*
 * arrays.c - what changes of arrays cost, beside std::unordered_map, in the same run.
 *
 * Keys are drawn at random from as many as the row says.  Each figure is the median of the rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "script/values/values.h"
#include "unordered.h"

enum { N_CHANGES = 1 << 20, ROUNDS = 5, MOST_KEYS = 1000000 };

static struct script_array_code arrays[] = {
	{ .name = "number",
	  .n_keys = 1,
	  .keys = { SCRIPT_LONG },
	  .value = SCRIPT_LONG,
	  .capacity = MOST_KEYS },
	{ .name = "text",
	  .n_keys = 1,
	  .keys = { SCRIPT_STRING },
	  .value = SCRIPT_LONG,
	  .capacity = MOST_KEYS },
	{ .name = "statistics",
	  .n_keys = 1,
	  .keys = { SCRIPT_LONG },
	  .value = SCRIPT_STATS,
	  .capacity = MOST_KEYS },
	{ .name = "wraps",
	  .n_keys = 1,
	  .keys = { SCRIPT_LONG },
	  .value = SCRIPT_LONG,
	  .capacity = 1024,
	  .wraps = true },
};
static const struct script_unit unit = { .arrays = arrays, .n_arrays = 4 };
static struct script_values *values;
static int64_t keys[N_CHANGES];
static const struct script_string *texts[N_CHANGES];
static uint64_t direct_array;
static script_help *direct;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of(void (*run)(void))
{
	double ns[ROUNDS];

	run();
	for (int i = 0; i < ROUNDS; i++) {
		double begin = now_ns();

		run();
		ns[i] = (now_ns() - begin) / N_CHANGES;
	}
	qsort(ns, ROUNDS, sizeof *ns, by_size);
	return ns[ROUNDS / 2];
}

static void add_numbers(void)
{
	int64_t sum;

	for (int i = 0; i < N_CHANGES; i++)
		values_add(values, 0, &(union script_cell){ .number = keys[i] }, 1, &sum);
}

static void add_directly(void)
{
	for (int i = 0; i < N_CHANGES; i++)
		direct(NULL, direct_array, (uint64_t)(uintptr_t)&keys[i], 1, 0, 0);
}

static void add_texts(void)
{
	int64_t sum;

	for (int i = 0; i < N_CHANGES; i++)
		values_add(values, 1, &(union script_cell){ .text = texts[i] }, 1, &sum);
}

static void collect(void)
{
	for (int i = 0; i < N_CHANGES; i++)
		values_collect(values, 2, &(union script_cell){ .number = keys[i] }, i);
}

static void wrap(void)
{
	static int64_t next;
	int64_t sum;

	for (int i = 0; i < N_CHANGES; i++)
		values_add(values, 3, &(union script_cell){ .number = next++ }, 1, &sum);
}

static void reference_numbers(void)
{
	for (int i = 0; i < N_CHANGES; i++)
		unordered_add(keys[i]);
}

static void reference_texts(void)
{
	for (int i = 0; i < N_CHANGES; i++)
		unordered_add_text(texts[i]->bytes, texts[i]->size);
}

static void draw(int n_keys)
{
	const struct script_string **all = malloc((size_t)n_keys * sizeof *all);
	char name[32];

	values_end_handler(values);
	for (int i = 0; i < n_keys; i++) {
		int size = snprintf(name, sizeof name, "process-%d", i);

		all[i] = values_string(values, name, (size_t)size);
	}
	for (int i = 0; i < N_CHANGES; i++) {
		int k = (int)(((unsigned)rand() * 32768u + (unsigned)rand()) % (unsigned)n_keys);

		keys[i] = k + 1000;
		texts[i] = all[k];
	}
	free(all);
}

static void measure(int n_keys)
{
	draw(n_keys);
	for (uint32_t i = 0; i < 4; i++)
		values_clear(values, i);
	unordered_clear();
	printf("%9d %8.1f", n_keys, median_of(add_numbers));
	direct = values_direct(values, SCRIPT_HELPER_ARRAY_ADD, 0, &direct_array);
	printf(" %8.1f", median_of(add_directly));
	printf(" %8.1f", median_of(reference_numbers));
	printf(" %8.1f %8.1f", median_of(add_texts), median_of(reference_texts));
	printf(" %8.1f\n", median_of(collect));
}

static void measure_sort(int64_t limit)
{
	struct script_iteration how = { .sort = -1, .sort_key = -1, .wild = UINT16_MAX };
	double begin = now_ns();
	int64_t handle;

	values_iterate(values, &how, NULL, limit, &handle);
	printf("%.1f ms to sort %u elements, limit %lld\n", (now_ns() - begin) / 1e6,
	       values_count(values, 0), (long long)limit);
	values_end(values, handle);
}

int main(void)
{
	values = script_values_open(&unit, &(struct script_limits){ 0 });
	if (!values)
		return 1;
	printf("ns for each change\n");
	printf("%9s %8s %8s %8s %8s %8s %8s\n", "keys", "number", "direct", "C++", "text", "C++",
	       "<<<");
	measure(16);
	measure(1000);
	measure(50000);
	measure(MOST_KEYS);
	measure_sort(10);
	measure_sort(-1);
	printf("%.1f ns for a new element that replaces the oldest of 1024\n", median_of(wrap));
	script_values_close(values);
	return 0;
}
