/* SPDX-License-Identifier: MIT */
/*
 * bench/calls/leaf.c - calls that do nothing: for functions.py.
 *
 * Prints nanoseconds a call: of a loop over one function, of a chain of four, of a tree.  Each is
 * the lowest of many short repetitions, less nothing: the call itself is included.
 */
#include <stdio.h>
#include <time.h>

#define ALONE __attribute__((noinline))
#define KEPT __asm__ volatile("")

enum { REPETITIONS = 100, FIB = 10, FIB_CALLS = 177 };

ALONE int leaf(int x)
{
	KEPT;
	return x + 1;
}

ALONE int chain_3(int x)
{
	KEPT;
	return leaf(x) + 1;
}

ALONE int chain_2(int x)
{
	KEPT;
	return chain_3(x) + 1;
}

ALONE int chain_1(int x)
{
	KEPT;
	return chain_2(x) + 1;
}

ALONE int fib(int n)
{
	int a;

	if (n < 2)
		return n;
	a = fib(n - 1);
	__asm__ volatile("" : "+r"(a)); /* both calls stay calls */
	return a + fib(n - 2);
}

__attribute__((no_instrument_function)) static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

__attribute__((no_instrument_function)) static void measure(const char *name, int function(int),
							    int argument, int n, int calls)
{
	double best = 1e18;

	for (int i = 0; i < REPETITIONS; i++) {
		double begin = now_ns(), spent;

		for (int k = 0; k < n; k++)
			function(argument);
		spent = now_ns() - begin;
		if (spent < best)
			best = spent;
	}
	printf("%s %.2f\n", name, best / n / calls);
}

__attribute__((no_instrument_function)) int main(void)
{
	measure("leaf", leaf, 1, 2000, 1);
	measure("chain", chain_1, 1, 500, 4);
	measure("tree", fib, FIB, 12, FIB_CALLS);
	return 0;
}
