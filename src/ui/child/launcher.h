/* SPDX-License-Identifier: MIT */
/*
 * ui/child/launcher.h - the process that starts commands of duet for the timeline's server.
 *
 * The server reads recordings of strangers in a sandbox, and can execute nothing.  The launcher is
 * forked before that.  It reads no recording: its input are the server's requests, which it does not
 * trust.  So it starts this program's own file alone, with the verbs and options of
 * ui/child/allowed.c, none of which runs a command of the request.
 *
 *   (1) it signals and waits for processes that it started, and for no others
 *   (2) it ends when the server has ended; then it removes the server's temporary directory
 *   (3) commands that run then go on, as those of a shell do
 */
#ifndef UI_CHILD_LAUNCHER_H
#define UI_CHILD_LAUNCHER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/diag.h"

enum { LAUNCHER_FILES_MAX = 4 };

/*
 * launcher_start - fork it, before this process has threads.
 *
 * @self: this program's file.  It makes a directory in $TMPDIR, and sets TMPDIR to it: the one place
 * where the server and its commands make files.  Returns 0 or -errno.
 */
int launcher_start(const char *self, struct diag *d);
void launcher_end(void);
/* launcher_directory - the directory; NULL: launcher_start was not called. */
const char *launcher_directory(void);

/*
 * launcher_spawn - start a command, with @files as its descriptors 0, 1, ...
 *
 * @argv: argv[0] is ignored; without a launcher it is executed, and any command may be started.
 * Returns its pid, and a pidfd in @pidfd; -EPERM: it is not allowed;
 * or -errno.  This and the following: any thread.
 */
pid_t launcher_spawn(const char *const *argv, const int *files, int n_files, int *pidfd);
/* launcher_signal - to the process group of @pid, which was started and not waited for. */
void launcher_signal(pid_t pid, int signal);
/* launcher_wait - the status of @pid as of waitpid(2); -1: it was not started here. */
int launcher_wait(pid_t pid);

/* launcher_allows - whether the command may be started.  @directory: where it may make files. */
bool launcher_allows(const char *const *argv, const char *directory);

#endif
