/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_calls.c - libFuzzer's entries to calls of programs: batches, calls files, plans.
 *
 * FUZZ names an entry of the table at the end.  Of a batch it also checks what a walk relies on:
 * entries and exits of a stack are in the order of time and properly nested.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls/walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { STACKS = FCALLS_STACKS_MAX };

static void check(bool good)
{
	if (!good)
		abort();
}

/* Memory of exactly its size, so that a sanitizer sees a read beyond it. */
static uint8_t *copied(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	check(copy);
	memcpy(copy, bytes, size);
	return copy;
}

static void check_block(const struct block *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		const struct block_call *c = &b->calls[i];

		check(c->end_ns >= c->begin_ns);
		check(c->self_ns <= (uint64_t)(c->end_ns - c->begin_ns));
		check(c->depth < FCALLS_DEPTH_MAX && c->function);
	}
}

static void check_edges(const struct edges *e, uint32_t n_cuts)
{
	int64_t last_ns = INT64_MIN;
	bool is_one = true; /* edges of several stacks are sorted; cut ones come first */

	for (uint32_t i = 1; i < e->n; i++)
		is_one &= e->at[i].stack == e->at[0].stack;
	for (uint32_t i = is_one ? n_cuts : 0; i < e->n; i++) {
		check(e->at[i].time_ns >= last_ns);
		last_ns = e->at[i].time_ns;
	}
}

/* mult (8 bytes), then batches: u16 size, u8 gap, bytes. */
static void try_batch(const uint8_t *bytes, size_t size)
{
	struct process process = { .n_numbers = 0 };
	struct fcalls c = { .processes = &process, .n_processes = 1 };
	struct batch_thread t = { 0 };
	struct block b = { 0 };
	struct edges e = { 0 };
	struct batch_ref ref = { .base_ns = 1000000 };

	if (size < 8)
		return;
	memcpy(&ref.mult, bytes, 8);
	for (size_t at = 8; at + 3 <= size;) {
		size_t n = (size_t)(bytes[at] | bytes[at + 1] << 8), left = size - at - 3;
		bool is_gap = bytes[at + 2] & 1;
		uint8_t *copy;

		n = n < left ? n : left;
		copy = copied(bytes + at + 3, n);
		ref.bytes = copy;
		ref.n_bytes = (uint32_t)n;
		check(!block_decode(&b, &t, &ref, is_gap));
		check_block(&b);
		check(!block_resolve(&b, &t, &c, 0));
		check(!edges_make(&e, &b, &t, &c, 0));
		check_edges(&e, b.n_cuts);
		ref.base_ns = b.end_ns < 1ll << 61 ? b.end_ns : 1000000;
		free(copy);
		at += 3 + n;
	}
	for (uint32_t i = 0; i < t.n_lanes; i++)
		check(!block_cut_all(&b, &t, i, 1ll << 62));
	batch_thread_fini(&t);
	block_fini(&b);
	edges_fini(&e);
	free(process.numbers);
	functions_fini(&c);
}

/* The beginning of a calls file; the areas of its threads follow at their place. */
static void try_file(const uint8_t *bytes, size_t size)
{
	size_t head = size < ABI_CALLS_OBJECTS_AT ? size : ABI_CALLS_OBJECTS_AT;
	size_t whole = ABI_CALLS_THREADS_AT + ABI_CALLS_THREAD_BYTES;
	uint8_t *copy = calloc(1, whole);
	struct calls_file f = { .root = 0 };
	struct calls_files files = { .n_files = 0 };
	const struct abi_calls_object *o;
	const struct plan_file *plan;

	check(copy);
	memcpy(copy, bytes, head);
	memcpy(copy + ABI_CALLS_OBJECTS_AT, bytes + head, size - head);
	for (size_t n = whole; n > 4096; n = n / 16)
		if (calls_file_check(&f, copy, n)) {
			f.plan_of = calloc(f.n_objects + (size_t)1, sizeof *f.plan_of);
			for (uint32_t i = 0; i < 3000; i += 7)
				check(!calls_file_site(&files, &f, i, &plan, &o));
			for (uint32_t i = 0; i < f.n_threads; i++)
				check(calls_file_thread(&f, i)->tid == 0);
			free(f.plan_of);
		} else {
			break;
		}
	free(copy);
}

static void try_plan(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = copied(bytes, size);
	struct plan_file p;
	volatile size_t sum = 0;

	if (plan_file_check(&p, copy, size))
		for (uint32_t i = 0; i < p.head->n_sites; i++)
			sum += strlen(plan_text(&p, p.sites[i].name));
	free(copy);
}

static const struct {
	const char *name;
	void (*try)(const uint8_t *bytes, size_t size);
} doors[] = { { "calls_batch", try_batch },
	      { "calls_file", try_file },
	      { "calls_plan", try_plan } };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const char *which = getenv("FUZZ");

	for (size_t i = 0; which && i < sizeof doors / sizeof *doors; i++)
		if (!strcmp(doors[i].name, which)) {
			doors[i].try(bytes, size);
			return 0;
		}
	abort();
}
