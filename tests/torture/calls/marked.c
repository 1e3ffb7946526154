/* SPDX-License-Identifier: MIT */
/* A library with USDT marks: many operands, text, a semaphore, none at all. */
#include <stdint.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

uint16_t shop_guarded_semaphore __attribute__((section(".probes")));
uint16_t shop_plain_semaphore __attribute__((section(".probes"))); /* never asked for */

uint64_t marked_order(int n, const char *text, uint64_t total, short size);
uint64_t marked_guarded(uint64_t n);
unsigned marked_semaphore(void);

extern uint64_t marked_counter;
uint64_t marked_counter;

uint64_t marked_order(int n, const char *text, uint64_t total, short size)
{
	marked_counter += (uint64_t)n;
	STAP_PROBE5(shop, plain, n, text, total, size, -7);
	marked_counter ^= total;
	return marked_counter * 3 + (uint64_t)size;
}

uint64_t marked_guarded(uint64_t n)
{
	if (__builtin_expect(shop_guarded_semaphore, 0))
		STAP_PROBE2(shop, guarded, n * 3, marked_counter);
	return n + 1;
}

unsigned marked_semaphore(void)
{
	return *(volatile uint16_t *)&shop_guarded_semaphore;
}
