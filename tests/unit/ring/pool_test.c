/* SPDX-License-Identifier: MIT */
/* unit/ring/pool_test.c - chunks are claimed in order, unsound pools are refused, schemas are kept.
 */
#include <errno.h>
#include <stdlib.h>

#include "clock/clock.h"
#include "ring/pool.h"
#include "ring/write.h"
#include "test.h"

static void *memory;
static struct abi_pool shape;

static struct pool pool_for_test(uint32_t n_chunks, bool flight_recorder)
{
	struct pool p;

	free(memory);
	shape = pool_shape(
		&(struct pool_request){ .n_cpus = 1, .flight_recorder = flight_recorder });
	shape.n_chunks = n_chunks;
	shape.chunk_shift = ABI_CHUNK_SHIFT_MIN;
	shape.size = abi_pool_size(shape.n_slots, n_chunks, shape.chunk_shift);
	shape.clock = (struct abi_clock){ .kind = ABI_CLOCK_MONOTONIC, .mult = 1ull << 32 };
	memory = aligned_alloc(4096, shape.size);
	memset(memory, 0, shape.size);
	pool_format(memory, &shape);
	is(pool_attach(&p, memory, shape.size, 7), 0);
	return p;
}

static int64_t claim(struct pool *p)
{
	struct abi_chunk *c = pool_claim(p, 0);

	return c ? (int64_t)pool_index(p, c) : -1;
}

static void close_chunk(struct pool *p, uint32_t i)
{
	pool_close(p, pool_chunk_at(p, i), p->states[i]);
}

static void free_chunks_are_claimed_lowest_first(void)
{
	struct pool p = pool_for_test(4, false);

	is(claim(&p), 0);
	is(claim(&p), 1);
	is(claim(&p), 2);
	pool_unclaim(&p, pool_chunk_at(&p, 1));
	is(claim(&p), 1);
	is(ABI_OWNER_OF(p.states[1]), 7);
	is(ABI_STATE_OF(p.states[1]), ABI_OWNED);
}

static void a_pool_without_free_chunks_says_so_until_the_hint_is_cleared(void)
{
	struct pool p = pool_for_test(4, false);

	for (int i = 0; i < 4; i++)
		is(claim(&p), i);
	is(claim(&p), -1);
	is(p.shared->exhausted, 1);
	pool_unclaim(&p, pool_chunk_at(&p, 2));
	is(claim(&p), -1);
	p.shared->exhausted = 0;
	is(claim(&p), 2);
}

static void a_flight_recorder_takes_the_chunk_closed_longest_ago(void)
{
	struct pool p = pool_for_test(4, true);

	for (int i = 0; i < 4; i++)
		claim(&p);
	is(claim(&p), -1);
	close_chunk(&p, 2);
	close_chunk(&p, 0);
	close_chunk(&p, 3);
	is(claim(&p), 2);
	close_chunk(&p, 2);
	is(claim(&p), 0);
	is(claim(&p), 3);
	is(claim(&p), 2);
	is(claim(&p), -1);
}

static void the_oldest_is_found_when_orders_wrap(void)
{
	struct pool p = pool_for_test(4, true);

	for (int i = 0; i < 4; i++)
		claim(&p);
	p.shared->order = (1u << 30) - 2;
	for (uint32_t i = 4; i--;)
		close_chunk(&p, i);
	for (int i = 3; i >= 0; i--)
		is(claim(&p), i);
}

static void a_late_close_does_not_touch_a_chunk_claimed_again(void)
{
	struct pool p = pool_for_test(4, true);
	uint64_t old;

	claim(&p);
	old = p.states[0];
	pool_unclaim(&p, pool_chunk_at(&p, 0));
	is(claim(&p), 0);
	pool_close(&p, pool_chunk_at(&p, 0), old);
	is(ABI_STATE_OF(p.states[0]), ABI_OWNED);
}

static void a_child_forked_in_mid_event_leaves_it_to_its_parent(void)
{
	struct pool p = pool_for_test(4, false);
	struct pool parents = p;
	uint32_t incarnation = 1; /* the kernel zeroes it in a child */
	struct ring_open o;
	struct abi_chunk *c;
	uint64_t word;

	parents.incarnation = p.incarnation = &incarnation;
	parents.generation = p.generation = incarnation;
	is(ring_write_slow(&p, 1, 0, "before", 6), true);
	is(ring_open(&p, &o, 1, 0, 6) != NULL, true);
	c = o.chunk;
	ring_commit(&parents, &o, 6);
	is(ring_write_slow(&parents, 1, 0, "behind", 6), true);
	word = c->word;
	incarnation = 0;
	ring_commit(&p, &o, 6);
	is(c->word, word);
	is(ring_open(&p, &o, 1, 0, 6) == NULL, true);
	is(c->word, word);
	is(o.slot->lost, 0); /* its parent counts it */
}

static void unsound_headers_are_refused(void)
{
	struct pool p = pool_for_test(4, false), q;
	struct abi_pool *s = memory;

#define REFUSED_WITH(field, value)                                                                 \
	do {                                                                                       \
		s->field = (value);                                                                \
		is(pool_attach(&q, memory, shape.size, 1), -EPROTO);                               \
		*s = shape;                                                                        \
	} while (0)
	is(pool_attach(&q, memory, 100, 1), -EPROTO);
	is(pool_attach(&q, memory, shape.size - 1, 1), -EPROTO);
	REFUSED_WITH(magic, 1);
	REFUSED_WITH(version, ABI_POOL_VERSION + 1);
	REFUSED_WITH(n_chunks, 0);
	REFUSED_WITH(n_chunks, 3);
	REFUSED_WITH(n_chunks, 8);
	REFUSED_WITH(n_chunks, 1u << 31);
	REFUSED_WITH(chunk_shift, 11);
	REFUSED_WITH(chunk_shift, 21);
	REFUSED_WITH(chunk_shift, 255);
	REFUSED_WITH(n_cpus, ABI_CPUS_MAX + 1);
	REFUSED_WITH(n_cpus, UINT32_MAX);
	REFUSED_WITH(n_slots, 0);
	REFUSED_WITH(size, 0);
	REFUSED_WITH(size, shape.size + 4096);
	REFUSED_WITH(block_timeout_us, 60000001); /* no writer waits for longer than a minute */
	REFUSED_WITH(block_timeout_us, UINT32_MAX);
	s->block_timeout_us = 60000000;
	is(pool_attach(&p, memory, shape.size, 1), 0);
	is(p.block_timeout_us, 60000000);
	*s = shape;
	is(pool_attach(&p, memory, shape.size, 1), 0);
}

static void a_timed_out_wait_spares_other_writers_until_the_next_pass(void)
{
	struct pool p = pool_for_test(4, false);
	struct abi_pool *s = memory;

	s->block_timeout_us = 1000;
	is(pool_attach(&p, memory, shape.size, 1), 0);
	for (int i = 0; i < 4; i++)
		is(claim(&p), i);
	is(s->waited, 0);
	for (int i = 0; i < 5; i++)
		is(claim(&p), -1);
	is(s->waited, 1);
	s->exhausted = 0; /* the collector's pass */
	is(claim(&p), -1);
	is(s->waited, 2);
	s->exhausted = 1; /* a writer waits; a chunk comes */
	p.states[2] = ABI_STATE(1, 0, ABI_FREE);
	is(claim(&p), 2);
	is(s->waited, 3);
}

static void an_open_chunk_is_held_by_one_writer_at_a_time(void)
{
	struct pool p = pool_for_test(4, false);
	struct ring_open a, b;

	ok(ring_open(&p, &a, 1, 0, 8));
	ring_commit(&p, &a, 8);
	ok(ring_open(&p, &a, 1, 0, 8));
	ok(ring_open(&p, &b, 1, 0, 8));
	ok(a.chunk != b.chunk);
	is(ABI_HOLDER_OF(*a.place), 7);
	ring_commit(&p, &b, 8);
	ring_commit(&p, &a, 8);
	is(ABI_HOLDER_OF(*a.place), 0);
}

static void chunks_kept_idly_are_closed_on_request_and_held_ones_not(void)
{
	struct pool p = pool_for_test(4, false);
	struct ring_open a, b;

	ok(ring_open(&p, &a, 1, 0, 8));
	ring_commit(&p, &a, 8);
	ok(ring_open(&p, &a, 1, 0, 8));
	ok(ring_open(&p, &b, 1, 0, 8));
	ring_commit(&p, &b, 8);
	ring_release(&p);
	is(ABI_STATE_OF(*pool_state(&p, a.chunk)), ABI_OWNED);
	is(ABI_STATE_OF(*pool_state(&p, b.chunk)), ABI_FULL);
	ring_commit(&p, &a, 8);
}

static void one_schema_has_one_id(void)
{
	struct pool p = pool_for_test(4, false);

	is(pool_schema(&p, "6 a:b", 5), 1);
	is(pool_schema(&p, "6 a:c", 5), 2);
	is(pool_schema(&p, "6 a:b", 5), 1);
	is(pool_schema(&p, "", 0), 0);
}

static void a_full_registry_stays_full(void)
{
	static char text[ABI_SCHEMA_MAX_BYTES];
	struct pool p = pool_for_test(4, false);
	uint32_t used, n = 0;

	is(pool_schema(&p, text, sizeof text + 1), 0);
	do
		memcpy(text, &n, sizeof n);
	while (pool_schema(&p, text, sizeof text) && ++n);
	is(n, ABI_SCHEMA_TEXT_BYTES / sizeof text);
	used = p.shared->text_used;
	for (int i = 0; i < 1000; i++)
		is(pool_schema(&p, text, sizeof text), 0);
	is(p.shared->text_used, used);
	is(p.shared->n_schemas, n);
	n = 5;
	memcpy(text, &n, sizeof n);
	is(pool_schema(&p, text, sizeof text), 6);
}

static void a_schema_without_text_yet_is_no_match(void)
{
	struct pool p = pool_for_test(4, false);

	p.shared->n_schemas = 1; /* another writer is about to fill it */
	is(pool_schema(&p, "6 a:b", 5), 2);
}

static void a_search_begins_where_the_slot_says_and_goes_round(void)
{
	struct pool p = pool_for_test(4, false);

	pool_slot(&p, 0)->first = 2;
	is(claim(&p), 2);
	is(claim(&p), 3);
	is(claim(&p), 0);
	is(claim(&p), 1);
	is(claim(&p), -1);
}

/* A program may write any number there. */
static void wherever_a_search_begins_each_chunk_is_found(void)
{
	const uint32_t firsts[] = { 3, 4, 1u << 31, UINT32_MAX };

	for (unsigned i = 0; i < sizeof firsts / sizeof *firsts; i++) {
		struct pool p = pool_for_test(4, false);
		uint32_t seen = 0;

		pool_slot(&p, 0)->first = firsts[i];
		for (int k = 0; k < 4; k++)
			seen |= 1u << claim(&p);
		is(seen, 15);
		is(claim(&p), -1);
	}
}

static void a_flight_recorder_takes_the_oldest_of_all_nodes(void)
{
	struct pool p = pool_for_test(4, true);

	pool_slot(&p, 0)->first = 2;
	for (int i = 0; i < 4; i++)
		claim(&p);
	close_chunk(&p, 1);
	close_chunk(&p, 3);
	is(claim(&p), 1);
	is(claim(&p), 3);
}

int main(void)
{
	run(a_search_begins_where_the_slot_says_and_goes_round);
	run(wherever_a_search_begins_each_chunk_is_found);
	run(a_flight_recorder_takes_the_oldest_of_all_nodes);
	run(free_chunks_are_claimed_lowest_first);
	run(a_pool_without_free_chunks_says_so_until_the_hint_is_cleared);
	run(a_flight_recorder_takes_the_chunk_closed_longest_ago);
	run(the_oldest_is_found_when_orders_wrap);
	run(a_late_close_does_not_touch_a_chunk_claimed_again);
	run(a_child_forked_in_mid_event_leaves_it_to_its_parent);
	run(unsound_headers_are_refused);
	run(a_timed_out_wait_spares_other_writers_until_the_next_pass);
	run(an_open_chunk_is_held_by_one_writer_at_a_time);
	run(chunks_kept_idly_are_closed_on_request_and_held_ones_not);
	run(one_schema_has_one_id);
	run(a_full_registry_stays_full);
	run(a_schema_without_text_yet_is_no_match);
	free(memory);
	return test_status();
}
