/* SPDX-License-Identifier: MIT */
/* says: expected .\). */
#include <duet/duet.h>
void f(const char *format);
void f(const char *format)
{
	trace_mark(shop, order, format, 1);
}
