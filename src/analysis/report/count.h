/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/count.h - the number of events and their bytes, by event, process, thread, CPU,
 * stream, function and value.
 *
 * Bytes are those of events with their headers, as they are in the files. The headers and padding
 * of packets are not counted, nor is the header of the first event of a stream. Losses are known by
 * stream, and so by CPU, but not by thread.
 */
#ifndef ANALYSIS_REPORT_COUNT_H
#define ANALYSIS_REPORT_COUNT_H

#include "analysis/pass.h"
#include "analysis/values.h"

enum count_by {
	COUNT_EVENT,
	COUNT_PROCESS,
	COUNT_THREAD,
	COUNT_CPU,
	COUNT_STREAM,
	COUNT_FUNCTION,
	COUNT_VALUE,
	COUNT_KINDS
};

struct count {
	uint64_t n, bits;
	uint64_t lost_events, lost_packets;
	int64_t first_ns, last_ns;
};

struct count_row {
	const char *name;	  /* of COUNT_EVENT; borrowed from the trace */
	enum trace_domain domain; /* of COUNT_EVENT */
	uint32_t number;  /* the thread, or the leader of the process; the stream; the CPU, or
			   * TRACE_CPU_UNKNOWN; the function, in order of appearance; the value */
	uint64_t address; /* of the kernel function */
	struct count count;
};

struct counts {
	struct pass run;
	struct count total;
	struct count_table {
		struct count_row *at; /* most frequent first */
		uint32_t n;
	} by[COUNT_KINDS];
	struct values *values; /* or NULL */
};

/*
 * counts_init - read the events of @t in @range (NULL: all); @t must outlive the result.
 *
 * @filter: count only events for which it is true (duet-filter(7)); NULL: all. Losses are always
 * counted.
 *
 * @value: a context or field to group by in addition, as match_value_open() accepts it; NULL: none.
 *
 * Returns 0; -ENOENT if no event has @value, without a reason in @d; or another -errno.
 */
int counts_init(struct counts *c, struct trace *t, const struct pass_range *range,
		const char *filter, const char *value, struct diag *d);
void counts_fini(struct counts *c);

#endif
