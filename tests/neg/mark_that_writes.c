/* SPDX-License-Identifier: MIT */
/* says: trace_mark: %n writes to memory, so it cannot be recorded */
#include <duet/duet.h>
void f(int *n);
void f(int *n)
{
	trace_mark(shop, order, "id %d%%name %hhd %-5s%n", 1, 2, "tea", n);
}
