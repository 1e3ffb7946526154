/* SPDX-License-Identifier: MIT */
/* From a static library. */
#include "events.h"

void archived(void)
{
	trace_abi_one(4);
	trace_mark(abi, archived, "from %s", "archive");
}

/* Nobody calls it: with -ffunction-sections and --gc-sections it goes; its site may stay. */
void unused_function(void);
void unused_function(void)
{
	trace_mark(abi, unused, "never");
}
