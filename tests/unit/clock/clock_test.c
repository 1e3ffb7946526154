/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "clock/clock.h"
#include "test.h"

static struct abi_clock clock_used;

static void time_never_goes_back_on_one_cpu_nor_between_them(void)
{
	uint64_t before = clock_now_ns(&clock_used);
	cpu_set_t all;
	int bad = 0;

	sched_getaffinity(0, sizeof all, &all);
	for (int i = 0; i < 2000; i++) {
		cpu_set_t one;
		int cpu = i % CPU_SETSIZE;

		if (CPU_ISSET(cpu, &all)) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			sched_setaffinity(0, sizeof one, &one);
		}
		for (int k = 0; k < 100; k++) {
			uint64_t now = clock_now_ns(&clock_used);

			bad += now < before;
			before = now;
		}
	}
	sched_setaffinity(0, sizeof all, &all);
	is(bad, 0);
}

static void the_map_never_decreases(void)
{
	uint64_t t = clock_ticks(&clock_used);
	int bad = 0;

	for (uint64_t i = 0; i < 100000; i++)
		bad += clock_ns(&clock_used, t + i + 1) < clock_ns(&clock_used, t + i);
	is(bad, 0);
}

/* Within the rate that NTP slews (500 ppm) and the error of the map's base line (100 ppm). */
static void the_clock_agrees_with_monotonic(void)
{
	struct clock_reading r;
	uint64_t begin_ns = monotonic_ns(), tolerance_ns;
	int64_t error_ns;

	for (int i = 0; i < 10; i++) {
		usleep(10000);
		clock_read(&clock_used, &r);
		error_ns = (int64_t)(clock_ns(&clock_used, r.ticks) - r.monotonic_ns);
		tolerance_ns = 2000 + (r.monotonic_ns - begin_ns + 100000000) / 1000000 * 600;
		if (!ok(llabs(error_ns) < (long long)tolerance_ns))
			printf("# %lld ns off\n", (long long)error_ns);
	}
}

static uint64_t now_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* All names of one moment lie within the call that took it. */
static void a_reading_is_one_moment_on_all_clocks(void)
{
	static const clockid_t ids[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME };
	uint64_t before[3], after[3];
	struct clock_reading r;

	for (int i = 0; i < 3; i++)
		before[i] = now_ns(ids[i]);
	clock_read(&clock_used, &r);
	for (int i = 0; i < 3; i++)
		after[i] = now_ns(ids[i]);
	ok(before[0] <= r.monotonic_ns && r.monotonic_ns <= after[0]);
	/* Carried back to that moment by the map: off by its error over the call, at most. */
	ok(before[1] <= r.boottime_ns + 1000 && r.boottime_ns <= after[1] + 1000);
	ok(before[2] <= r.realtime_ns + 1000 && r.realtime_ns <= after[2] + 1000);
}

static void the_boot_id_is_the_same_twice(void)
{
	uint8_t a[16] = { 0 }, b[16] = { 1 }, none[16] = { 0 };

	is(clock_boot_id(a), 0);
	is(clock_boot_id(b), 0);
	ok(!memcmp(a, b, 16));
	ok(memcmp(a, none, 16));
}

static void every_clock_has_a_name_in_tracefs_and_is_readable_here(void)
{
	struct abi_clock c = { .kind = ABI_CLOCK_MONOTONIC };

	is_text(clock_tracefs_name(&c), "mono");
	ok(clock_is_readable(&c));
	c.kind = ABI_CLOCK_TSC;
	is_text(clock_tracefs_name(&c), "x86-tsc");
#if defined __x86_64__
	ok(clock_is_readable(&c));
#else
	ok(!clock_is_readable(&c));
#endif
	c.kind = 99;
	ok(!clock_is_readable(&c));
	ok(clock_is_readable(&clock_used));
}

static void monotonic_when_asked_for_is_the_system_s_own(void)
{
	uint64_t before, now;

	is(clock_init_kind(&clock_used, ABI_CLOCK_MONOTONIC, NULL), 0);
	is(clock_used.kind, ABI_CLOCK_MONOTONIC);
	before = monotonic_ns();
	now = clock_now_ns(&clock_used);
	ok(before <= now && now <= monotonic_ns());
}

static void all_of_it(void)
{
	run(time_never_goes_back_on_one_cpu_nor_between_them);
	run(the_map_never_decreases);
	run(the_clock_agrees_with_monotonic);
	run(a_reading_is_one_moment_on_all_clocks);
}

int main(void)
{
	struct diag d = { "" };

	if (clock_init_kind(&clock_used, 0, &d)) {
		printf("# %s\n", d.text);
		return 1;
	}
	printf("# the best clock here is %s\n", clock_tracefs_name(&clock_used));
	all_of_it();
	run(monotonic_when_asked_for_is_the_system_s_own);
	all_of_it();
	run(the_boot_id_is_the_same_twice);
	run(every_clock_has_a_name_in_tracefs_and_is_readable_here);
	return test_status();
}
