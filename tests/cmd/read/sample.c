/* SPDX-License-Identifier: MIT */
/*
 * tests/cmd/read/sample.c - a program traced by LTTng-UST, as input for readers.
 *
 * sample ROUNDS [PAUSE_MS]: every kind of event ROUNDS times, from two threads, with values at the
 * limits of their types.  The optional pause in the middle is long enough for 27 bits of time to
 * wrap.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "sample_tp.h"

static long n_rounds;
static long pause_ms;

static const uint64_t values[] = {
	0,
	1,
	0x7f,
	0x80,
	0xff,
	0x7fff,
	0x8000,
	0x7fffffff,
	0x80000000,
	0xffffffff,
	0x7fffffffffffffff,
	0x8000000000000000,
	0xffffffffffffffff,
	0x0123456789abcdef,
};
static const double doubles[] = {
	0.0, -0.0, 1.0, 0.1, -2.5, 1e300, 1e-300, 123456789.125, 1.0 / 3.0,
};
static const char *const strings[] = {
	"",
	"plain",
	"with \"quotes\" and \\",
	"tab\tnewline\n",
	"caf\xc3\xa9 \xe2\x82\xac",
	"exactly8",
	"a good deal longer than eight bytes",
};
static const int colours[] = { 0, 1, 10, 15, 20, 21, -3, -2, 99 };

#define TINY(name) lttng_ust_tracepoint(sample, name, (int)i);
#define TINY_TEN(d)                                                                                \
	TINY(t##d##0)                                                                              \
	TINY(t##d##1)                                                                              \
	TINY(t##d##2)                                                                              \
	TINY(t##d##3)                                                                              \
	TINY(t##d##4) TINY(t##d##5) TINY(t##d##6) TINY(t##d##7) TINY(t##d##8) TINY(t##d##9)

static void one_round(long i)
{
	static const int32_t numbers[8] = { 1, -1, 0x7fffffff, 4, 5, -600, 7, 8 };
	const char *s = strings[i % 7];
	char text[64] = { 0 };
	size_t n = 0;

	for (; s[n]; n++)
		text[n] = s[n];
	lttng_ust_tracepoint(sample, empty);
	lttng_ust_tracepoint(sample, integers, values[i % 14]);
	lttng_ust_tracepoint(sample, floats, doubles[i % 9]);
	lttng_ust_tracepoint(sample, texts, text, n);
	lttng_ust_tracepoint(sample, arrays, numbers, (size_t)(i % 9));
	lttng_ust_tracepoint(sample, enums, colours[i % 9],
			     i % 2 ? 0xfffffffffffffff0ULL : (uint64_t)(i % 3));
	TINY_TEN(0) TINY_TEN(1) TINY_TEN(2)
}

static void *run(void *arg)
{
	for (long i = 0; i < n_rounds; i++) {
		one_round(i);
		if (i == n_rounds / 2 && pause_ms)
			usleep((useconds_t)pause_ms * 1000);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	n_rounds = argc > 1 ? atol(argv[1]) : 20;
	pause_ms = argc > 2 ? atol(argv[2]) : 0;
	if (pthread_create(&t, NULL, run, NULL))
		return 1;
	run(NULL);
	pthread_join(t, NULL);
	return 0;
}
