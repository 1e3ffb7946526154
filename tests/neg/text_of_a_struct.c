/* SPDX-License-Identifier: MIT */
/* says: incompatible pointer|cannot convert|no known conversion */
#include <duet/duet.h>
DUET_EVENT(shop, order, (str, id));
struct item { int id; };
void f(struct item *i);
void f(struct item *i)
{
	trace_shop_order(i);
}
