/* SPDX-License-Identifier: MIT */
/* A library that is opened and closed; compiled with five nops at each entry. */
#include <stdint.h>

uint64_t library_sum(uint64_t a, uint64_t b);
uint64_t library_times(uint64_t a, uint64_t b);

uint64_t library_sum(uint64_t a, uint64_t b)
{
	return a + b;
}

uint64_t library_times(uint64_t a, uint64_t b)
{
	return a * b;
}
