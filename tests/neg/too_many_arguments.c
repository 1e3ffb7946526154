/* SPDX-License-Identifier: MIT */
/* says: too many arguments|no matching function */
#include <duet/duet.h>
DUET_EVENT(shop, order, (i32, id));
void f(void);
void f(void)
{
	trace_shop_order(1, 2);
}
