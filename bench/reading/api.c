/* SPDX-License-Identifier: MIT */
/*
 * bench/reading/api.c - read all of a recording through libduet-read: `api
 * values|batch|slices|parallel|columns TRACE`.
 *
 *   values    duet_read_values() for each event; duet_read_walk() for structs, arrays, variants
 *   batch     duet_read_batch(), and values for events that it does not take
 *   slices    the same with a thread per CPU, each for a part of the time, in which order is kept
 *   parallel  as batch with a thread per CPU, each for one stream after the other: no common order
 *   columns   time and class of each event: duet_read_rows()
 *
 * All but the last add up every value of every field, and the size of texts, so that all is
 * decoded.  Prints the number of events and the sum.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <duet/read.h>

enum { ROWS = 512, FIELDS_MAX = 1024, THREADS_MAX = 64 };

/* For a class: how each cell is added up. */
struct look {
	uint32_t n;
	uint16_t at[FIELDS_MAX];
};

struct result {
	uint64_t n, sum;
};

static struct duet_read *whole;
static struct look *looks;
static atomic_uint next_stream; /* or slice */

static void make_looks(void)
{
	uint32_t n = duet_read_n_classes(whole);

	looks = calloc(n + 1u, sizeof *looks);
	if (!looks)
		exit(2);
	for (uint32_t i = 0; i < n; i++) {
		const struct duet_read_class *c = duet_read_class_info(whole, i);

		looks[i].n = c->n_fields < FIELDS_MAX ? c->n_fields : FIELDS_MAX;
		for (uint32_t f = 0; f < looks[i].n; f++)
			looks[i].at[f] = (uint16_t)(f * sizeof(struct duet_read_cell) +
						    (c->fields[f].kind == DUET_READ_TEXT
							     ? offsetof(struct duet_read_cell, size)
							     : 0));
	}
}

static uint64_t sum_row(const struct duet_read_row *row)
{
	const struct look *l = &looks[row->class_number];
	uint64_t sum = (uint64_t)row->time_ns, v;

	for (uint32_t f = 0; f < l->n; f++) {
		memcpy(&v, (const char *)row->cells + l->at[f], sizeof v);
		sum += v;
	}
	return sum;
}

static uint64_t sum_value(const struct duet_read_value *v)
{
	if (v->kind == DUET_READ_TEXT)
		return v->size;
	return v->kind == DUET_READ_NONE || v->kind == DUET_READ_STRUCT ? 0 : v->as.u;
}

static uint64_t sum_event(struct duet_read *r, const struct duet_read_item *item)
{
	const struct duet_read_class *c = duet_read_class_info(r, item->class_number);
	struct duet_read_value values[FIELDS_MAX], v;
	uint64_t sum = (uint64_t)item->time_ns;
	bool is_flat = c->n_fields <= FIELDS_MAX;

	for (uint32_t f = 0; f < c->n_fields && is_flat; f++)
		is_flat =
			c->fields[f].kind >= DUET_READ_INT && c->fields[f].kind <= DUET_READ_LABEL;
	if (is_flat && !duet_read_values(r, values))
		for (uint32_t f = 0; f < c->n_fields; f++)
			sum += sum_value(&values[f]);
	else
		while (duet_read_walk(r, &v))
			sum += sum_value(&v);
	return sum;
}

/* From the reader's position to before @to_ns. */
static struct result by_batches(struct duet_read *r, int64_t to_ns)
{
	struct duet_read_row rows[ROWS];
	struct duet_read_item item;
	struct result all = { 0, 0 };
	uint32_t n;

	for (;;) {
		while ((n = duet_read_batch(r, rows, ROWS)) > 0) {
			bool ends = rows[n - 1].time_ns >= to_ns;

			while (n && rows[n - 1].time_ns >= to_ns)
				n--;
			all.n += n;
			for (uint32_t i = 0; i < n; i++)
				all.sum += sum_row(&rows[i]);
			if (ends)
				return all;
		}
		if (duet_read_next(r, &item) <= 0 || item.time_ns >= to_ns)
			return all;
		if (item.kind == DUET_READ_EVENT) {
			all.n++;
			all.sum += sum_event(r, &item);
		}
	}
}

static struct result by_values(struct duet_read *r)
{
	struct result all = { 0, 0 };
	struct duet_read_item item;

	while (duet_read_next(r, &item) > 0)
		if (item.kind == DUET_READ_EVENT) {
			all.n++;
			all.sum += sum_event(r, &item);
		}
	return all;
}

static struct result by_columns(struct duet_read *r)
{
	static int64_t times[1 << 14];
	static uint32_t classes[1 << 14];
	struct duet_read_column columns[] = { { DUET_READ_ROW_TIME, 0, times },
					      { DUET_READ_ROW_CLASS, 0, classes } };
	struct result all = { 0, 0 };
	int64_t n;

	while ((n = duet_read_rows(r, DUET_READ_ANY_CLASS, columns, 2, 1 << 14)) > 0) {
		all.n += (uint64_t)n;
		for (int64_t i = 0; i < n; i++)
			all.sum += (uint64_t)times[i] + classes[i];
	}
	return all;
}

static void *read_streams(void *arg)
{
	struct result *all = arg, one;
	struct duet_read *part;
	uint32_t stream;

	while ((stream = atomic_fetch_add(&next_stream, 1)) < duet_read_n_streams(whole)) {
		if (duet_read_part(whole, stream, &part))
			exit(2);
		one = by_batches(part, INT64_MAX);
		all->n += one.n;
		all->sum += one.sum;
		duet_read_close(part);
	}
	return NULL;
}

/* Several times the number of threads, since parts of the time differ in cost. */
enum { SLICES = 4 };
static struct slices {
	int64_t begin_ns, length_ns;
	uint32_t n;
} slices;

static void cut_slices(uint32_t n)
{
	int64_t end_ns = INT64_MIN;

	slices.begin_ns = INT64_MAX;
	for (uint32_t i = 0; i < duet_read_n_streams(whole); i++) {
		const struct duet_read_stream *s = duet_read_stream_info(whole, i);

		if (s->n_packets && s->begin_ns < slices.begin_ns)
			slices.begin_ns = s->begin_ns;
		if (s->n_packets && s->end_ns > end_ns)
			end_ns = s->end_ns;
	}
	slices.n = n;
	slices.length_ns = end_ns > slices.begin_ns ? (end_ns - slices.begin_ns) / n + 1 : 1;
}

static void *read_slices(void *arg)
{
	struct result *all = arg, one;
	struct duet_read *part;
	uint32_t i;

	if (duet_read_part(whole, DUET_READ_ALL_STREAMS, &part))
		exit(2);
	while ((i = atomic_fetch_add(&next_stream, 1)) < slices.n) {
		int64_t from = slices.begin_ns + i * slices.length_ns;

		duet_read_seek(part, i ? from : INT64_MIN);
		one = by_batches(part, i + 1 < slices.n ? from + slices.length_ns : INT64_MAX);
		all->n += one.n;
		all->sum += one.sum;
	}
	duet_read_close(part);
	return NULL;
}

static struct result by_threads(void *(*read)(void *))
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	struct result all = { 0, 0 }, of[THREADS_MAX] = { { 0, 0 } };
	pthread_t threads[THREADS_MAX];

	n = n < THREADS_MAX ? n : THREADS_MAX;
	cut_slices((uint32_t)n * SLICES);
	for (long i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, read, &of[i]))
			exit(2);
	for (long i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		all.n += of[i].n;
		all.sum += of[i].sum;
	}
	return all;
}

int main(int argc, char **argv)
{
	const char *how = argc == 3 ? argv[1] : "", *path = argv[argc - 1];
	char why[DUET_READ_WHY] = "usage: api values|batch|slices|parallel|columns TRACE";
	struct result all;

	if (argc != 3 || duet_read_open(&whole, &path, 1, NULL, why)) {
		fprintf(stderr, "api: %s\n", why);
		return 2;
	}
	make_looks();
	if (!strcmp(how, "values"))
		all = by_values(whole);
	else if (!strcmp(how, "batch"))
		all = by_batches(whole, INT64_MAX);
	else if (!strcmp(how, "columns"))
		all = by_columns(whole);
	else
		all = by_threads(strcmp(how, "slices") ? read_streams : read_slices);
	printf("%" PRIu64 " %" PRIu64 "\n", all.n, all.sum);
	free(looks);
	duet_read_close(whole);
	return 0;
}
