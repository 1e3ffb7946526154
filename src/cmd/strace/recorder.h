/* SPDX-License-Identifier: MIT */
/*
 * cmd/strace/recorder.h - the recording of `duet strace`, made in a child process.
 *
 * The traced processes are not touched: the kernel records.
 */
#ifndef CMD_STRACE_RECORDER_H
#define CMD_STRACE_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/cmd.h"
#include "collect/child/child.h"
#include "kernel/kernel.h"

struct strace_record {
	const char *keep; /* the recording stays in this directory; NULL: it is removed */
	char **command;	  /* NULL: pids */
	struct cmd_pids pids;
	struct cmd_strings patterns;
	struct cmd_strings environment; /* for the command: "VAR=VALUE" sets, "VAR" removes */
	enum kernel_backend backend;
	uint64_t kernel_buffer; /* 0: the default */
	bool captures_environment;
	bool names_pids;	/* of processes that are not followed, too */
	bool captures_files;	/* what descriptors are open on */
	uint32_t capture_bytes; /* of buffers; 0: neither buffers nor structures */

	struct recorder_child child;
};

/* strace_record_backend - set `backend` by its name.  Reports an error and returns false if it is
 * unknown. */
bool strace_record_backend(struct strace_record *r, const char *name);
/* strace_record_start - start the recorder, and return when it records.  Returns 0; else the exit
 * status, after the error was reported. */
int strace_record_start(struct strace_record *r);

#endif
