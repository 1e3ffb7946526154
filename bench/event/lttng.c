/* SPDX-License-Identifier: MIT */
/* bench/event/lttng.c - the cost of the same events with LTTng-UST; see loop.h. */
#include "lttng_tp.h"

#include <lttng/tracef.h>

#include "loop.h"

LOOP(empty, lttng_ust_tracepoint(bench, empty))
LOOP(int1, lttng_ust_tracepoint(bench, int1, i))
LOOP(intstr, lttng_ust_tracepoint(bench, intstr, i, text16))
LOOP(int8, lttng_ust_tracepoint(bench, int8, i, one, i + 1, one, i + 2, one, i, one))
LOOP(mark1, lttng_ust_tracef("a %d", i))

static struct bench_case cases[] = {
	CASE("empty", empty), CASE("int", int1),   CASE("int+str16", intstr),
	CASE("8ints", int8),  CASE("mark", mark1), { NULL, NULL, NULL, 0 },
};

int main(int argc, char **argv)
{
	return bench_main(cases, argc, argv);
}
