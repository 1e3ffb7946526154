/* SPDX-License-Identifier: MIT */
/* Calls of all sorts, a different number of each function.  Built without inlining. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static long fibonacci(long n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static long odd(long n);

static long even(long n) /* they jump to each other */
{
	return n ? odd(n - 1) : 1;
}

static long odd(long n)
{
	return n ? even(n - 1) : 0;
}

static int by_value(const void *a, const void *b) /* called by libc */
{
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static long seven(long a, long b, long c, long d, long e, long f, long g) /* one on the stack */
{
	return a + b + c + d + e + f + g;
}

static double halves(double x)
{
	return x < 1 ? x : halves(x / 2) + 1;
}

static jmp_buf back;

static void jump(int n)
{
	if (!n)
		longjmp(back, 1);
	if (n > 0)
		jump(n - 1);
}

static int returned(void)
{
	if (setjmp(back))
		return 1;
	jump(5);
	return 0;
}

static long (*const table[])(long) = { fibonacci, even, odd };

static void sort(void)
{
	static int numbers[500];

	for (int i = 0; i < 500; i++)
		numbers[i] = i * 7919 % 503;
	qsort(numbers, 500, sizeof *numbers, by_value);
}

int main(void)
{
	long sum = 0;

	for (long i = 0; i < 30; i++)
		sum += table[i % 3](i % 12) + seven(i, 1, 2, 3, 4, 5, 6);
	sum += even(1001) + fibonacci(15) + (long)halves(1e9);
	for (int i = 0; i < 17; i++)
		sum += returned();
	sort();
	printf("%ld\n", sum);
	return 0;
}
