/* SPDX-License-Identifier: MIT */
/* says: too few arguments|no matching function */
#include <duet/duet.h>
DUET_EVENT(shop, order, (i32, id), (str, item));
void f(void);
void f(void)
{
	trace_shop_order(1);
}
