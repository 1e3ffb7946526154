/* SPDX-License-Identifier: MIT */
/* says: trace_mark: a % in the format is followed by no conversion of printf */
#include <duet/duet.h>
void f(void);
void f(void)
{
	trace_mark(shop, order, "id %d: 100 %, sold", 1);
}
