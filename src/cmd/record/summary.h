/* SPDX-License-Identifier: MIT */
/* cmd/record/summary.h - what duet record and duet stop say at the end of a recording. */
#ifndef CMD_RECORD_SUMMARY_H
#define CMD_RECORD_SUMMARY_H

#include "collect/public.h"

struct recording_summary {
	const char *verb, *path;
	const char *channels[ABI_CHANNELS]; /* their names */
	int n_channels;
	bool wants_kernel;
	bool is_verbose; /* say what recorded the kernel, too */
	bool is_gone;	 /* sent to another host: nothing is left to look at */
	struct recorder_result result;
};

/* summary_print - on standard error: standard output is the command's. */
void summary_print(const struct recording_summary *r);

#endif
