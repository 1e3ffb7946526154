/* SPDX-License-Identifier: MIT */
/*
 * cmd/progress.h - how far reading has come, on a terminal, once it takes longer than a second.
 *
 * One line on standard error, which goes before anything else is written there.  One at a time.
 *
 * And how it is ended: the first Ctrl-C (SIGTERM, SIGHUP) only says that it is wanted.  Reading
 * ends with the packet, with the error "interrupted": so what was found is written, and files that
 * are not whole are removed, as with any error.  Then progress_status() lets the signal end the
 * program.  A second one ends it at once.
 */
#ifndef CMD_PROGRESS_H
#define CMD_PROGRESS_H

#include "trace/public.h"

/* progress_hook - what trace_open() is to be given; and progress_catch(). */
void progress_hook(struct trace_options *o);
/* progress_catch - from now on these signals only say that an end is wanted.  Those that are
 * ignored stay so. */
void progress_catch(void);
/* progress_is_stopped - such a signal came. */
bool progress_is_stopped(void);
/* progress_made - so many bytes more.  True: progress_is_stopped(). */
bool progress_made(uint64_t bytes);
/* progress_status - the last thing a program does: @status, if it was not stopped; else the signal
 * ends it. */
int progress_status(int status);
/* progress_begin - reading of @t begins; @verb is lent. */
void progress_begin(const char *verb, const struct trace *t);
/* progress_begin_bytes - the same of what has so many bytes. */
void progress_begin_bytes(const char *verb, uint64_t bytes);
/* progress_also - and then of this one. */
void progress_also(const struct trace *t);
/* progress_hide - the line goes; it comes again if reading goes on. */
void progress_hide(void);
/* progress_end - and it does not come again. */
void progress_end(void);

#endif
