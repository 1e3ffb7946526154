/* SPDX-License-Identifier: MIT */
/* says: impossible constraint|invalid operand for inline asm */
#include <duet/duet.h>
void f(int level);
void f(int level)
{
	trace_mark_level(shop, order, level, "id %d", 1);
}
