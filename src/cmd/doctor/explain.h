/* SPDX-License-Identifier: MIT */
/*
 * cmd/doctor/explain.h - one line on standard error for a program that cannot be recorded: why, and
 * what to do.  For all commands that are given programs; the reasons are find/'s.
 */
#ifndef CMD_DOCTOR_EXPLAIN_H
#define CMD_DOCTOR_EXPLAIN_H

#include <stdbool.h>
#include <sys/types.h>

#include "find/find.h"

/* explain_state - the state of process @pid; prints nothing. */
enum find_state explain_state(pid_t pid);
/* explain_process - print why no events of process @pid can be recorded; nothing if they can.  Returns
 * its state.  @records_kernel: -k is no remedy, as the command records the kernel. */
enum find_state explain_process(const char *verb, pid_t pid, bool records_kernel);
/* explain_file - the same for a program on disk, a path or a command.  False, and nothing printed, if
 * it can be recorded or cannot be read. */
bool explain_file(const char *verb, const char *file);
/* explain_command - the same for a command that duet ran, and gave libduet. */
bool explain_command(const char *verb, const char *file, bool records_kernel);

/*
 * explain_running - print a line for each running program of this user (root: of all) that has trace
 * sites and cannot be recorded; only a few, then how many more.
 *
 * @names: only those whose name matches one of these globs between commas, and these also without trace
 * sites; NULL: all.  @is_quick: for a command that has other work: look at no more than some hundred
 * processes.  Returns how many there are.
 */
int explain_running(const char *verb, const char *names, bool is_quick);

/* explain_by - ourselves, with the libduet of this installation. */
const struct find_by *explain_by(void);

#endif
