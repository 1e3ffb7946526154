/* SPDX-License-Identifier: MIT */
/*
 * Each mode records its calls, and modes are changed while calls are open.
 */
#include <time.h>

#include "recorder.h"

static struct abi_plan plan(uint32_t mode)
{
	return (struct abi_plan){ .mode = mode, .elide_after_calls = 256, .elide_under_ns = 1000 };
}

static struct decoded take(void)
{
	struct decoded d = { 0 };

	recorder_flush();
	decode_sent(&d, (uint32_t)syscall(SYS_gettid));
	is(d.lost, 0);
	ok(!d.is_wrong && !d.is_torn);
	ok(decoded_is_nested(&d));
	recorder_clear();
	return d;
}

static void configure(struct abi_plan p)
{
	struct decoded d;

	recorder_configure(&p);
	d = take();
	decoded_free(&d);
}

static uint64_t n_recorded(const struct decoded *d, const void *function)
{
	return decoded_number(d, recorder_number(function), false, false);
}

static CALLED int quick(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static CALLED int slow(int x)
{
	usleep(2000);
	return x + quick(x);
}

static CALLED int parent(int x, int is_slow)
{
	x += quick(x);
	return (is_slow ? slow(x) : quick(x)) + 1;
}

static CALLED int grandparent(int x, int is_slow)
{
	x += parent(x, is_slow);
	return x + parent(x, 0);
}

static CALLED int late(int x, int is_slow)
{
	if (is_slow)
		usleep(100);
	__asm__ volatile("" : "+r"(x));
	return x + 2;
}

static CALLED int seldom(int x, int is_slow)
{
	if (is_slow)
		usleep(50000);
	__asm__ volatile("" : "+r"(x));
	return x + 3;
}

/* ---------------------------------------------------------------- governed */

static void short_functions_are_elided_and_long_ones_kept(void)
{
	const struct abi_calls_function *functions =
		(const void *)((char *)calls.shared + ABI_CALLS_FUNCTIONS_AT);
	struct decoded d;

	configure(plan(ABI_CALLS_GOVERNED));
	for (int i = 0; i < 300; i++)
		quick(i);
	for (int i = 0; i < 300; i++)
		slow(i);
	is(recorder_unpatched(recorder_number(quick)), 1);
	is(functions[recorder_number(quick)].state, ABI_FUNCTION_ELIDED);
	is(functions[recorder_number(quick)].calls, 256);
	is(recorder_unpatched(recorder_number(slow)), 0);
	is(functions[recorder_number(slow)].state, ABI_FUNCTION_KEPT);
	ok(functions[recorder_number(slow)].calls >= 300);
	d = take();
	is(n_recorded(&d, slow), 300);
	decoded_free(&d);
}

static void functions_that_are_slow_only_at_first_are_elided(void)
{
	const struct abi_calls_function *functions =
		(const void *)((char *)calls.shared + ABI_CALLS_FUNCTIONS_AT);
	struct decoded d;

	configure(plan(ABI_CALLS_GOVERNED));
	for (int i = 0; i < 256; i++)
		late(i, 1);
	is(functions[recorder_number(late)].state, ABI_FUNCTION_KEPT);
	for (int i = 0; i < 3 * 4096; i++)
		late(i, 0);
	is(functions[recorder_number(late)].state, ABI_FUNCTION_ELIDED);
	for (int i = 0; i < 256; i++)
		seldom(i, i == 100); /* its mean is above the limit */
	is(functions[recorder_number(seldom)].state, ABI_FUNCTION_ELIDED);
	d = take();
	is(n_recorded(&d, seldom), 256);
	decoded_free(&d);
}

/* ---------------------------------------------------------------- over */

static void slow_calls_and_their_callers_are_recorded(void)
{
	struct abi_plan p = plan(ABI_CALLS_OVER);
	struct decoded d;

	p.threshold_ns = 1000000;
	configure(p);
	for (int i = 0; i < 50; i++) {
		grandparent(i, 1);
		for (int k = 0; k < 100; k++)
			grandparent(i, 0);
	}
	d = take();
	is(n_recorded(&d, slow), 50);
	ok(n_recorded(&d, parent) >= 50 && n_recorded(&d, parent) < 500);
	ok(n_recorded(&d, grandparent) >= 50 && n_recorded(&d, grandparent) < 500);
	ok(n_recorded(&d, quick) < 100);
	/* each recorded call is an event for triggers */
	is(recorder_n_slow, n_recorded(&d, slow) + n_recorded(&d, parent) +
				    n_recorded(&d, grandparent) + n_recorded(&d, quick));
	decoded_free(&d);
}

/* ---------------------------------------------------------------- profile */

static CALLED int recursive(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n ? recursive(n - 1) + quick(n) : 0;
}

/* The calls of @function under @caller, NULL: under the root. */
static uint64_t n_calls(const void *caller, const void *function)
{
	const struct abi_calls_thread *a = recorder_area();
	uint64_t n = 0;

	for (uint32_t i = 1; i < a->n_paths; i++)
		if (a->paths[i].function == recorder_number(function) &&
		    a->paths[a->paths[i].parent].function == (caller ? recorder_number(caller) : 0))
			n += a->paths[i].calls;
	return n;
}

static void a_profile_counts_each_path(void)
{
	const struct abi_calls_thread *a;
	uint64_t n_sampled = 0, n_all = 0;

	configure(plan(ABI_CALLS_PROFILE));
	for (int i = 0; i < 1000; i++) {
		grandparent(i, 0);
		quick(i);
		recursive(10);
	}
	is(n_calls(NULL, grandparent), 1000);
	is(n_calls(grandparent, parent), 2000);
	is(n_calls(parent, quick), 4000);
	is(n_calls(NULL, quick), 1000);
	is(n_calls(NULL, recursive), 11000);
	is(n_calls(recursive, quick), 10000);
	a = recorder_area();
	for (uint32_t i = 1; i < a->n_paths; i++) {
		n_sampled += a->paths[i].sampled;
		n_all += a->paths[i].calls;
	}
	is(n_sampled, n_all / 16);
}

static void *profile_in_thread(void *n)
{
	for (int i = 0; i < 100; i++)
		grandparent(i, 0);
	*(uint64_t *)n = recorder_area() - calls_area(0);
	return NULL;
}

static void a_profile_of_an_ended_thread_stays(void)
{
	uint64_t n_before = calls.shared->n_threads, n = 0, unused;
	pthread_t t;

	for (int i = 0; i < 5; i++) {
		pthread_create(&t, NULL, profile_in_thread, &unused);
		pthread_join(t, NULL);
	}
	is(calls.shared->n_threads, n_before + 1);
	for (uint32_t i = 1; i < calls_area((uint32_t)n_before)->n_paths; i++) {
		const struct abi_calls_path *p = &calls_area((uint32_t)n_before)->paths[i];

		n += p->function == recorder_number(grandparent) ? p->calls : 0;
	}
	is(n, 500);
}

/* ---------------------------------------------------------------- depth, within, stop */

static void calls_below_a_depth_are_left_out(void)
{
	struct abi_plan p = plan(ABI_CALLS_EXACT);
	struct decoded d;

	p.depth = 2;
	configure(p);
	for (int i = 0; i < 100; i++) {
		grandparent(i, 0);
		quick(i);
	}
	d = take();
	is(n_recorded(&d, grandparent), 100);
	is(n_recorded(&d, parent), 200);
	is(n_recorded(&d, quick), 100);
	decoded_free(&d);
}

static CALLED int switches(int x)
{
	return grandparent(x, 0) + 1;
}

static void calls_are_recorded_within_a_function(void)
{
	struct abi_plan p = plan(ABI_CALLS_EXACT);
	struct decoded d;

	p.flags = ABI_PLAN_WITHIN;
	configure(p);
	for (int i = 0; i < 100; i++) {
		grandparent(i, 0);
		switches(i);
		quick(i);
	}
	configure(plan(ABI_CALLS_EXACT)); /* sends the batch: take() itself is not within */
	recorder_configure(&p);
	for (int i = 0; i < 100; i++) {
		grandparent(i, 0);
		switches(i);
		quick(i);
	}
	p = plan(ABI_CALLS_EXACT);
	recorder_configure(&p);
	d = take();
	is(n_recorded(&d, switches), 100);
	is(n_recorded(&d, grandparent), 100);
	is(n_recorded(&d, parent), 200);
	is(n_recorded(&d, quick), 400);
	decoded_free(&d);
}

static void the_collector_stops_recording(void)
{
	struct abi_plan p = plan(ABI_CALLS_EXACT);
	struct decoded d;

	configure(p);
	calls.shared->collect = 1;
	recorder_area()->limit = 0;
	quick(0);
	recorder_configure(&p);
	recorder_clear();
	for (int i = 0; i < 100; i++)
		quick(i);
	calls.shared->collect = 0;
	recorder_configure(&p);
	d = take();
	ok(n_recorded(&d, quick) <= 1);
	decoded_free(&d);
}

/* ---------------------------------------------------------------- changes */

static CALLED int changes(int n)
{
	static const uint32_t modes[] = { ABI_CALLS_EXACT, ABI_CALLS_PROFILE, ABI_CALLS_OVER,
					  ABI_CALLS_GOVERNED };
	struct abi_plan p = plan(modes[n % 4]);

	recorder_configure(&p);
	quick(n);
	return n ? changes(n - 1) + quick(n) : 0;
}

static void modes_change_while_calls_are_open(void)
{
	struct abi_plan p = plan(ABI_CALLS_EXACT);
	struct decoded d = { 0 };

	configure(p);
	for (int i = 0; i < 100; i++)
		changes(40);
	recorder_configure(&p);
	recorder_flush();
	recorder_clear();
	for (int i = 0; i < 1000; i++)
		grandparent(i, 0);
	d = take();
	is(n_recorded(&d, grandparent), 1000);
	is(n_recorded(&d, parent), 2000);
	for (uint64_t i = 0; i < d.n; i++)
		if (d.calls[i].function == recorder_number(grandparent) && d.calls[i].depth) {
			is(d.calls[i].depth, 0);
			break;
		}
	decoded_free(&d);
}

/* Two clock reads take some ticks. */
static void the_cost_of_a_call_is_known(void)
{
	ok(calls.shared->hook_ticks >> 8 > 1 && calls.shared->hook_ticks >> 8 < 100000);
}

int main(void)
{
	recorder_flags(switches, ABI_SITE_SWITCH);
	recorder_open(ABI_CALLS_GOVERNED);
	run(the_cost_of_a_call_is_known);
	run(short_functions_are_elided_and_long_ones_kept);
	run(functions_that_are_slow_only_at_first_are_elided);
	run(slow_calls_and_their_callers_are_recorded);
	run(a_profile_counts_each_path);
	run(a_profile_of_an_ended_thread_stays);
	run(calls_below_a_depth_are_left_out);
	run(calls_are_recorded_within_a_function);
	run(the_collector_stops_recording);
	run(modes_change_while_calls_are_open);
	return test_status();
}
