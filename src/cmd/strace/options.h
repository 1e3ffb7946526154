/* SPDX-License-Identifier: MIT */
/* cmd/strace/options.h - what `duet strace` was asked for: options have the letters and names that
 * strace's have. */
#ifndef CMD_STRACE_OPTIONS_H
#define CMD_STRACE_OPTIONS_H

#include "cmd/selection.h"
#include "cmd/strace/print.h"
#include "cmd/strace/recorder.h"
#include "kernel/kernel.h"

struct strace {
	struct strace_page page;
	struct strace_record record;
	struct cmd_strings inputs, pids;
	const char *output;
	struct cmd_strings paths; /* -P */
	bool names_fds, names_pids;
	bool has_reported_addresses;
	bool appends;	       /* to `output` */
	uint64_t string_bytes; /* -s */
	struct moment from, to;
};

#define STRACE_NEW                                                                                 \
	((struct strace){ .page = { .choice = { .how = STRACE_ALL, .signals = UINT64_MAX },        \
				    .prints = true,                                                \
				    .column = 40,                                                  \
				    .limit = UINT64_MAX,                                           \
				    .sort = "time" },                                              \
			  .record = { .program = -1, .backend = KERNEL_BACKEND_AUTO },             \
			  .string_bytes = 32 })

/* strace_options - -1 to go on, else the exit status, all having been said. */
int strace_options(struct strace *s, int argc, char **argv);

#endif
