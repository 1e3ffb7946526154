/* SPDX-License-Identifier: MIT */
/* cmd/summary/loss_hint.h - the option that would have kept lost events, with a value possible here. */
#ifndef CMD_SUMMARY_LOSS_HINT_H
#define CMD_SUMMARY_LOSS_HINT_H

#include "cmd/record/summary.h"

enum { LOSS_HINT_MAX = 256 };

/*
 * loss_hint_application - for the line of all lost events of applications; "" if they have several
 * causes, which loss_hint_print then prints.
 */
const char *loss_hint_application(const struct recording_summary *a, char text[LOSS_HINT_MAX]);
/* loss_hint_print - a line on standard error for each cause, if there are several. */
void loss_hint_print(const struct recording_summary *a);
/* loss_hint_kernel - for lost events of the kernel. */
const char *loss_hint_kernel(const struct recording_summary *a, char text[LOSS_HINT_MAX]);

#endif
