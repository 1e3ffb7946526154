/* SPDX-License-Identifier: MIT */
/* says: trace_mark: decimal floating point .* cannot be recorded */
#include <duet/duet.h>
void f(int price);
void f(int price)
{
	trace_mark(shop, order, "price %Hf", price);
}
