/* SPDX-License-Identifier: MIT */
/* Functions whose arguments and results are recorded: arguments N calls each N times, prints a sum. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define ALONE static __attribute__((noinline))
#else
#define ALONE __attribute__((noipa))
#endif

enum color { RED = 1, GREEN = 5 };
struct pair {
	long a, b;
};

ALONE double price(enum color c, const char *name, float weight, int n)
{
	__asm__ volatile("" ::: "memory");
	return (double)(strlen(name) * weight) + c + n;
}

ALONE long many(long a, long b, long c, long d, long e, long f, long g, short h)
{
	__asm__ volatile("" ::: "memory");
	return a + b + c + d + e + f + g + h;
}

ALONE const char *text(int n)
{
	static char buffer[32];

	snprintf(buffer, sizeof buffer, "text %d", n);
	return buffer;
}

ALONE long by_value(struct pair p)
{
	__asm__ volatile("" ::: "memory");
	return p.a + p.b;
}

ALONE void nothing(void)
{
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	double sum = 0;

	for (int i = 0; i < n; i++) {
		sum += price(i & 1 ? GREEN : RED, "tea", 1.5f, -i);
		sum += (double)many(i, 2, 3, 4, 5, 6, 7, -8);
		sum += text(i)[5];
		sum += (double)by_value((struct pair){ i, 2 });
		nothing();
	}
	printf("%.1f\n", sum);
	return 0;
}
