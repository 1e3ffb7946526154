/* SPDX-License-Identifier: MIT */
/*
 * trace/hosts.h - brings recordings of several hosts to one clock.
 *
 * A relay notes in .duet/clock-relay, again and again, how a host's wall clock differs from its
 * own. The recorder notes in .duet/clock how the trace's clock differs from the host's wall clock.
 * Together they give the shift from the times of a recording to the relay's clock.  It is one
 * number for the whole recording, so that order and durations within a host do not change.  Drift
 * that one number cannot express is part of the error.
 */
#ifndef TRACE_HOSTS_H
#define TRACE_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

struct hosts_shift {
	int64_t shift_ns; /* to add to the recording's times */
	int64_t error_ns; /* at most, in both directions */
};

/* hosts_read - compute the shift for the trace in directory @path inside its recording.  @base_ns:
 * zero of its clock, from the Epoch.  Returns false if nothing is known. */
bool hosts_read(const char *path, int64_t base_ns, struct hosts_shift *s);

#endif
