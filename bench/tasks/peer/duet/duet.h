/* SPDX-License-Identifier: MIT */
/*
 * bench/tasks/peer/duet/duet.h - examples/web.c for other tracers: its events as marks of sys/sdt.h and as
 * lttng_ust_tracef().
 */
#include <lttng/tracef.h>
#include <sys/sdt.h>

#define DUET_EVENT(channel, name, ...) _Static_assert(sizeof #channel #name > 1, "an event")

static inline void trace_web_request_begin(int id, const char *url)
{
	STAP_PROBE2(web, request_begin, id, url);
	lttng_ust_tracef("request_begin %d %s", id, url);
}

static inline void trace_web_request_end(int id, int status)
{
	STAP_PROBE2(web, request_end, id, status);
	lttng_ust_tracef("request_end %d %d", id, status);
}
