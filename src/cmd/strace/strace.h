/* SPDX-License-Identifier: MIT */
/* cmd/strace/strace.h - the function of `duet strace` that `duet view --syscalls` uses. */
#ifndef CMD_STRACE_STRACE_H
#define CMD_STRACE_STRACE_H

#include <stdint.h>

#include "cmd/selection.h"

/* strace_view - print the system calls of @n recordings with times, durations and files.  Returns
 * the exit status. */
int strace_view(const char *const *paths, int n, const struct moment *from, const struct moment *to,
		uint64_t limit);

#endif
