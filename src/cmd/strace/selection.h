/* SPDX-License-Identifier: MIT */
/* cmd/strace/selection.h - which system calls `duet strace -e` means: by name, by kind, by how they
 * ended. */
#ifndef CMD_STRACE_SELECTION_H
#define CMD_STRACE_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/cmd.h"

enum { STRACE_OK = 1, STRACE_FAILED = 2, STRACE_UNFINISHED = 4, STRACE_ALL = 7 };

struct strace_selection {
	bool is_other_session;	  /* only those on the list; it is empty for "none" */
	bool is_excluded;	  /* all but those on the list */
	struct cmd_strings calls; /* names */
	unsigned how;		  /* STRACE_... */
	uint64_t signals;	  /* a bit for each, from 1 on; none of them: nor deaths */
};

/* strace_select - one -e.  0, or CMD_FAILED having said why. */
int strace_select(struct strace_selection *c, const char *expression);
/* Whether calls of this name are wanted. */
bool strace_wants(const struct strace_selection *c, const char *call);
/* strace_patterns - what the kernel is to record: for cmd/record/recording.h's -k.  @fds:
 * descriptors are to be followed. */
void strace_patterns(const struct strace_selection *c, bool fds, struct cmd_strings *patterns);

#endif
