/* SPDX-License-Identifier: MIT */
#include "callstack_bare.h"

__attribute__((noinline)) long bare_recurse(long depth)
{
	long a = depth * 3, b = depth * 5, c = depth * 7, d = depth * 9, e = depth * 11,
	     f = depth * 13;

	/* Six values that live across the call: one of them in the register. */
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	if (depth)
		a += bare_recurse(depth - 1);
	else
		emit_here(__builtin_return_address(0));
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	return a + b + c + d + e + f;
}
