/* SPDX-License-Identifier: MIT */
/* cmd/strace/stacks.h - the call stack behind a call, as strace -k shows it. */
#ifndef CMD_STRACE_STACKS_H
#define CMD_STRACE_STACKS_H

#include "analysis/pairing/public.h"
#include "trace/text/public.h"

struct strace_stacks;

/* strace_stacks_open - for the recordings @paths, which are borrowed.  @is_live: they are being made.
 * 0 or -errno. */
int strace_stacks_open(struct strace_stacks **s, const char *const *paths, int n, bool is_live,
		       struct diag *d);
void strace_stacks_close(struct strace_stacks *s); /* accepts NULL */
/* strace_stacks_add - a line for each frame of @item, a call of process @pid. */
void strace_stacks_add(struct strace_stacks *s, struct out *o, int64_t pid,
		       const struct pairing_item *item);

#endif
