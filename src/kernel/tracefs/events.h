/* SPDX-License-Identifier: MIT */
/* kernel/tracefs/events.h - the files of one event in a tracefs instance. */
#ifndef KERNEL_TRACEFS_EVENTS_H
#define KERNEL_TRACEFS_EVENTS_H

#include <stdbool.h>

#include "base/diag.h"
#include "kernel/tracefs/format.h"

/* The system of the function tracers' events, and the beginning of the systems of recorders' probes
 * (kernel/probe/probe.h). */
#define KERNEL_TRACER_SYSTEM "ftrace"
#define KERNEL_PROBE_PREFIX "duet_"

/* kernel_event_is_tracer - whether the events of @system are a tracer's: they have no `enable`
 * file. */
bool kernel_event_is_tracer(const char *system);
/* kernel_event_is_probe - whether a recorder of duet made @system. */
bool kernel_event_is_probe(const char *system);
/* These return 0 or -errno.  @instance: descriptor of its directory. */
int kernel_event_format(int instance, const char *system, const char *event,
			struct kernel_format *f, struct diag *d);
int kernel_event_enable(int instance, const char *system, const char *event, bool enable,
			struct diag *d);

#endif
