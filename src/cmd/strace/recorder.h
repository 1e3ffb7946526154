/* SPDX-License-Identifier: MIT */
/*
 * cmd/strace/recorder.h - a recording beside the one who shows it: a process of its own, into a
 * directory that is removed afterwards.
 *
 * The recorder is our child, and the command is the recorder's.  Nothing is ever done to what is
 * traced: it is the kernel that records.  If we die, the recorder is told to stop, and removes the
 * directory.
 */
#ifndef CMD_STRACE_RECORDER_H
#define CMD_STRACE_RECORDER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/cmd.h"

struct strace_record {
	const char *keep; /* where the recording is to stay; NULL: nowhere */
	char **command;	  /* NULL: pids */
	struct cmd_pids pids;
	struct cmd_strings patterns;
	struct cmd_strings environment; /* "VAR=VALUE", and "VAR" to take away, for the command */
	uint32_t backend;		/* enum kernel_backend */
	uint64_t kernel_buffer;		/* 0: the usual */
	uint32_t capture_bytes;		/* of buffers; 0: neither buffers nor structures */

	char path[PATH_MAX];
	pid_t recorder, program; /* ours and its child; program: -1 without one */
	int status;		 /* the command's, as an exit status */
	bool has_ended;
};

/* strace_record_backend - `backend` by its name.  Prints why not and returns false. */
bool strace_record_backend(struct strace_record *r, const char *name);
/* strace_record_start - returns when it records; else the exit status, all having been said. */
int strace_record_start(struct strace_record *r);
/* strace_record_interrupt - somebody said Ctrl-C for the @n-th time, or (n is 0) stop at once. */
void strace_record_interrupt(struct strace_record *r, int n);
/* strace_record_end - stop, wait for the command, and remove what was recorded.  Returns the
 * command's exit status. */
int strace_record_end(struct strace_record *r, bool at_once);

#endif
