/* SPDX-License-Identifier: MIT */
/*
 * bench/context/context.c - the cost of each context of an event: context_put() alone, compared
 * with a loop of RDTSC.
 *
 *	context [ROUNDS]		medians of ROUNDS rounds, ns
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "inproc/context.h"
#include "inproc/process.h"

enum { N = 200000, ROUNDS_MAX = 99 };

#define BIT(name) ABI_CONTEXT_BIT(ABI_CONTEXT_##name)

struct process process; /* symbols that inproc/context.c finds in libduet */
__thread uint64_t thread_context;

bool process_is_sandboxed(void)
{
	return false;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static volatile uint64_t sink;

static __attribute__((noinline)) double clock_only(void)
{
	double begin = now_ns();

	for (int i = 0; i < N; i++)
#if defined __x86_64__
		sink = __builtin_ia32_rdtsc();
#else
		sink = (uint64_t)now_ns();
#endif
	return (now_ns() - begin) / N;
}

/* A call stack with @depth frames. */
static __attribute__((noinline)) double put(uint64_t mask, int depth)
{
	char bytes[ABI_CONTEXT_MAX_BYTES], *end = bytes;
	double ns;

	if (depth) {
		ns = put(mask, depth - 1);
		__asm__ volatile("" ::: "memory"); /* not a tail call */
		return ns;
	}
	ns = now_ns();
	for (int i = 0; i < N; i++) {
		end = context_put(mask, bytes, __builtin_return_address(0),
				  __builtin_frame_address(0));
		__asm__ volatile("" : : "r"(bytes) : "memory");
	}
	ns = (now_ns() - ns) / N;
	if (!!mask != (end > bytes)) {
		fprintf(stderr, "not proved: %td bytes of contexts %#llx\n", end - bytes,
			(unsigned long long)mask);
		exit(1);
	}
	return ns;
}

static const struct {
	const char *name;
	uint64_t mask;
	int depth;
} cases[] = {
	{ "clock", 0, -1 },
	{ "nothing", 0, 0 },
	{ "procname", BIT(PROCNAME), 0 },
	{ "vuid", BIT(VUID), 0 },
	{ "all up to uts_ns", 2 * BIT(UTS_NS) - 1, 0 },
	{ "ip", BIT(IP), 0 },
	{ "slot", BIT(SLOT), 0 },
	{ "ip,slot", BIT(IP) | BIT(SLOT), 0 },
	{ "callstack, 8 deep", BIT(CALLSTACK), 6 },
	{ "callstack, 32 deep", BIT(CALLSTACK), 40 },
	{ "instructions", BIT(PERF_INSTRUCTIONS), 0 }, /* without a PMU: a page of zeros */
	{ "four counters", BIT(PERF_CYCLES) * 15, 0 },
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	enum { N_CASES = sizeof cases / sizeof *cases };
	static double ns[N_CASES][ROUNDS_MAX];
	int rounds = argc > 1 ? atoi(argv[1]) : 21;

	if (rounds < 1 || rounds > ROUNDS_MAX)
		return 2;
	for (int r = 0; r < rounds; r++)
		for (int i = 0; i < N_CASES; i++)
			ns[i][r] = cases[i].depth < 0 ? clock_only()
						      : put(cases[i].mask, cases[i].depth);
	for (int i = 0; i < N_CASES; i++) {
		qsort(ns[i], (size_t)rounds, sizeof ns[i][0], compare);
		printf("%-20s %7.2f ns  (%.2f to %.2f)  x%.2f of a clock read\n", cases[i].name,
		       ns[i][rounds / 2], ns[i][0], ns[i][rounds - 1],
		       ns[i][rounds / 2] / ns[0][rounds / 2]);
	}
	return 0;
}
