/* SPDX-License-Identifier: MIT */
/* Compiles: so that the others fail for their mistakes alone. */
#include <duet/duet.h>
DUET_EVENT(shop, order, (i32, id), (str, item));
DUET_EVENT(shop, paid, (i32, id));
void f(int n);
void f(int n)
{
	trace_shop_order(n, "tea");
	trace_shop_paid(n);
	trace_mark(shop, order, "id %d by %s", n, "who");
	trace_mark_level(shop, order, DUET_ERR, "id %d", n);
	trace_mark(shop, order, "100%%name %%n %d%%", n);
}
