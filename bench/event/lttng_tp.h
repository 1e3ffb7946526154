/* SPDX-License-Identifier: MIT */
/* bench/event/lttng_tp.h - the same events, declared for LTTng-UST. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_tp.h"
#if !defined(BENCH_LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_TP_H
#include <lttng/tracepoint.h>
#define INT_FIELD(x) lttng_ust_field_integer(int, x, x)
LTTNG_UST_TRACEPOINT_EVENT(bench, empty, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(bench, int1, LTTNG_UST_TP_ARGS(int, a),
			   LTTNG_UST_TP_FIELDS(INT_FIELD(a)))
LTTNG_UST_TRACEPOINT_EVENT(bench, intstr, LTTNG_UST_TP_ARGS(int, a, const char *, s),
			   LTTNG_UST_TP_FIELDS(INT_FIELD(a) lttng_ust_field_string(s, s)))
LTTNG_UST_TRACEPOINT_EVENT(bench, int8,
			   LTTNG_UST_TP_ARGS(int, a, int, b, int, c, int, d, int, e, int, f, int, g,
					     int, h),
			   LTTNG_UST_TP_FIELDS(INT_FIELD(a) INT_FIELD(b) INT_FIELD(c) INT_FIELD(d)
						       INT_FIELD(e) INT_FIELD(f) INT_FIELD(g)
							       INT_FIELD(h)))
#endif
#include <lttng/tracepoint-event.h>
