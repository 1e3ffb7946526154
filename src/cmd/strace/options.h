/* SPDX-License-Identifier: MIT */
/* cmd/strace/options.h - the command line of `duet strace`: options have the letters and names of
 * strace's options. */
#ifndef CMD_STRACE_OPTIONS_H
#define CMD_STRACE_OPTIONS_H

#include <stdio.h>

#include "cmd/selection.h"
#include "cmd/strace/print.h"
#include "cmd/strace/recorder.h"
#include "kernel/kernel.h"

struct strace {
	struct strace_printer printer;
	struct strace_record record;
	struct cmd_strings inputs, pids;
	const char *output;
	FILE *command;		  /* that reads the output; NULL: none */
	struct cmd_strings paths; /* -P */
	bool has_reported_addresses;
	bool has_stacks;       /* -k */
	int follows;	       /* -f; -ff: 2 */
	bool leaves_at_exec;   /* -b */
	uint64_t string_bytes; /* -s */
	struct moment from, to;
};

#define STRACE_NEW                                                                                 \
	((struct strace){ .printer = { .filter = { .endings = STRACE_ALL, .signals = UINT64_MAX }, \
				       .prints = true,                                             \
				       .column = 40,                                               \
				       .limit = UINT64_MAX,                                        \
				       .sort = "time" },                                           \
			  .record = { .child.program = -1, .backend = KERNEL_BACKEND_AUTO },       \
			  .string_bytes = 32 })

/* strace_options - parse the command line.  Returns -1 to go on; else the exit status, after the
 * help or an error was printed. */
int strace_options(struct strace *s, int argc, char **argv);

#endif
