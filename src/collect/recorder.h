/* SPDX-License-Identifier: MIT */
/*
 * collect/recorder.h - one recording: session, pools, kernel, command, files.
 *
 * The collector moves bytes and does not interpret events.  One thread: a loop over descriptors and
 * timers.  However it ends (the command's end, a signal, a full disk), recorder_finish leaves a
 * readable trace and restores the kernel.
 */
#ifndef COLLECT_RECORDER_H
#define COLLECT_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "collect/options/options.h"
#include "collect/options/result.h"

struct recorder;

/*
 * recorder_may_write_anew - whether a successor of a collector killed at the end may write data
 * again that was written already: everything in overwrite mode.
 */
bool recorder_may_write_anew(const struct recorder_options *o);

/*
 * recorder_open - create everything; nothing runs yet.
 *
 * Until recorder_finish the process has its maximum number of descriptors and survives
 * RLIMIT_FSIZE. Returns 0 or -errno.
 */
int recorder_open(struct recorder **r, const struct recorder_options *o, struct diag *d);

/*
 * recorder_run - record until the command ends, or SIGINT, SIGTERM or SIGHUP arrives.  It does not
 * begin, and returns -EINTR, after recorder_end_early() (collect/child/child.h).
 *
 * With the option `keep` it returns in a child: the caller's process waits for it and exits with
 * its status.  Blocks these signals and SIGCHLD in the calling thread and receives them through a
 * descriptor.  With a command, the first SIGINT is left to the command (a terminal sends it to
 * both); the second one ends the recording.
 */
int recorder_run(struct recorder *r, struct diag *d);

/* recorder_finish - write what remains, restore the process, free.  Accepts NULL. */
int recorder_finish(struct recorder *r, struct recorder_result *result, struct diag *d);

#endif
