/* SPDX-License-Identifier: MIT */
/* says: format .%d. expects|specifies type .int. */
#include <duet/duet.h>
void f(void);
void f(void)
{
	trace_mark(shop, order, "id %d", "tea");
}
