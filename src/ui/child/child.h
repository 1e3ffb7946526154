/* SPDX-License-Identifier: MIT */
/*
 * ui/child/child.h - a command run for an answer: its output, within limits of time and size.
 *
 * It runs in a process group of its own, with no input but @input, and is killed with all it started
 * when it takes too long, prints too much or is cancelled.  The launcher starts it
 * (ui/child/launcher.h).  After its own exit its children in the
 * background go on.
 */
#ifndef UI_CHILD_CHILD_H
#define UI_CHILD_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"

struct ui_child_options {
	const char *const *argv;      /* as ui/child/allowed.c allows; ends with NULL */
	const char *input;	      /* its standard input; NULL: none */
	uint64_t timeout_ns;	      /* 0: no limit */
	size_t most_bytes;	      /* of each output; 0: 16 MiB */
	const uint32_t *is_cancelled; /* atomic; NULL: never */
	bool has_extra;		      /* its descriptor 3 is a pipe to `extra` too */
	uint64_t
		grace_ns; /* before it is killed for its time or size it gets SIGTERM, and so long */
};

enum ui_child_end {
	UI_CHILD_EXITED,
	UI_CHILD_KILLED,    /* by a signal of others */
	UI_CHILD_TOO_LONG,  /* killed after timeout_ns */
	UI_CHILD_TOO_MUCH,  /* killed after most_bytes; they are in the texts */
	UI_CHILD_CANCELLED, /* killed because it was cancelled */
};

struct ui_child_result {
	enum ui_child_end end;
	int status;			/* if it has exited; else -1 */
	struct text out, errors, extra; /* NUL-terminated if not empty */
};

/* ui_child_run - run it and wait.  Returns 0 or -errno, reason in @d: it did not start.  Any thread. */
int ui_child_run(const struct ui_child_options *o, struct ui_child_result *r, struct diag *d);
void ui_child_result_fini(struct ui_child_result *r);

#endif
