/* SPDX-License-Identifier: MIT */
/*
 * A program with marks of sys/sdt.h and without libduet.
 *
 *   usdt order N       N hits of shop:order (number, text, sum) and of shop:guarded, if it is wanted
 *   usdt threads N     the same in 8 threads
 *   usdt fork N        the same in a child
 *   usdt slow          the same, one each millisecond until standard input ends; prints how many
 *   usdt text          shop:order with texts that are no texts
 *   usdt cramped N     shop:cramped, which has no room for a jump
 *
 * Prints a sum over the results, so that a changed register shows.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

/* As dtrace(1) makes them. */
#define SEMAPHORE(name) uint16_t name __attribute__((section(".probes")))
SEMAPHORE(shop_guarded_semaphore);
SEMAPHORE(shop_order_semaphore);
SEMAPHORE(shop_cramped_semaphore);

enum { THREADS = 8 };

#define ALONE static __attribute__((noinline))

ALONE uint64_t order(int number, const char *text, uint64_t sum, double price)
{
	uint64_t before = sum * 7 + (uint64_t)(price * 2);

	STAP_PROBE3(shop, order, number, text, sum);
	return before ^ (uint64_t)(price * 3) ^ (uint64_t)number;
}

ALONE uint64_t guarded(uint64_t n)
{
	if (__builtin_expect(*(volatile uint16_t *)&shop_guarded_semaphore, 0))
		STAP_PROBE1(shop, guarded, n * 3);
	return n + 1;
}

/* Branches lead to the mark and to the instruction after it. */
ALONE uint64_t cramped(uint64_t n)
{
	uint64_t left = n % 5 + 1;

	__asm__ volatile("1:\n" STAP_PROBE_ASM(shop, cramped, ) "2:\n"
								"	dec %0\n"
								"	js 2b\n"
								"	jnz 1b\n"
			 : "+r"(left));
	return n + left;
}

static uint64_t hits(uint64_t n)
{
	char text[32];
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		snprintf(text, sizeof text, "item %" PRIu64, i);
		sum = order((int)i, text, i * i, (double)i) + guarded(sum);
	}
	return sum;
}

static uint64_t slow_hits(void)
{
	struct pollfd end = { .fd = 0, .events = POLLIN };
	uint64_t i, wrong = 0;

	for (i = 0; !poll(&end, 1, 1); i++)
		wrong +=
			order((int)i, "slow", i, 1) != ((i * 7 + 2) ^ 3 ^ i) || guarded(i) != i + 1;
	return wrong ? UINT64_MAX : i;
}

static void *thread(void *n)
{
	return (void *)(uintptr_t)hits(*(uint64_t *)n);
}

static uint64_t in_threads(uint64_t n)
{
	pthread_t threads[THREADS];
	uint64_t sum = 0;
	void *one;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, &n);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &one);
		sum += (uintptr_t)one;
	}
	return sum;
}

static uint64_t in_child(uint64_t n)
{
	pid_t child = fork();
	int status = 1;

	if (!child)
		_exit(hits(n) ? 0 : 1);
	waitpid(child, &status, 0);
	return (uint64_t)status + hits(n);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "order";
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, sum = 0;

	if (!strcmp(what, "threads"))
		sum = in_threads(n);
	else if (!strcmp(what, "fork"))
		sum = in_child(n);
	else if (!strcmp(what, "slow"))
		sum = slow_hits();
	else if (!strcmp(what, "text"))
		sum = order(1, NULL, 1, 1) + order(2, (const char *)16, 2, 2) +
		      order(3, (const char *)UINTPTR_MAX, 3, 3) + order(4, "tea", 4, 4);
	else if (!strcmp(what, "cramped"))
		for (uint64_t i = 0; i < n; i++)
			sum += cramped(i);
	else
		sum = hits(n);
	printf("%" PRIu64 "\n", sum);
	return 0;
}
