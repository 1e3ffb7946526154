/* SPDX-License-Identifier: MIT */
/*
 * inproc/wrap/cyg.c - libduet-cyg.so: calls of programs built with -finstrument-functions.
 *
 * The compiler calls the two functions below at each entry and exit.  Their events have the names
 * and fields of LTTng-UST's, which call-stack views know, in both of its variants: the fast one has
 * no field that could pair an exit with its entry.  An event that no session wants costs one load.
 *
 * It is preloaded or linked, and is a normal client of duet/duet.h.  Calls before its constructor
 * are not recorded.  `duet record --graph` needs no such build, and costs less.
 */
#include "duet/duet.h"

DUET_EVENT_LEVEL(lttng_ust_cyg_profile, DUET_DEBUG_FUNCTION, func_entry, (ptr, addr),
		 (ptr, call_site));
DUET_EVENT_LEVEL(lttng_ust_cyg_profile, DUET_DEBUG_FUNCTION, func_exit, (ptr, addr),
		 (ptr, call_site));
DUET_EVENT_LEVEL(lttng_ust_cyg_profile_fast, DUET_DEBUG_FUNCTION, func_entry, (ptr, addr));
DUET_EVENT_LEVEL(lttng_ust_cyg_profile_fast, DUET_DEBUG_FUNCTION, func_exit);

#define EXPORT __attribute__((visibility("default")))

EXPORT void __cyg_profile_func_enter(void *function, void *call_site);
EXPORT void __cyg_profile_func_exit(void *function, void *call_site);

EXPORT void __cyg_profile_func_enter(void *function, void *call_site)
{
	trace_lttng_ust_cyg_profile_func_entry(function, call_site);
	trace_lttng_ust_cyg_profile_fast_func_entry(function);
}

EXPORT void __cyg_profile_func_exit(void *function, void *call_site)
{
	trace_lttng_ust_cyg_profile_func_exit(function, call_site);
	trace_lttng_ust_cyg_profile_fast_func_exit();
}
