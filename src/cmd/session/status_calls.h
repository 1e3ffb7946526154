/* SPDX-License-Identifier: MIT */
/* cmd/session/status_calls.h - in duet status: the functions that programs have patched. */
#ifndef CMD_SESSION_STATUS_CALLS_H
#define CMD_SESSION_STATUS_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct calls_state;

struct status_calls {
	struct calls_state *at;
	int n;
	uint64_t most; /* of status_calls_read */
};

/*
 * status_calls_read - of the session with @epoch, whose programs have runtime directory @dir.
 *
 * @most: the most calls that can have been lost; other numbers in a program's file cannot be true.
 */
void status_calls_read(struct status_calls *c, int dir, uint64_t epoch, uint64_t most);
void status_calls_fini(struct status_calls *c);

/* status_calls_print - a line for each program, under a headline before the first one. */
void status_calls_print(const struct status_calls *c, bool *has_headline);
/* status_calls_json - the objects of the array "graph" (duet-status(1)). */
void status_calls_json(struct text *t, const struct status_calls *c);

#endif
