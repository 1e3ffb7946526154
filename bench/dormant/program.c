/* SPDX-License-Identifier: MIT */
/*
 * bench/dormant/program.c - work with dormant sites in it, built three ways: WAY is
 *
 *	0  no site
 *	1  a site of duet: a load of its record, a test, a branch
 *	2  a 5-byte nop that a patcher could turn into a jump to the same site; never patched here
 *
 * Prints for each kind of work its name and the nanoseconds per site passed, of each round.  PAD
 * shifts the code: the address of a loop matters more than the effect measured here, so run.py
 * takes several.
 */
#include <duet/duet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 15, MANY = 1024, KEYS = 1 << 15, EVICT_BYTES = 48 << 20 };

#if WAY == 0
#define EVENT(name)                                                                                \
	static inline __attribute__((always_inline)) void pass_##name(int a)                       \
	{                                                                                          \
		(void)a;                                                                           \
	}
#elif WAY == 1
#define EVENT(name)                                                                                \
	DUET_EVENT(dormant, name, (int, a));                                                       \
	static inline __attribute__((always_inline)) void pass_##name(int a)                       \
	{                                                                                          \
		trace_dormant_##name(a);                                                           \
	}
#else
#define EVENT(name)                                                                                \
	DUET_EVENT(dormant, name, (int, a));                                                       \
	static inline __attribute__((always_inline)) void pass_##name(int a)                       \
	{                                                                                          \
		__asm__ goto("1:\t.byte 0x0f, 0x1f, 0x44, 0, 0\n\t"                                \
			     ".pushsection bench_nops, \"aw\"\n\t.quad 1b, %l0\n\t.popsection"     \
			     :                                                                     \
			     :                                                                     \
			     :                                                                     \
			     : on);                                                                \
		return;                                                                            \
	on:                                                                                        \
		trace_dormant_##name(a);                                                           \
	}
#endif

__attribute__((used, noinline)) static void pad(void)
{
	__asm__ volatile(".skip %c0, 0x90" : : "i"(16 * PAD + 1));
}

EVENT(compare)
EVENT(swap)
EVENT(insert)
EVENT(probe)

static uint64_t random_state = 88172645463325252ull;
static uint32_t random32(void) /* Marsaglia's xorshift64 (2003) */
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 20);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t passed;

/* ---- sort: a site in every comparison, a few instructions apart */

static uint32_t keys[KEYS];

static __attribute__((noinline)) int is_before(uint32_t a, uint32_t b)
{
	pass_compare((int)a);
	return a < b;
}

static void sort(uint32_t *v, long lo, long hi)
{
	while (lo < hi) {
		uint32_t pivot = v[(lo + hi) / 2];
		long i = lo - 1, j = hi + 1;

		for (;;) {
			do
				passed++;
			while (is_before(v[++i], pivot));
			do
				passed++;
			while (is_before(pivot, v[--j]));
			if (i >= j)
				break;
			pass_swap((int)i);
			uint32_t t = v[i];
			v[i] = v[j];
			v[j] = t;
		}
		sort(v, lo, j);
		lo = j + 1;
	}
}

static void work_sort(void)
{
	sort(keys, 0, KEYS - 1);
}

/* ---- hash: sites in insertion and in every probe */

static uint32_t table[KEYS * 2];

static __attribute__((noinline)) void insert(uint32_t key)
{
	uint32_t at = key * 2654435761u >> 16;

	pass_insert((int)key);
	passed++;
	while (table[at & (KEYS * 2 - 1)] && table[at & (KEYS * 2 - 1)] != key) {
		pass_probe((int)at);
		passed++;
		at++;
	}
	table[at & (KEYS * 2 - 1)] = key;
}

static void work_hash(void)
{
	memset(table, 0, sizeof table);
	for (int i = 0; i < KEYS; i++)
		insert(keys[i] | 1);
}

/* ---- many functions with a site each, in any order: warm, and after the caches were emptied */

static uint32_t cells[MANY][16];

#define FUNCTION(n)                                                                                \
	EVENT(f##n)                                                                                \
	static __attribute__((noinline)) uint32_t f##n(uint32_t x)                                 \
	{                                                                                          \
		uint32_t *c = cells[0x##n % MANY], y = x ^ 0x##n##u;                               \
		pass_f##n((int)x);                                                                 \
		for (int i = 0; i < 8; i++)                                                        \
			c[i] = y = y * 2654435761u + (c[(y >> 8) & 15] ^ (y >> 7));                \
		return y;                                                                          \
	}
#define EACH_2(m, n)                                                                               \
	m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8) m(n##9) m(n##a)    \
		m(n##b) m(n##c) m(n##d) m(n##e) m(n##f)
/* Each run of clang-format would move one more to a line of its own. */
/* clang-format off */
#define EACH_1(m, n) \
	EACH_2(m, n##0) EACH_2(m, n##1) EACH_2(m, n##2) EACH_2(m, n##3) \
	EACH_2(m, n##4) EACH_2(m, n##5) EACH_2(m, n##6) EACH_2(m, n##7) \
	EACH_2(m, n##8) EACH_2(m, n##9) EACH_2(m, n##a) EACH_2(m, n##b) \
	EACH_2(m, n##c) EACH_2(m, n##d) EACH_2(m, n##e) EACH_2(m, n##f)
/* clang-format on */
#define EACH(m) EACH_1(m, 0) EACH_1(m, 1) EACH_1(m, 2) EACH_1(m, 3)

EACH(FUNCTION)
#define ADDRESS(n) f##n,
static uint32_t (*const functions[MANY])(uint32_t) = { EACH(ADDRESS) };

static int n_functions;
static void work_functions(void)
{
	uint32_t x = 1;

	for (int i = 0; i < MANY; i++)
		x = functions[keys[i] % (uint32_t)n_functions](x);
	passed += MANY;
}

static char *evict;
static void empty_caches(void)
{
	for (long i = 0; i < EVICT_BYTES; i += 64)
		evict[i]++;
}

static void measure(const char *name, void (*work)(void), int repeat, int is_cold)
{
	printf("%s", name);
	for (int r = 0; r < ROUNDS; r++) {
		double ns = 0;

		passed = 0;
		for (int k = 0; k < repeat; k++) {
			for (int i = 0; i < KEYS; i++)
				keys[i] = random32();
			if (is_cold)
				empty_caches();
			double begin = now_ns();

			work();
			ns += now_ns() - begin;
		}
		printf(" %.4f", ns / (double)passed);
	}
	putchar('\n');
}

int main(void)
{
	pad();
	evict = malloc(EVICT_BYTES);
	memset(evict, 1, EVICT_BYTES);
	measure("sort", work_sort, 2, 0);
	measure("hash", work_hash, 4, 0);
	n_functions = 1;
	measure("1-function", work_functions, 20, 0);
	n_functions = 64;
	measure("64-functions", work_functions, 20, 0);
	n_functions = MANY;
	measure("1024-functions", work_functions, 20, 0);
	measure("1024-cold", work_functions, 2, 1);
	return 0;
}
