/* SPDX-License-Identifier: MIT */
/* cmd/record/next.h - the commands that fit a recording, printed after its summary. */
#ifndef CMD_RECORD_NEXT_H
#define CMD_RECORD_NEXT_H

#include "trace/public.h"

/*
 * next_print - print, to standard error, the commands that answer most about the recording @path.
 *
 * @s: its events, the most frequent first.
 */
void next_print(const char *path, const struct summary *s);

#endif
