/* SPDX-License-Identifier: MIT */
/* cmd/once.h - duet report why -- COMMAND: a question about a command, without a recording of its own. */
#ifndef CMD_ONCE_H
#define CMD_ONCE_H

/*
 * once_run - run @verb with @argv; if a command stands behind "--", record that first.
 *
 * The recording has the events that the question needs.  It lies in a temporary directory, its path
 * is appended to the arguments of @run, and it is removed afterwards.  A directory behind "--" is a
 * recording, as it is without "--".
 *
 * Returns the status of @run, or CMD_FAILED after it printed why nothing was recorded.
 */
int once_run(const char *verb, int (*run)(int argc, char **argv), int argc, char **argv);

#endif
