/* SPDX-License-Identifier: MIT */
/* cmd/report.h - what `duet report` asks its reports for. */
#ifndef CMD_REPORT_H
#define CMD_REPORT_H

#include "cmd/table.h"

struct report {
	struct trace *trace;
	bool is_json;
	const char *by; /* NULL: not given */
	uint32_t n_slowest;
	uint64_t limit; /* of lines in a table */
	const char *from, *to; /* latency: patterns */
};

/* Each returns the exit status. */
int report_cpu(const struct report *r);
int report_heap(const struct report *r);
int report_latency(const struct report *r);
int report_sched(const struct report *r);
int report_syscalls(const struct report *r);

/* report_is_by - whether --by is @what; "" is none at all. */
bool report_is_by(const struct report *r, const char *what);

/* report_lacks - the recording does not hold what the question is about.  Returns the exit status. */
int report_lacks(const struct run *run, const char *what, const char *how);

#endif
