/* SPDX-License-Identifier: MIT */
/* cmd/strace/style.h - options that choose how values are shown: -X, -v, -x, -y, -e read=. */
#ifndef CMD_STRACE_STYLE_H
#define CMD_STRACE_STYLE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/syscalls/public.h"

struct strace_style {
	struct call_style values;
	bool names_fds;
	unsigned fd_kinds;	      /* CALL_FD_* */
	uint64_t reads[2], writes[2]; /* bits of descriptors whose data is shown in full */
};

/* strace_style_* - take the value of an option. Return -1 to go on; or CMD_FAILED after reporting
 * the error. */
int strace_style_constants(struct strace_style *s, const char *how);
int strace_style_texts(struct strace_style *s, const char *which);
int strace_style_fds(struct strace_style *s, const char *kinds);
/* strace_style_takes - whether -e @name= is about the style; then *@status is the result. */
bool strace_style_takes(struct strace_style *s, const char *expression, int *status);

bool strace_style_dumps(const struct strace_style *s, int32_t fd, bool is_write);
bool strace_style_has_dumps(const struct strace_style *s);

#endif
