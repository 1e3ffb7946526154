/* SPDX-License-Identifier: MIT */
/*
 * tests/live/kernel/programs/uprobe.c - a program without libduet, with functions and markers of
 * sys/sdt.h.
 *
 * usage: program N        calls and passes each N times; prints how often a marker with a
 *                         semaphore was enabled
 *        program wait     does so for each line it reads
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __has_include(<sys/sdt.h>)
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
#else /* then it has functions alone */
#define STAP_PROBE(provider, name)
#define STAP_PROBE2(provider, name, a, b)
#define STAP_PROBE3(provider, name, a, b, c) (void)item
#endif

#ifdef __clang__
#define HIDDEN __attribute__((noinline))
#else
#define HIDDEN                                                                                     \
	__attribute__((noipa)) /* its arguments are where the calling convention has them   \
				       */
#endif

int64_t tea_make(int32_t cups, const char *kind, uint8_t sugar);
void tea_drink(void);

volatile unsigned short shop_paid_semaphore __attribute__((section(".probes")));
volatile unsigned short shop_order_semaphore __attribute__((section(".probes")));
volatile unsigned short shop_none_semaphore __attribute__((section(".probes")));

HIDDEN int64_t tea_make(int32_t cups, const char *kind, uint8_t sugar)
{
	return (int64_t)cups * -3 + sugar + (int64_t)strlen(kind);
}

HIDDEN void tea_drink(void)
{
	__asm__ volatile("");
}

HIDDEN static int passes(int i)
{
	char item[32];
	int wanted = 0;

	snprintf(item, sizeof item, "item %d", i);
	STAP_PROBE3(shop, order, i, item, (int64_t)-i);
	if (shop_paid_semaphore) {
		STAP_PROBE2(shop, paid, (uint8_t)i, 77);
		wanted = 1;
	}
	STAP_PROBE(shop, none);
	return wanted;
}

static void go(int n)
{
	int64_t sum = 0;
	int wanted = 0;

	for (int i = 0; i < n; i++) {
		sum += tea_make(i, i % 2 ? "green" : "black", (uint8_t)(200 + i));
		tea_drink();
		wanted += passes(i);
	}
	printf("%d %lld %d\n", (int)getpid(), (long long)sum, wanted);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[64];

	if (argc > 1 && strcmp(argv[1], "wait") != 0) {
		go(atoi(argv[1]));
		return 0;
	}
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin))
		go(atoi(line));
	return 0;
}
