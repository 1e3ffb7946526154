/* SPDX-License-Identifier: MIT */
/* bench/event/duet.c - the cost of an event of duet; see loop.h. */
#include <duet/duet.h>

#include "loop.h"

DUET_EVENT(bench, empty);
DUET_EVENT(bench, int1, (int, a));
DUET_EVENT(bench, intstr, (int, a), (str, s));
DUET_EVENT(bench, int8, (int, a), (int, b), (int, c), (int, d), (int, e), (int, f), (int, g),
	   (int, h));

static volatile uint64_t sink;

LOOP(nothing, __asm__ volatile("" : : "r"(i)))
#if defined __x86_64__
LOOP(clock_only, sink = __builtin_ia32_rdtsc())
#else
LOOP(clock_only, sink = (uint64_t)now_ns())
#endif
LOOP(empty, trace_bench_empty())
LOOP(int1, trace_bench_int1(i))
LOOP(intstr, trace_bench_intstr(i, text16))
LOOP(int8, trace_bench_int8(i, one, i + 1, one, i + 2, one, i, one))
LOOP(mark1, trace_mark(bench, mark1, "a %d", i))

static struct bench_case cases[] = {
	CASE("loop", nothing), CASE("clock", clock_only), CASE("empty", empty),
	CASE("int", int1),     CASE("int+str16", intstr), CASE("8ints", int8),
	CASE("mark", mark1),   { NULL, NULL, NULL, 0 },
};

int main(int argc, char **argv)
{
	return bench_main(cases, argc, argv);
}
