/* SPDX-License-Identifier: MIT */
/* Functions that begin with a call: only a jump of two bytes fits before it. */
#include <stdint.h>

uint64_t island_counter;
uint64_t island_inner(uint64_t n);

__attribute__((noinline, noipa)) uint64_t island_inner(uint64_t n)
{
	island_counter += n;
	return island_counter * 3;
}

#define OUTER(name)                                                                                \
	uint64_t name(uint64_t n);                                                                 \
	__attribute__((noipa)) uint64_t name(uint64_t n)                                           \
	{                                                                                          \
		return island_inner(n) + 1;                                                        \
	}

OUTER(island_a)
OUTER(island_b)
OUTER(island_c)
