/* SPDX-License-Identifier: MIT */
/* kernel/tracefs/events.c - reads `format` and writes `enable` of one event. */
#include "kernel/tracefs/events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/tracefs/tracefs.h"

bool kernel_event_is_tracer(const char *system)
{
	return !strcmp(system, KERNEL_TRACER_SYSTEM);
}

bool kernel_event_is_probe(const char *system)
{
	return !strncmp(system, KERNEL_PROBE_PREFIX, sizeof KERNEL_PROBE_PREFIX - 1);
}

int kernel_event_format(int instance, const char *system, const char *event,
			struct kernel_format *f, struct diag *d)
{
	char path[192], *text;
	ssize_t n;
	int err;

	snprintf(path, sizeof path, "events/%s/%s/format", system, event);
	n = kernel_tracefs_read(instance, path, &text);
	if (n < 0)
		return diag_fail(d, (int)n, "cannot read tracefs %s: %s", path, strerror((int)-n));
	err = kernel_format_parse(f, text, path, d);
	free(text);
	return err;
}

int kernel_event_enable(int instance, const char *system, const char *event, bool enable,
			struct diag *d)
{
	char path[192];
	int err;

	if (kernel_event_is_tracer(system))
		return 0; /* kernel_functions_pause() */
	snprintf(path, sizeof path, "events/%s/%s/enable", system, event);
	err = kernel_tracefs_write(instance, path, enable ? "1" : "0");
	if (err == -EPERM && geteuid())
		return diag_fail(d, err, "the kernel event %s:%s is not lent: man duet-lend",
				 system, event);
	return err ? diag_fail(d, err, "cannot write tracefs %s: %s", path, strerror(-err)) : 0;
}
