/* SPDX-License-Identifier: MIT */
/*
 * cmd/announce.h - the first line of a recording: the subject, the place, and how it ends; and a line
 * on the terminal with its counts.
 */
#ifndef CMD_ANNOUNCE_H
#define CMD_ANNOUNCE_H

#include "base/diag.h"

struct recording;

enum { ANNOUNCE_BYTES = 512 };

/*
 * announce_subject - "all programs (3 run) and the kernel's sched, syscalls".
 *
 * @a: after recording_resolve and the verb's own changes.  @text: its room.  Returns @text.
 */
const char *announce_subject(const struct recording *a, char text[ANNOUNCE_BYTES]);

/* announce_manner - how: in trace chunks, or only when asked; begins with a comma, or is empty. */
const char *announce_manner(const struct recording *a, char text[ANNOUNCE_BYTES]);

/*
 * announce_recording - print "duet VERB: recording SUBJECT into PATH; Ctrl-C ends" on standard error.
 *
 * @recording: a struct recording.  Nothing with -q; with a command only with -v: the terminal is the
 * command's.  Has the type of recorder_options.on_ready.  Returns 0.
 */
int announce_recording(void *recording, struct diag *d);

/*
 * announce_counts - let @a show a line with its counts each second, on a terminal.
 *
 * Not with -q; with a command only with --progress.  Call it after the last option, before
 * recording_run.  progress_hide removes the line.
 */
void announce_counts(struct recording *a);

#endif
