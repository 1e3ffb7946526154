/* SPDX-License-Identifier: MIT */
/* A shared library with sites of its own, loaded and unloaded again and again. */
#include "events.h"

#ifdef __cplusplus
extern "C"
#endif
	__attribute__((visibility("default"))) void
	plugin(int n);

void plugin(int n)
{
	trace_abi_one(100 + n);
	trace_mark(abi, plugged, "n %d", n);
}
