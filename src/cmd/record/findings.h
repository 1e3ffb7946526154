/* SPDX-License-Identifier: MIT */
/* cmd/record/findings.h - the lines about patterns and filters of a recording that matched nothing. */
#ifndef CMD_RECORD_FINDINGS_H
#define CMD_RECORD_FINDINGS_H

#include <stdbool.h>

#include "cmd/record/summary.h"

/*
 * findings_print - print one line for each to standard error.
 *
 * @is_quiet: only those that mean that nothing can have been recorded as it was asked for: filters
 * that fit no event.
 */
void findings_print(const struct recording_summary *r, bool is_quiet);

#endif
