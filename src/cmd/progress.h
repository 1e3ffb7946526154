/* SPDX-License-Identifier: MIT */
/*
 * cmd/progress.h - the progress of reading, on a terminal, if it takes longer than a second.
 *
 * One line on standard error; it is removed before other output.  One reading at a time.
 *
 * Signals: the first SIGINT, SIGTERM or SIGHUP only requests the end.  Reading stops after the
 * current packet with the error "interrupted": results so far are printed, and incomplete files are
 * removed, as after any error.  Then progress_status lets the signal end the program.  A second
 * signal ends it at once.
 */
#ifndef CMD_PROGRESS_H
#define CMD_PROGRESS_H

#include "trace/public.h"

/* progress_hook - set the callback of trace_open, and call progress_catch. */
void progress_hook(struct trace_options *o);
/*
 * progress_catch - from now on these signals only request the end.  Those that are ignored stay
 * ignored.
 */
void progress_catch(void);
/* progress_is_stopped - whether such a signal came. */
bool progress_is_stopped(void);
/* progress_made - add @bytes that were read.  Returns progress_is_stopped(). */
bool progress_made(uint64_t bytes);
/* progress_status - the last call of a program: returns @status, or lets the signal end it. */
int progress_status(int status);
/* progress_begin - reading of @t begins.  @verb is borrowed. */
void progress_begin(const char *verb, const struct trace *t);
/* progress_begin_bytes - the same for a source of @bytes. */
void progress_begin_bytes(const char *verb, uint64_t bytes);
/* progress_also - @t is read after the one before. */
void progress_also(const struct trace *t);
/*
 * progress_line - show @text, less than 80 columns, on the last line of the terminal, instead of the
 * one before; progress_hide removes it.  Nothing unless standard error is a terminal on which this
 * process is in the foreground.
 */
void progress_line(const char *text);
/* progress_hide - remove the line; it comes back if reading goes on. */
void progress_hide(void);
/* progress_end - remove the line for good. */
void progress_end(void);

#endif
