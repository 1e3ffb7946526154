/* SPDX-License-Identifier: MIT */
/*
 * cmd/finding.h - lines about what was asked for and not found.
 *
 * A finding is no failure: the verb does its work.  But it is never silent, and with --strict the
 * exit status is 1.  Findings are counted for the whole command.
 */
#ifndef CMD_FINDING_H
#define CMD_FINDING_H

#include <stdbool.h>

/* cmd_finding - print "duet VERB: ..." on standard error, and count it. */
void cmd_finding(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* cmd_findings_status - 1 if @status is 0, @is_strict is set and there was a finding; else @status. */
int cmd_findings_status(bool is_strict, int status);

#endif
