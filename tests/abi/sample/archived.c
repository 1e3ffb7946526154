/* SPDX-License-Identifier: MIT */
/* From a static library. */
#include "events.h"

void archived(void)
{
	trace_abi_one(4);
	trace_mark(abi, archived, "from %s", "archive");
}

/* It has no caller: -ffunction-sections and --gc-sections remove it; its site may stay. */
void unused_function(void);
void unused_function(void)
{
	trace_mark(abi, unused, "never");
}
