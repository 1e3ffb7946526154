/* SPDX-License-Identifier: MIT */
/*
 * unit/ring/coarse_test.c - the times of a coarse pool: early, in order, and exact where that is
 * promised (ring/write_coarse.h).
 *
 * The machine may interrupt the test anywhere.  Then the clock is read once more, which no test takes
 * for an error.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "clock/clock.h"
#include "ring/drift.h"
#include "ring/rseq.h"
#include "ring/write_coarse.h"
#include "test.h"

enum way { WRITE, WORDS, TEXT, PREFIXED, PREFIXED_TEXT, WAYS };
enum { ID = 3, DENSE = 400 };

static struct pool pool, other;

static void open_pool(struct pool *p, bool is_coarse)
{
	struct abi_pool s = pool_shape(
		&(struct pool_request){ .size_bytes = 2 << 20,
					.n_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
					.is_coarse = is_coarse });
	void *memory = aligned_alloc(1 << 16, s.size);

	if (!memory || clock_init_kind(&s.clock, 0, NULL))
		exit(1);
	memset(memory, 0, s.size);
	pool_format(memory, &s);
	is(pool_attach(p, memory, s.size, (uint32_t)getpid()), 0);
}

static void close_pools(void)
{
	free(pool.shared);
	free(other.shared);
}

static void open_pools(void)
{
	open_pool(&pool, true);
	open_pool(&other, false);
}

/* As libduet: words, and if they are refused the path of all others. */
static void write_to(struct pool *p, enum way way)
{
	static const struct ring_prefix prefix = { .what = 5, .size = 20 };
	uint64_t word = 7, w_bytes = 8;
	const uint32_t size = sizeof word;

	if (way == WORDS && ring_may_be_coarse(p, size) &&
	    ring_try_coarse_words(p, ID, 0, &size, word, 0, 0, 0) == RING_DONE)
		return;
	if (way == TEXT && ring_may_be_coarse(p, size) &&
	    ring_try_coarse_text(p, ID, 0, &(uint32_t){ 0 }, 0, 0, "sevenly") == RING_DONE)
		return;
	if (way == PREFIXED && ring_may_be_coarse(p, size) &&
	    ring_try_coarse_prefixed(p, ID, 0, &prefix, 5, word, w_bytes, &size, word, 0, 0, 0) ==
		    RING_DONE)
		return;
	if (way == PREFIXED_TEXT && ring_may_be_coarse(p, size) &&
	    ring_try_coarse_prefixed_text(p, ID, 0, &prefix, 5, word, w_bytes, &(uint32_t){ 0 }, 0,
					  0, "sevenly") == RING_DONE)
		return;
	ok(ring_write(p, ID, 0, &word, size));
}

static struct abi_chunk *chunk(void)
{
	return pool_chunk(&pool, pool_slot(&pool, (uint32_t)sched_getcpu())->chunk);
}

static uint64_t last_ns(void)
{
	return chunk()->begin_ns + ABI_SINCE_OF(chunk()->word);
}

static uint64_t now_ns(void)
{
	return clock_now_ns(&pool.clock);
}

static void write_many(enum way way)
{
	for (int i = 0; i < DENSE; i++)
		write_to(&pool, way);
}

static void many_events_have_the_time_of_the_one_before(void)
{
	for (enum way way = WRITE; way < WAYS; way++) {
		int n_same = 0;

		open_pools();
		for (int i = 0; i < 20 * DENSE; i++) {
			uint64_t before_ns = i ? last_ns() : 0;

			write_to(&pool, way);
			ok(last_ns() >= before_ns && last_ns() <= now_ns());
			n_same += last_ns() == before_ns;
		}
		ok(n_same > 10 * DENSE);
		close_pools();
	}
}

static bool handler_writes;

static void on_signal(int sig)
{
	(void)sig;
	for (int i = 0; handler_writes && i < DENSE; i++)
		write_to(&pool, WORDS);
}

/* If the time is over before the thread has left the CPU, it does not leave it, and the kernel does not
 * end its stretch: then once more. */
static void sleep_a_little(void)
{
	struct rusage before, after;

	getrusage(RUSAGE_THREAD, &before);
	do {
		nanosleep(&(struct timespec){ 0, 200000 }, NULL);
		getrusage(RUSAGE_THREAD, &after);
	} while (after.ru_nvcsw == before.ru_nvcsw);
}

static void be_signalled(void)
{
	raise(SIGUSR1);
}

static void write_elsewhere(void)
{
	write_to(&other, WRITE);
}

static void write_in_place(void)
{
	struct ring_open o;

	if (ring_open(&pool, &o, ID, 0, 8))
		ring_commit(&pool, &o, 8);
}

static void be_interrupted_in_place(void)
{
	struct ring_open o;

	if (!ring_open(&pool, &o, ID, 0, 8))
		return;
	handler_writes = true;
	raise(SIGUSR1);
	handler_writes = false;
	ring_commit(&pool, &o, 8);
}

/* As the collector. */
static void look(void)
{
	store(&chunk()->coarse_end, 0);
}

static void an_event_behind(void (*what)(void))
{
	for (enum way way = WRITE; way < WAYS; way++) {
		open_pools();
		for (int i = 0; i < 30; i++) {
			uint64_t before_ns;

			write_many(way);
			what();
			before_ns = now_ns();
			write_to(&pool, way);
			ok(last_ns() >= before_ns);
		}
		close_pools();
	}
}

static void the_first_event_after_a_pause_is_exact(void)
{
	an_event_behind(sleep_a_little);
}

static void the_first_event_after_a_signal_is_exact(void)
{
	an_event_behind(be_signalled);
}

static void the_first_event_after_one_of_another_pool_is_exact(void)
{
	an_event_behind(write_elsewhere);
}

static void the_first_event_after_one_in_place_is_exact(void)
{
	an_event_behind(write_in_place);
}

static void the_first_event_after_one_in_place_with_a_handler_is_exact(void)
{
	an_event_behind(be_interrupted_in_place);
}

static void the_first_event_after_a_look_is_exact(void)
{
	an_event_behind(look);
}

static void wait_ns(uint64_t ns)
{
	for (uint64_t begin_ns = now_ns(); now_ns() - begin_ns < ns;)
		;
}

static void events_far_apart_are_exact(void)
{
	for (enum way way = WRITE; way < WAYS; way++) {
		open_pools();
		write_many(way);
		look();
		write_to(&pool, way); /* it may begin a stretch, which ends with it */
		look();
		for (int i = 0; i < 50; i++) {
			uint64_t before_ns;

			wait_ns(100000);
			before_ns = now_ns();
			write_to(&pool, way);
			ok(last_ns() >= before_ns);
		}
		close_pools();
	}
}

static void a_stretch_is_at_most_twice_the_last_one(void)
{
	open_pools();
	for (int i = 0; i < 20 * DENSE; i++) {
		struct abi_chunk *c;
		uint32_t begin, end, stretch;

		write_to(&pool, WORDS);
		c = chunk();
		begin = c->coarse_begin;
		end = c->coarse_end;
		write_to(&pool, WORDS);
		if (c != chunk() || c->coarse_begin == begin)
			continue;
		stretch = c->coarse_begin - begin;
		ok(c->coarse_end - c->coarse_begin <= 2 * stretch);
		ok(c->coarse_end - c->coarse_begin <= 1024);
		ok(end <= c->coarse_begin + 1024);
	}
	close_pools();
}

/* A stray store may put anything there. */
static void any_stretch_leaves_events_whole(void)
{
	static const uint32_t values[] = { 0, 1, 128, 4000, 65535, 65536, 0x7fffffff, 0xffffffff };
	enum { N = sizeof values / sizeof *values };

	open_pools();
	for (int i = 0; i < N * N * 20; i++) {
		uint32_t before;

		write_to(&pool, i % 2 ? WORDS : WRITE);
		chunk()->coarse_begin = values[i % N];
		chunk()->coarse_end = values[i / N % N];
		before = ABI_POS_OF(chunk()->word);
		write_to(&pool, i % 2 ? WORDS : WRITE);
		ok(ABI_POS_OF(chunk()->word) == before + 4 + 6 + 8 ||
		   ABI_POS_OF(chunk()->word) < before);
		ok(ABI_POS_OF(chunk()->word) <= pool.chunk_size && last_ns() <= now_ns());
	}
	close_pools();
}

static void without_the_clock_the_exclusive_path_remains(void)
{
	open_pools();
	ok(ring_may_be_coarse(&pool, 8) && !ring_may_restart(&pool, 8));
	pool_stop_clock(&pool);
	ok(!ring_may_be_coarse(&pool, 8));
	write_to(&pool, WORDS);
	ok(!pool_slot(&pool, (uint32_t)sched_getcpu())->chunk);
	close_pools();
}

static uint64_t exclusive_ns(uint32_t cpu)
{
	struct abi_chunk *c = pool_chunk(&pool, pool_slot(&pool, cpu)->exclusive[0]);

	return c ? c->begin_ns + ABI_SINCE_OF(c->word) : 0;
}

static uint64_t tick_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The collector would take a time that is ahead for an impossible one. */
static void without_the_clock_times_are_never_ahead_nor_before_those_with_it(void)
{
	for (int i = 0; i < 20; i++) {
		uint64_t before_ns, tick, word = 7;

		open_pools();
		wait_ns((uint64_t)i * 500000); /* anywhere in a tick */
		write_to(&pool, WORDS);
		before_ns = now_ns();
		pool_stop_clock(&pool);
		ok(ring_write(&pool, ID, 0, &word, sizeof word));
		ok(exclusive_ns((uint32_t)sched_getcpu()) >= before_ns);
		for (tick = tick_ns(); tick_ns() == tick;)
			;
		ok(ring_write(&pool, ID, 0, &word, sizeof word));
		ok(exclusive_ns((uint32_t)sched_getcpu()) <= now_ns());
		close_pools();
	}
}

/* Each CPU has a stream, so equal times would be merged in the order of streams. */
static void without_the_clock_a_thread_that_changes_cpu_keeps_its_order(void)
{
	uint64_t before_ns = 0, word = 7;
	cpu_set_t all, one;

	open_pools();
	pool_stop_clock(&pool);
	sched_getaffinity(getpid(), sizeof all, &all);
	for (uint32_t i = 0; i < 400; i++) {
		uint32_t cpu = i % pool.n_cpus;
		uint64_t t_ns;

		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof one, &one))
			continue;
		ok(ring_write(&pool, ID, 0, &word, sizeof word));
		t_ns = exclusive_ns(cpu);
		ok(t_ns > before_ns);
		before_ns = t_ns;
	}
	sched_setaffinity(0, sizeof all, &all);
	close_pools();
}

/* Each event gets the time of the event before it in its chunk; later ones elsewhere must not. */
static void without_the_clock_forged_times_move_no_other_event(void)
{
	uint64_t word = 7;
	uint32_t cpu;

	open_pools();
	pool_stop_clock(&pool);
	cpu = (uint32_t)sched_getcpu();
	ok(ring_write(&pool, ID, 0, &word, sizeof word));
	for (int i = 0; i < 50; i++) {
		struct abi_chunk *c = pool_chunk(&pool, pool_slot(&pool, cpu)->exclusive[0]);

		c->begin_ns += 9000000;
		ok(ring_write(&pool, ID, 0, &word, sizeof word));
	}
	pool_slot(&pool, cpu)->exclusive[0] = 0; /* the next event goes to another chunk */
	ok(ring_write(&pool, ID, 0, &word, sizeof word));
	ok(exclusive_ns(cpu) <= now_ns() + 10000000);
	close_pools();
}

int main(void)
{
	cpu_set_t set;
	struct abi_clock clock;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof set, &set);
	rseq_init();
	clock_choose(&clock, 0);
	if (!RSEQ_HAVE_SEQUENCES || !rseq_offset || clock.kind != ABI_CLOCK_TSC)
		skip("no restartable sequences here");
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = on_signal }, NULL);
	run(many_events_have_the_time_of_the_one_before);
	run(the_first_event_after_a_pause_is_exact);
	run(the_first_event_after_a_signal_is_exact);
	run(the_first_event_after_one_of_another_pool_is_exact);
	run(the_first_event_after_one_in_place_is_exact);
	run(the_first_event_after_one_in_place_with_a_handler_is_exact);
	run(the_first_event_after_a_look_is_exact);
	run(events_far_apart_are_exact);
	run(a_stretch_is_at_most_twice_the_last_one);
	run(any_stretch_leaves_events_whole);
	run(without_the_clock_the_exclusive_path_remains);
	run(without_the_clock_times_are_never_ahead_nor_before_those_with_it);
	run(without_the_clock_a_thread_that_changes_cpu_keeps_its_order);
	run(without_the_clock_forged_times_move_no_other_event);
	return test_status();
}
