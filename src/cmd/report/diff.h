/* SPDX-License-Identifier: MIT */
/* cmd/report/diff.h - the output of `duet diff`: diff_tables.c prints, diff.c compares. */
#ifndef CMD_REPORT_DIFF_H
#define CMD_REPORT_DIFF_H

#include "analysis/diff/diff.h"

struct diff_view {
	bool is_json, shows_all;
	uint64_t limit;
	char **paths; /* A's, then B's */
};

/* diff_print - returns the exit status. */
int diff_print(struct diff *d, const struct diff_view *v);

#endif
