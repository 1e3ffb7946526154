/* SPDX-License-Identifier: MIT */
/* says: field id has the unknown type i33; known: i8 */
#include <duet/duet.h>
DUET_EVENT(shop, order, (i33, id));
void f(void);
void f(void)
{
	trace_shop_order(1);
}
