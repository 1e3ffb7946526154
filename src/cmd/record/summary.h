/* SPDX-License-Identifier: MIT */
/* cmd/record/summary.h - the summary that duet record and duet stop print at the end. */
#ifndef CMD_RECORD_SUMMARY_H
#define CMD_RECORD_SUMMARY_H

#include "cmd/cmd.h"
#include "collect/public.h"

struct recording_summary {
	const char *verb, *path;
	const char *channels[ABI_CHANNELS]; /* their names */
	int n_channels;
	bool wants_kernel;
	bool is_verbose;		    /* print which kernel backend recorded, too */
	bool is_brief;			    /* one line */
	bool is_gone;			    /* sent to another host; no data is left here */
	struct cmd_strings kernel_patterns; /* that -k asked for */
	struct recorder_result result;
};

/* summary_print - print to standard error: standard output belongs to the command. */
void summary_print(const struct recording_summary *r);

#endif
