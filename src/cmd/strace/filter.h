/* SPDX-License-Identifier: MIT */
/* cmd/strace/filter.h - the system calls that `duet strace -e` selects: by name, by kind, by
 * ending. */
#ifndef CMD_STRACE_FILTER_H
#define CMD_STRACE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/cmd.h"

enum { STRACE_OK = 1, STRACE_FAILED = 2, STRACE_UNFINISHED = 4, STRACE_ALL = 7 };

struct strace_filter {
	bool only_listed;	  /* print only the calls on the list; for "none" it is empty */
	bool all_but_listed;	  /* print all but the calls on the list */
	struct cmd_strings calls; /* names */
	unsigned endings;	  /* bits STRACE_... */
	uint64_t signals;	  /* bit n - 1 is signal n; 0: no signals, and no deaths */
};

/* strace_filter_parse - parse one -e.  Returns 0; or CMD_FAILED after reporting the error. */
int strace_filter_parse(struct strace_filter *c, const char *expression);
/* strace_filter_has - whether calls of this name are selected. */
bool strace_filter_has(const struct strace_filter *c, const char *call);
/* strace_filter_patterns - add the event patterns that the recorder needs, as -k of `duet record`.
 * @fds: record calls that change descriptors, too; @pids: those that show pid namespaces. */
void strace_filter_patterns(const struct strace_filter *c, bool fds, bool pids, bool stacks,
			    struct cmd_strings *patterns);

#endif
