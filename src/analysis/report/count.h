/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/count.h - how many events, and how much room they take, by what, whom and where.
 *
 * Bytes are those of events with their headers, as they lie in the files; packets' own headers and
 * padding are not among them, nor is the header of a stream's very first event.  Losses are known
 * by stream, and so by CPU; nobody knows whose they were.
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
	const char *name;	  /* events; lent by the trace */
	enum trace_domain domain; /* events */
	uint32_t number;  /* of the thread that it is or that stands for the process; of the stream;
			   * the CPU, or TRACE_CPU_UNKNOWN; of the function, in order of appearance;
			   * of the value */
	uint64_t address; /* of the kernel's function */
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
 * counts_init - read what of @t lies in @range (NULL: all); @t must outlive the result.
 *
 * @filter: count only events for which this is true (duet-filter(7)); NULL: all.  Losses are
 * counted all the same.
 *
 * @value: a context or field by which to tell events apart too, as match_value_open() takes it;
 * NULL: none.
 *
 * Returns 0; -ENOENT if no event has @value, without a reason in @d; or another -errno.
 */
int counts_init(struct counts *c, struct trace *t, const struct pass_range *range,
		const char *filter, const char *value, struct diag *d);
void counts_fini(struct counts *c);

#endif
