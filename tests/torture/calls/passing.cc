/* SPDX-License-Identifier: MIT */
/* Functions that are left by exceptions; compiled with five nops at each entry. */
#include <execinfo.h>
#include <pthread.h>
#include <unistd.h>

extern "C" {
unsigned long n_destroyed;

int deep(int n, int what);
long many(long a, long b, long c, long d, long e, long f, long g, long h, long i);
int catch_deep(int n, int what);
int walk(int n, void **addresses, int most);
int throw_many(void);
}

struct guard {
	~guard()
	{
		__atomic_fetch_add(&n_destroyed, 1, __ATOMIC_RELAXED);
	}
};

enum { THROW, EXIT, WAIT };

__attribute__((noinline)) int deep(int n, int what)
{
	guard g;

	if (!n && what == THROW)
		throw n;
	if (!n && what == EXIT)
		pthread_exit(nullptr);
	if (!n)
		for (;;)
			pause();
	return deep(n - 1, what) + 1;
}

int catch_deep(int n, int what)
{
	try {
		return deep(n, what);
	} catch (int) {
		return -1;
	}
}

__attribute__((noinline)) long many(long a, long b, long c, long d, long e, long f, long g, long h,
				    long i)
{
	guard here;

	if (i < 0)
		throw 1;
	return a + b + c + d + e + f + 10 * g + 100 * h + 1000 * i;
}

__attribute__((noinline)) int walk(int n, void **addresses, int most)
{
	int found = n ? walk(n - 1, addresses, most) : backtrace(addresses, most);

	__asm__ volatile("");
	return found;
}

int throw_many(void)
{
	try {
		return (int)many(1, 2, 3, 4, 5, 6, 7, 8, -1);
	} catch (int) {
		return -1;
	}
}
