/* SPDX-License-Identifier: MIT */
/*
 * Exceptions, pthread_exit, cancellation and backtraces pass through stubs.
 *
 *   passing [N]    N throws; short: 2000, long: 1000000
 */
#include <pthread.h>

#include "host.h"

enum { THROW, EXIT, WAIT, DEPTH = 20 };

extern unsigned long n_destroyed;
int deep(int n, int what);
int catch_deep(int n, int what);
int walk(int n, void **addresses, int most);
long many(long a, long b, long c, long d, long e, long f, long g, long h, long i);
int throw_many(void);

extern const uintptr_t __start___patchable_function_entries[],
	__stop___patchable_function_entries[];

static uint64_t times = 2000;
static struct target target;

static void patch_all(void)
{
	static struct draft d;
	const uintptr_t *p = __start___patchable_function_entries;

	target = host_target();
	for (; p < __stop___patchable_function_entries; p++) {
		struct abi_plan_site *s =
			draft_add(&d, target.loaded.bias, (const void *)*p, ABI_SITE_NOPS, 5, 0);
		bool is_many = *p >= (uintptr_t)many && *p < (uintptr_t)many + 8;

		s->stack_bytes = is_many ? 32 : 0;
	}
	if (!draft_end(&d, &target) || !target_make(&target) || !target_patch(&target, PATCH_QUIET))
		exit(3);
	unwind_register(&target.unwind);
	target_set_hooks(&target, 0, false);
}

static void clear(void)
{
	n_destroyed = n_entered = n_left = n_unwound = 0;
}

static void exceptions_pass_and_end_the_calls(void)
{
	clear();
	for (uint64_t i = 0; i < times; i++)
		is(catch_deep(DEPTH - 1, THROW), -1);
	is(n_destroyed, times * DEPTH);
	/* The destructors may have stubs of their own; the catching function returns. */
	is(n_unwound, times * DEPTH);
	is(n_entered - n_left, n_unwound);
}

static void arguments_on_the_stack_are_seen(void)
{
	clear();
	is(many(1, 2, 3, 4, 5, 6, 7, 8, 9), 21 + 70 + 800 + 9000);
	is(n_entered - n_left, 0);
	ok(n_entered >= 1);
}

static void exceptions_pass_copies_of_arguments(void)
{
	clear();
	for (uint64_t i = 0; i < times; i++)
		is(throw_many(), -1);
	is(n_unwound, times);
}

static void *run_deep(void *what)
{
	deep(DEPTH - 1, (int)(intptr_t)what);
	return NULL;
}

static void pthread_exit_passes(void)
{
	pthread_t t;

	clear();
	for (int i = 0; i < 100; i++) {
		is(pthread_create(&t, NULL, run_deep, (void *)EXIT), 0);
		pthread_join(t, NULL);
	}
	is(n_destroyed, 100 * DEPTH);
	is(n_unwound, 100 * DEPTH);
}

static void cancellation_passes(void)
{
	void *result;
	pthread_t t;

	clear();
	for (int i = 0; i < 20; i++) {
		is(pthread_create(&t, NULL, run_deep, (void *)WAIT), 0);
		pthread_cancel(t);
		pthread_join(t, &result);
		ok(result == PTHREAD_CANCELED);
	}
	is(n_destroyed - n_unwound, 0);
}

static void backtraces_pass(void)
{
	void *with[100], *without[100];
	int n, m;

	clear();
	n = walk(DEPTH - 1, with, 100);
	ok(target_switch(&target, NULL, false));
	m = walk(DEPTH - 1, without, 100);
	ok(target_switch(&target, NULL, true));
	is(n, m + DEPTH); /* one more frame for each function */
	ok(with[n - 1] == without[m - 1]);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		times = (uint64_t)atol(argv[1]);
	host_open();
	patch_all();
	run(exceptions_pass_and_end_the_calls);
	run(arguments_on_the_stack_are_seen);
	run(exceptions_pass_copies_of_arguments);
	run(pthread_exit_passes);
	run(cancellation_passes);
	run(backtraces_pass);
	return test_status();
}
