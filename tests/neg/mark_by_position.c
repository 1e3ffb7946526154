/* SPDX-License-Identifier: MIT */
/* says: trace_mark: arguments by position .* cannot be recorded */
#include <duet/duet.h>
void f(void);
void f(void)
{
	trace_mark(shop, order, "id %2$d by %1$s", "tea", 1);
}
