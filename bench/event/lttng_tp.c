/* SPDX-License-Identifier: MIT */
/* bench/event/lttng_tp.c - LTTng's probes for lttng_tp.h; the macros need a file of their own. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_tp.h"
