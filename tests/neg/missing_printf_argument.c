/* SPDX-License-Identifier: MIT */
/* says: format .%s. expects|more .%. conversions */
#include <duet/duet.h>
void f(void);
void f(void)
{
	trace_mark(shop, order, "id %d by %s", 1);
}
