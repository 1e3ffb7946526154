/* SPDX-License-Identifier: MIT */
/*
 * Calls are recorded once each, if handlers, kills and forks come between any two instructions.
 *
 *   interrupted [N]    N kills, and so many milliseconds of signals; short: 100
 */
#include <setjmp.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "recorder.h"

static uint64_t times = 100;

/* Shared with killed children. */
struct counts {
	uint64_t begun, ended, in_handler, jumps;
};
static struct counts *counts;

static CALLED int leaf(int x)
{
	counts->begun++;
	__asm__ volatile("" : "+r"(x));
	counts->ended++;
	return x;
}

static CALLED int node(int n)
{
	counts->begun++;
	__asm__ volatile("" : "+r"(n));
	if (n > 0) {
		node(n - 1);
		leaf(n);
		node(n - 2);
	}
	counts->ended++;
	return n;
}

static CALLED int handled(int n)
{
	__atomic_fetch_add(&counts->in_handler, 1, __ATOMIC_RELAXED);
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static CALLED int handled_outer(int n)
{
	__atomic_fetch_add(&counts->in_handler, 1, __ATOMIC_RELAXED);
	return handled(n) + handled(n + 1);
}

static volatile uint64_t n_handled;

static void on_signal(int signal)
{
	handled_outer(signal);
	n_handled++;
}

/* ---------------------------------------------------------------- signals */

static volatile bool is_over;

static volatile bool is_flood;

/*
 * The next signal comes when the handler of the one before has run, so that the thread goes on in
 * between.  In a flood a handler may follow the other without end, and an interrupted hook waits: then
 * its batch cannot be reused, and calls of handlers are lost, counted.
 */
static void *send_signals(void *thread)
{
	while (!is_over) {
		uint64_t before = n_handled;

		pthread_kill(*(pthread_t *)thread, SIGUSR1);
		while (!is_flood && !is_over && n_handled == before)
			sched_yield();
		for (volatile int i = 0; i < 300; i++)
			;
	}
	return NULL;
}

static uint64_t milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void with_signals(int flags, void work(void))
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags | SA_RESTART };
	pthread_t sender, self = pthread_self();

	sigaction(SIGUSR1, &action, NULL);
	is_over = false;
	pthread_create(&sender, NULL, send_signals, &self);
	work();
	is_over = true;
	pthread_join(sender, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGUSR1, &action, NULL);
}

/* In a flood each call is recorded, or counted as lost. */
static void check_flood(void)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct decoded d = { 0 };
	uint64_t n = 0;

	recorder_flush();
	decode_sent(&d, tid);
	n += decoded_number(&d, recorder_number(node), false, false);
	n += decoded_number(&d, recorder_number(leaf), false, false);
	n += decoded_number(&d, recorder_number(handled), false, false);
	n += decoded_number(&d, recorder_number(handled_outer), false, false);
	is(n + d.lost, counts->ended + counts->in_handler);
	ok(!d.is_wrong && !d.is_torn);
	decoded_free(&d);
	recorder_clear();
	*counts = (struct counts){ 0 };
}

static void check_all(void)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct decoded d = { 0 };

	recorder_flush();
	decode_sent(&d, tid);
	is(decoded_number(&d, recorder_number(node), false, false) +
		   decoded_number(&d, recorder_number(leaf), false, false),
	   counts->ended);
	is(decoded_number(&d, recorder_number(handled), false, false) +
		   decoded_number(&d, recorder_number(handled_outer), false, false),
	   counts->in_handler);
	is(d.lost, 0);
	ok(!d.is_wrong && !d.is_torn);
	ok(decoded_is_nested(&d));
	decoded_free(&d);
	recorder_clear();
	*counts = (struct counts){ 0 };
}

static void work_in_trees(void)
{
	uint64_t end = milliseconds() + times * 3;

	while ((milliseconds() < end || counts->in_handler <= 10) &&
	       *recorder_sent_number < MOST_BATCHES / 2)
		node(10);
}

static void calls_of_handlers_are_recorded(void)
{
	with_signals(0, work_in_trees);
	ok(counts->in_handler > 10);
	check_all();
}

static void calls_of_handlers_on_another_stack_are_recorded(void)
{
	static char room[64 << 10];
	stack_t stack = { .ss_sp = room, .ss_size = sizeof room };

	sigaltstack(&stack, NULL);
	with_signals(SA_ONSTACK, work_in_trees);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	ok(counts->in_handler > 10);
	check_all();
}

static void calls_in_a_flood_of_signals_are_recorded_or_counted(void)
{
	is_flood = true;
	with_signals(0, work_in_trees);
	is_flood = false;
	check_flood();
}

/* ---------------------------------------------------------------- handlers that jump */

static sigjmp_buf back;
static volatile bool may_jump;

static void on_signal_jump(int signal)
{
	handled_outer(signal);
	n_handled++;
	if (may_jump) {
		may_jump = false;
		counts->jumps++;
		siglongjmp(back, 1);
	}
}

static void work_with_jumps(void)
{
	uint64_t end = milliseconds() + times * 3;
	struct sigaction action = { .sa_handler = on_signal_jump };

	sigaction(SIGUSR1, &action, NULL);
	while (milliseconds() < end && *recorder_sent_number < MOST_BATCHES / 2) {
		if (!sigsetjmp(back, 1)) {
			may_jump = true;
			node(10);
		}
		may_jump = false;
	}
}

/* A call that a handler's jump leaves was begun, and is recorded as unwound.  In the hooks at both
 * ends the program's own counts differ by one. */
static void calls_left_by_handlers_are_recorded(void)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct decoded d = { 0 };
	uint64_t returned, left;

	with_signals(0, work_with_jumps);
	recorder_flush();
	decode_sent(&d, tid);
	returned = decoded_number(&d, recorder_number(node), false, false) +
		   decoded_number(&d, recorder_number(leaf), false, false);
	left = decoded_number(&d, recorder_number(node), false, true) +
	       decoded_number(&d, recorder_number(leaf), false, true);
	ok(counts->jumps > 3);
	ok(returned <= counts->ended && returned + counts->jumps >= counts->ended);
	ok(returned + left + counts->jumps >= counts->begun &&
	   returned + left <= counts->begun + counts->jumps);
	is(d.lost, 0);
	ok(!d.is_wrong && !d.is_torn);
	decoded_free(&d);
	recorder_clear();
	*counts = (struct counts){ 0 };
}

/* ---------------------------------------------------------------- kills */

static void be_killed(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	recorder_open(ABI_CALLS_EXACT);
	for (;;)
		node(12);
}

static void kill_one(uint64_t i)
{
	struct decoded d = { 0 };
	uint64_t returned, open;
	pid_t child = fork();

	if (!child)
		be_killed();
	while (!load(&counts->begun))
		sched_yield();
	usleep((useconds_t)(i * 7919 % 2000));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	decode_file(&d, calls_area(0));
	returned = d.n;
	open = 0;
	for (uint64_t k = 0; k < d.n; k++)
		open += d.calls[k].is_open;
	returned -= open;
	/* Announced calls return or stay open later. */
	for (uint64_t k = 0; k < d.n; k++)
		open -= d.calls[k].is_open && d.calls[k].is_announced;
	ok(counts->ended - returned <= 1);
	ok(returned + open - counts->begun <= 1);
	if (counts->ended - returned > 1 || returned + open - counts->begun > 1)
		printf("# kill %lu: begun %lu ended %lu, returned %lu open %lu\n", i, counts->begun,
		       counts->ended, returned, open);
	ok(!d.is_wrong); /* torn at its end: killed between reservation and store */
	decoded_free(&d);
	recorder_clear();
	memset(calls_area(0), 0, ABI_CALLS_THREAD_BYTES);
	calls.shared->n_threads = 0;
	calls.shared->n_objects = 0;
	calls.shared->n_functions = 1;
	*counts = (struct counts){ 0 };
}

static void killed_programs_lose_no_call(void)
{
	for (uint64_t i = 0; i < times; i++)
		kill_one(i);
}

/* ---------------------------------------------------------------- forks */

static int in_child(uint64_t n)
{
	struct decoded d = { 0 };

	recorder_clear();
	*counts = (struct counts){ 0 };
	for (uint64_t i = 0; i < n; i++)
		leaf(1);
	recorder_flush();
	decode_sent(&d, (uint32_t)syscall(SYS_gettid));
	return decoded_number(&d, recorder_number(leaf), false, false) == n && !d.is_wrong &&
			       !d.is_torn && calls.shared->n_threads == 1
		       ? 0
		       : 1;
}

static CALLED pid_t fork_inside(bool past_libc)
{
	return past_libc ? (pid_t)syscall(SYS_fork) : fork();
}

static void children_have_their_own_calls(void)
{
	for (int i = 0; i < 40; i++) {
		pid_t child;
		int status = -1;

		for (int k = 0; k < 100; k++)
			leaf(k);
		child = fork_inside(i & 1);
		if (!child)
			_exit(in_child(1000));
		waitpid(child, &status, 0);
		is(status, 0);
	}
	recorder_clear();
	*counts = (struct counts){ 0 };
}

static void children_of_vfork_write_as_their_parents(void)
{
	struct decoded d = { 0 };

	recorder_flush();
	recorder_clear();
	for (int i = 0; i < 50; i++) {
		pid_t child = vfork();

		if (!child) {
			leaf(1);
			_exit(0);
		}
		waitpid(child, NULL, 0);
		leaf(2);
	}
	recorder_flush();
	decode_sent(&d, (uint32_t)syscall(SYS_gettid));
	is(decoded_number(&d, recorder_number(leaf), false, false), 100);
	ok(!d.is_wrong && !d.is_torn);
	decoded_free(&d);
	recorder_clear();
}

int main(int argc, char **argv)
{
	if (argc > 1)
		times = (uint64_t)atol(argv[1]);
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	recorder_share();
	run(killed_programs_lose_no_call);
	recorder_open(ABI_CALLS_EXACT);
	run(calls_of_handlers_are_recorded);
	run(calls_of_handlers_on_another_stack_are_recorded);
	run(calls_in_a_flood_of_signals_are_recorded_or_counted);
	run(calls_left_by_handlers_are_recorded);
	run(children_have_their_own_calls);
	run(children_of_vfork_write_as_their_parents);
	return test_status();
}
