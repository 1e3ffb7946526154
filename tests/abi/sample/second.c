/* SPDX-License-Identifier: MIT */
/* The same events in another file of the same program. */
#include "events.h"

#include <dlfcn.h>

void second(void)
{
	trace_abi_one(2);
	trace_abi_one(3);
	in_header(2);
}
