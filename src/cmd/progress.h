/* SPDX-License-Identifier: MIT */
/*
 * cmd/progress.h - how far reading has come, on a terminal, once it takes longer than a second.
 *
 * One line on standard error, which goes before anything else is written there.  One at a time.
 */
#ifndef CMD_PROGRESS_H
#define CMD_PROGRESS_H

#include "trace/trace.h"

/* progress_hook - what trace_open() is to be given, if standard error is a terminal. */
void progress_hook(struct trace_options *o);
/* progress_begin - reading of @t begins; @verb is lent. */
void progress_begin(const char *verb, const struct trace *t);
/* progress_also - and then of this one. */
void progress_also(const struct trace *t);
/* progress_hide - the line goes; it comes again if reading goes on. */
void progress_hide(void);
/* progress_end - and it does not come again. */
void progress_end(void);

#endif
