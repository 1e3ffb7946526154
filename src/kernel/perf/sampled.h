/* SPDX-License-Identifier: MIT */
/* kernel/perf/sampled.h - parses patterns for perf's clocks and counters, and explains perf's
 * refusals.
 *
 * Pure. */
#ifndef KERNEL_PERF_SAMPLED_H
#define KERNEL_PERF_SAMPLED_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

enum { KERNEL_PROFILE_HZ_MAX = 20000, KERNEL_SAMPLED_MAX = 16 };

struct kernel_sampled {
	char name[64];	/* as the user wrote it, for errors */
	char event[64]; /* in the trace: "profile", "counter_page_faults"; as a field:
			 * "perf_cpu_page_faults" */
	bool is_counter;
	struct perf_event_attr attr; /* type, config, period */
};

/*
 * kernel_sampled_parse - parse a clock or a counter.
 *
 * "profile:HZ": a clock at this rate; 99 without HZ. "counter:NAME:PERIOD": NAME as in perf list;
 * each PERIOD-th count. Without PERIOD: a cheap rate for hardware events, and each event for rare
 * ones of the kernel.
 *
 * Returns 1; 0 if @pattern is neither; -EINVAL.
 */
int kernel_sampled_parse(struct kernel_sampled *s, const char *pattern, struct diag *d);

/*
 * kernel_sampled_extras - parse "with:NAME+NAME:PATTERN" and "stack:PATTERN".
 *
 * @counters: the counters so far, *@n of KERNEL_SAMPLED_MAX; new ones are appended.
 * *@extras: becomes KERNEL_PERF_*.
 * *@rest: becomes PATTERN.
 * Returns 1; 0 if @pattern is neither; -EINVAL.
 */
int kernel_sampled_extras(const char *pattern, struct kernel_sampled counters[KERNEL_SAMPLED_MAX],
			  int *n, uint32_t *extras, const char **rest, struct diag *d);

/* kernel_sampled_explain - the reason why perf refused @what with @err, and the remedy. Returns
 * @err. */
int kernel_sampled_explain(const char *what, int err, struct diag *d);

#endif
