/* SPDX-License-Identifier: MIT */
/* kernel/perf/sampled.h - what perf is asked to sample, as patterns name it; and why it may refuse.
 * Pure. */
#ifndef KERNEL_PERF_SAMPLED_H
#define KERNEL_PERF_SAMPLED_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

enum { KERNEL_PROFILE_HZ_MAX = 20000, KERNEL_SAMPLED_MAX = 16 };

struct kernel_sampled {
	char name[64];	/* as it was asked for, in errors */
	char event[64]; /* of the trace: "profile", "counter_page_faults"; of a field:
			   "perf_cpu_page_faults" */
	bool is_counter;
	struct perf_event_attr attr; /* type, config, how often */
};

/*
 * kernel_sampled_parse - "profile:HZ": a clock at this rate; 99 without HZ.
 * "counter:NAME:PERIOD": NAME as perf list has it; each PERIOD-th time.  Without PERIOD a rate that
 * costs little for what counts all the time, and each time for what the kernel does now and then.
 *
 * Returns 1; 0 if @pattern is neither; -EINVAL.
 */
int kernel_sampled_parse(struct kernel_sampled *s, const char *pattern, struct diag *d);

/*
 * kernel_sampled_extras - what "with:NAME+NAME:PATTERN" and "stack:PATTERN" want events to have.
 *
 * @counters: those named so far, *@n of KERNEL_SAMPLED_MAX; new ones are put behind.  *@extras:
 * KERNEL_PERF_*.
 * *@rest: PATTERN.  Returns 1; 0 if @pattern is neither; -EINVAL.
 */
int kernel_sampled_extras(const char *pattern, struct kernel_sampled counters[KERNEL_SAMPLED_MAX],
			  int *n, uint32_t *extras, const char **rest, struct diag *d);

/* kernel_sampled_explain - why perf refused @what with @err, and what helps.  Returns @err. */
int kernel_sampled_explain(const char *what, int err, struct diag *d);

#endif
