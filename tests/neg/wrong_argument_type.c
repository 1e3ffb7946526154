/* SPDX-License-Identifier: MIT */
/* A string where the event has an integer. */
/* says: makes integer from pointer|incompatible pointer to integer|invalid conversion|no known conversion */
#include <duet/duet.h>
DUET_EVENT(shop, order, (i32, id), (str, item));
void f(void);
void f(void)
{
	trace_shop_order("tea", "tea");
}
