/* SPDX-License-Identifier: MIT */
/* unit/ring/held_test.c - an event that is left by a jump gives its chunk back; one that is only
 * interrupted keeps it. */
#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>

#include "clock/clock.h"
#include "ring/pool.h"
#include "ring/rseq.h"
#include "ring/write.h"
#include "test.h"

enum { CHUNKS = 64, SLOT_PLACES = ABI_EXCLUSIVE_PLACES };

static struct pool pool;

static void new_pool(void)
{
	struct abi_pool shape = pool_shape(&(struct pool_request){ .n_cpus = 1 });
	void *memory;

	shape.n_chunks = CHUNKS;
	shape.chunk_shift = ABI_CHUNK_SHIFT_MIN;
	shape.size = abi_pool_size(shape.n_slots, CHUNKS, shape.chunk_shift);
	shape.clock = (struct abi_clock){ .kind = ABI_CLOCK_MONOTONIC, .mult = 1ull << 32 };
	memory = aligned_alloc(4096, shape.size);
	memset(memory, 0, shape.size);
	pool_format(memory, &shape);
	is(pool_attach(&pool, memory, shape.size, 7), 0);
}

static uint64_t lost(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < pool.n_slots; i++)
		n += pool_slot(&pool, i)->lost;
	return n;
}

static int held_places(void)
{
	int n = 0;

	for (uint32_t i = 0; i < pool.n_slots; i++)
		for (int x = 0; x < SLOT_PLACES; x++)
			n += ABI_HOLDER_OF(pool_slot(&pool, i)->exclusive[x]) != 0;
	return n;
}

static int chunks_in_use(void)
{
	int n = 0;

	for (uint32_t i = 0; i < pool.n_chunks; i++)
		n += ABI_STATE_OF(pool.states[i]) != ABI_FREE;
	return n;
}

typedef void between(void *arg);

/* An event as a site writes it: its words lie in a frame that stays. */
static __attribute__((noinline)) bool event(between *what, void *arg)
{
	struct ring_open o;
	void *at = ring_open_on_stack(&pool, &o, &o, 1, 0, 64);

	if (!at)
		return false;
	memset(at, 1, 32);
	if (what)
		what(arg);
	ring_commit(&pool, &o, 64);
	return true;
}

/* The same, deeper by more than the frames of the ring. */
static __attribute__((noinline)) bool deep_event(between *what, void *arg)
{
	volatile char room[4000];

	room[0] = room[3999] = 0;
	return event(what, arg) + room[0];
}

static jmp_buf out;

static void leave(void *arg)
{
	longjmp(out, arg != NULL);
}

static void events_left_by_jumps_cost_one_event_each_and_no_chunk(void)
{
	static volatile int i;

	new_pool();
	for (i = 0; i < 3000; i++)
		if (!setjmp(out)) {
			if (!event(i % 2 ? leave : NULL, &pool))
				break;
		}
	is(i, 3000);
	ok(event(NULL, NULL)); /* the last is found by the next event */
	is(lost(), 1500);
	is(held_places(), 0);
	ok(chunks_in_use() < 60); /* 1500 events of 86 bytes; they are closed when full */
}

static void a_shallower_event_finds_it_too_if_its_frames_reach_there(void)
{
	new_pool();
	if (!setjmp(out))
		deep_event(leave, &pool);
	ok(event(NULL, NULL));
	is(held_places(), 0); /* a fresh chunk is in no place yet */
	is(lost(), 0);	      /* not certain: the frames do not meet */
	ok(deep_event(NULL, NULL));
	is(lost(), 1);
}

static void nested(void *arg)
{
	int *depth = arg;

	if (--*depth)
		ok(event(nested, depth));
	for (int i = 0; i < 5; i++)
		ok(deep_event(NULL, NULL));
}

static void handlers_in_handlers_keep_their_chunks(void)
{
	int depth = 8;

	new_pool();
	ok(event(nested, &depth));
	is(lost(), 0);
	is(held_places(), 0);
}

static ucontext_t main_context, other_context;
static char other_stack[65536] __attribute__((aligned(16)));

static void to_main(void *arg)
{
	(void)arg;
	swapcontext(&other_context, &main_context);
}

static void on_other_stack(void)
{
	ok(event(to_main, NULL));
	swapcontext(&other_context, &main_context);
}

static void an_event_on_another_stack_goes_on_later(void)
{
	new_pool();
	getcontext(&other_context);
	other_context.uc_stack.ss_sp = other_stack;
	other_context.uc_stack.ss_size = sizeof other_stack;
	makecontext(&other_context, on_other_stack, 0);
	swapcontext(&main_context, &other_context); /* stops in its event */
	for (int i = 0; i < 20; i++) {
		ok(event(NULL, NULL));
		ok(deep_event(NULL, NULL));
	}
	swapcontext(&main_context, &other_context);
	is(lost(), 0);
	is(held_places(), 0);
}

static void a_child_leaves_its_parents_chunk_alone(void)
{
	uint32_t incarnation = 1;

	new_pool();
	pool.incarnation = &incarnation;
	pool.generation = 1;
	if (!setjmp(out))
		event(leave, &pool);
	incarnation = pool.generation = 2; /* forked, and attached anew */
	ok(event(NULL, NULL));
	is(lost(), 0);
}

int main(void)
{
	rseq_offset = 0;
	run(events_left_by_jumps_cost_one_event_each_and_no_chunk);
	run(a_shallower_event_finds_it_too_if_its_frames_reach_there);
	run(handlers_in_handlers_keep_their_chunks);
	run(an_event_on_another_stack_goes_on_later);
	run(a_child_leaves_its_parents_chunk_alone);
	return test_status();
}
