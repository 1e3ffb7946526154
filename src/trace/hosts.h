/* SPDX-License-Identifier: MIT */
/*
 * trace/hosts.h - recordings of several hosts on one clock.
 *
 * A relay notes in .duet/clock-relay how a host's wall clock stood to its own, again and again; the
 * recorder in .duet/clock how the trace's clock stood to the host's wall clock.  Together they say
 * by how much the times of a recording are moved to be the relay's.  One number for the whole
 * recording, so that order and durations within a host stay as they were recorded; what that leaves
 * unsaid is in the error.
 */
#ifndef TRACE_HOSTS_H
#define TRACE_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

struct hosts_shift {
	int64_t shift_ns; /* to add to the recording's times */
	int64_t error_ns; /* at most, either way */
};

/* hosts_read - for the trace in directory @path, below its recording; @base_ns is its clock's zero,
 * from the Epoch.  False if nothing is known. */
bool hosts_read(const char *path, int64_t base_ns, struct hosts_shift *s);

#endif
