/* SPDX-License-Identifier: MIT */
/*
 * Calls are recorded as they were made: each once, nested as they ran.
 *
 *   recording [N]    N random call trees; short: 2000, long: 1000000
 *
 * Functions log their entries and exits to a plain array.  The records of the thread must be the
 * exits of that log in the same order, with the same function and depth.
 */
#include <setjmp.h>
#include <ucontext.h>

#include "recorder.h"

enum { MOST_LOGGED = 1 << 22, MOST_DEPTH = 64 };

struct logged {
	uint32_t function, depth;
	bool is_unwound;
};

static struct logged *logged;
static uint64_t n_logged;
static uint64_t times = 2000;
static uint64_t seed = 1;

/* The calls that are open, by our own account. */
static struct {
	uint32_t function;
	bool is_left;
} open_calls[MOST_DEPTH * 4];
static uint32_t depth;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

static void log_exit(uint32_t function, uint32_t at_depth, bool is_unwound)
{
	if (n_logged < MOST_LOGGED)
		logged[n_logged++] = (struct logged){ function, at_depth, is_unwound };
}

static void begin(uint32_t function)
{
	open_calls[depth++].function = function;
}

static void end(void)
{
	depth--;
	log_exit(open_calls[depth].function, depth, false);
}

/* Compares the log with the records of this thread, which are taken. */
static void records_are_the_log(void)
{
	struct decoded d = { 0 };
	uint64_t at = 0, wrong = 0;

	recorder_flush();
	decode_sent(&d, (uint32_t)syscall(SYS_gettid));
	for (uint64_t i = 0; i < d.n; i++) {
		const struct call *c = &d.calls[i];

		if (c->is_open || c->function == recorder_flush_number())
			continue;
		if (at >= n_logged || c->function != logged[at].function ||
		    c->depth != logged[at].depth || c->is_unwound != logged[at].is_unwound ||
		    c->entry > c->exit) {
			if (!wrong++ && at < n_logged)
				printf("# record %lu: function %u depth %u unwound %d, not %u %u "
				       "%d\n",
				       at, c->function, c->depth, c->is_unwound,
				       logged[at].function, logged[at].depth,
				       logged[at].is_unwound);
		}
		at++;
	}
	is(wrong, 0);
	is(at, n_logged);
	is(d.lost, 0);
	ok(!d.is_wrong && !d.is_torn);
	decoded_free(&d);
	recorder_clear();
	n_logged = 0;
}

static CALLED int leaf(int x);
static CALLED int node(int x);
static CALLED int wide(int x);
static CALLED int tail_even(int n);
static CALLED int tail_odd(int n);

static uint32_t number_leaf, number_node, number_wide, number_even, number_odd;

static int leaf(int x)
{
	begin(number_leaf);
	__asm__ volatile("" : "+r"(x));
	end();
	return x;
}

static int any(int x)
{
	switch (draw(4)) {
	case 0:
		return leaf(x);
	case 1:
		return wide(x);
	default:
		return node(x);
	}
}

static int node(int x)
{
	begin(number_node);
	if (depth < MOST_DEPTH)
		for (uint32_t n = draw(3); n; n--)
			x += any(x);
	end();
	return x;
}

/* Its frame is too large to be close to the one before. */
static int wide(int x)
{
	char room[300 << 10];

	begin(number_wide);
	__asm__ volatile("" : : "r"(room) : "memory");
	if (depth < 8)
		x += any(x);
	end();
	return x;
}

static void random_trees_are_recorded(void)
{
	for (uint64_t i = 0; i < times; i++) {
		seed = i + 1;
		node((int)i);
		if (n_logged > MOST_LOGGED / 2)
			records_are_the_log();
	}
	records_are_the_log();
}

/* ---------------------------------------------------------------- tail calls */

static int tail_even(int n)
{
	begin(number_even);
	end();
	return n ? tail_odd(n - 1) : 0;
}

static int tail_odd(int n)
{
	begin(number_odd);
	end();
	return n ? tail_even(n - 1) : 1;
}

static void tail_calls_are_calls(void)
{
	is(tail_even(1000), 0);
	is(tail_odd(1000), 1);
	records_are_the_log();
}

/* If frames stayed, a chain would need 64 MB. */
static void tail_calls_take_no_stack(void)
{
	enum { CHAIN = 2000000 };

	for (uint64_t n = 0; n < times * 1000; n += CHAIN) {
		n_logged = MOST_LOGGED;
		is(tail_even(CHAIN), 0);
		n_logged = 0;
		recorder_flush();
		recorder_clear();
	}
}

/* The compiler does not align the stack for callees that it sees: frames are as close as those of
 * tail calls. */
static CALLED int close_3(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static CALLED int close_2(int x)
{
	return close_3(x) + 1;
}

static CALLED int close_1(int x)
{
	return close_2(x) + 1;
}

static void close_frames_are_no_tail_calls(void)
{
	for (int i = 0; i < 1000; i++) {
		is(close_1(i), i + 3);
		log_exit(recorder_number(close_3), 2, false);
		log_exit(recorder_number(close_2), 1, false);
		log_exit(recorder_number(close_1), 0, false);
	}
	records_are_the_log();
}

/* ---------------------------------------------------------------- jumps */

static jmp_buf target;

static void leave_to(uint32_t kept)
{
	while (depth > kept) {
		depth--;
		log_exit(open_calls[depth].function, depth, true);
	}
}

static CALLED int dive(int n);
static uint32_t number_dive;

static int dive(int n)
{
	begin(number_dive);
	if (n < 0)
		return n;
	if (!n)
		longjmp(target, 1);
	n = dive(n - 1) + 1;
	end();
	return n;
}

static CALLED int jumps(int n);
static uint32_t number_jumps;

static int jumps(int n)
{
	begin(number_jumps);
	if (!setjmp(target)) {
		dive(n);
	} else {
		leave_to(1);
		leaf(n);
	}
	end();
	return n;
}

static void calls_left_by_longjmp_end(void)
{
	for (uint64_t i = 0; i < times; i++) {
		jumps((int)(i % 20));
		if (n_logged > MOST_LOGGED / 2)
			records_are_the_log();
	}
	records_are_the_log();
}

/* ---------------------------------------------------------------- recursion, threads, fork */

static CALLED int deep(int n);
static uint32_t number_deep;

static int deep(int n)
{
	__asm__ volatile("" : "+r"(n));
	n = n ? deep(n - 1) + 1 : 0;
	log_exit(number_deep, (uint32_t)(5000 - n), false);
	return n;
}

static void recursion_deeper_than_the_slots_is_recorded(void)
{
	is(deep(5000), 5000);
	records_are_the_log();
}

static CALLED int count(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}
static uint32_t number_count;

static uint64_t n_counted(uint32_t tid)
{
	struct decoded d = { 0 };
	uint64_t n = 0;

	decode_sent(&d, tid);
	for (uint64_t i = 0; i < d.n; i++)
		n += d.calls[i].function == number_count && !d.calls[i].is_open;
	ok(!d.is_wrong && !d.is_torn);
	n += d.lost * 1000000000;
	decoded_free(&d);
	return n;
}

static void *count_in_thread(void *tid)
{
	*(uint32_t *)tid = (uint32_t)syscall(SYS_gettid);
	for (int i = 0; i < 10000; i++)
		count(i);
	return NULL;
}

static void each_thread_has_its_calls(void)
{
	uint32_t tids[8];
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, count_in_thread, &tids[i]);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 8; i++)
		is(n_counted(tids[i]), 10000);
	recorder_clear();
}

static void areas_of_ended_threads_are_used_again(void)
{
	uint32_t tid, before = calls.shared->n_threads;
	pthread_t t;

	for (int i = 0; i < 200; i++) {
		pthread_create(&t, NULL, count_in_thread, &tid);
		pthread_join(t, NULL);
		is(n_counted(tid), 10000);
		recorder_clear();
	}
	ok(calls.shared->n_threads <= before + 8);
	is(calls.shared->lost, 0);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		times = (uint64_t)atol(argv[1]);
	logged = mmap(NULL, MOST_LOGGED * sizeof *logged, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	recorder_open(ABI_CALLS_EXACT);
	number_leaf = recorder_number(leaf);
	number_node = recorder_number(node);
	number_wide = recorder_number(wide);
	number_even = recorder_number(tail_even);
	number_odd = recorder_number(tail_odd);
	number_dive = recorder_number(dive);
	number_jumps = recorder_number(jumps);
	number_deep = recorder_number(deep);
	number_count = recorder_number(count);
	run(random_trees_are_recorded);
	run(tail_calls_are_calls);
	run(tail_calls_take_no_stack);
	run(close_frames_are_no_tail_calls);
	run(calls_left_by_longjmp_end);
	run(recursion_deeper_than_the_slots_is_recorded);
	run(each_thread_has_its_calls);
	run(areas_of_ended_threads_are_used_again);
	return test_status();
}
