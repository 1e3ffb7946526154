/* SPDX-License-Identifier: MIT */
/*
 * cmd/strace/recorder.h - records in a child process, into a directory that is removed at the end.
 *
 * The recorder is our child; the command is the recorder's child.  The traced processes are not
 * touched: the kernel records.  If we die, the recorder gets a signal, stops, and removes the
 * directory.
 */
#ifndef CMD_STRACE_RECORDER_H
#define CMD_STRACE_RECORDER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/cmd.h"
#include "kernel/kernel.h"

struct strace_record {
	const char *keep; /* the recording stays in this directory; NULL: it is removed */
	char **command;	  /* NULL: pids */
	struct cmd_pids pids;
	struct cmd_strings patterns;
	struct cmd_strings environment; /* for the command: "VAR=VALUE" sets, "VAR" removes */
	enum kernel_backend backend;
	uint64_t kernel_buffer; /* 0: the default */
	uint32_t capture_bytes; /* of buffers; 0: neither buffers nor structures */

	char path[PATH_MAX];
	pid_t recorder, program; /* our child, and its child; program: -1 without a command */
	int status;		 /* exit status of the command */
	bool has_ended;
};

/* strace_record_backend - set `backend` by its name.  Reports an error and returns false if it is
 * unknown. */
bool strace_record_backend(struct strace_record *r, const char *name);
/* strace_record_start - start the recorder, and return when it records.  Returns 0; else the exit
 * status, after the error was reported. */
int strace_record_start(struct strace_record *r);
/* strace_record_interrupt - handle the @n-th Ctrl-C, or stop at once (@n is 0). */
void strace_record_interrupt(struct strace_record *r, int n);
/* strace_record_end - stop, wait for the command, and remove the recording.  Returns the exit
 * status of the command. */
int strace_record_end(struct strace_record *r, bool at_once);

#endif
