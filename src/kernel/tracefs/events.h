/* SPDX-License-Identifier: MIT */
/* kernel/tracefs/events.h - the files of one event in a tracefs instance. */
#ifndef KERNEL_TRACEFS_EVENTS_H
#define KERNEL_TRACEFS_EVENTS_H

#include <stdbool.h>

#include "base/diag.h"
#include "kernel/tracefs/format.h"

/* All return 0 or -errno.  @instance: descriptor of its directory. */
int kernel_event_format(int instance, const char *system, const char *event,
			struct kernel_format *f, struct diag *d);
int kernel_event_enable(int instance, const char *system, const char *event, bool enable,
			struct diag *d);

#endif
