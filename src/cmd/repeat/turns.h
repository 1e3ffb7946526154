/* SPDX-License-Identifier: MIT */
/*
 * cmd/repeat/turns.h - duet diff --repeat: recordings of two commands, made in turn.
 *
 * The load of a machine changes while a series is made.  In turn it changes for both sides alike; one
 * side after the other it is the change that `duet diff` finds (docs/design/figures/diff.md).
 */
#ifndef CMD_REPEAT_TURNS_H
#define CMD_REPEAT_TURNS_H

#include <stdint.h>

#include "cmd/cmd.h"

struct turns {
	uint32_t n;	  /* recordings of each command */
	const char *base; /* of names: BASE-a-1, BASE-b-1, ...; NULL: a temporary directory */
	struct cmd_strings options; /* more of `duet record` */
	char **commands[2];	    /* words, NULL behind the last; lent */
	/* The result. */
	char **paths;	 /* 2 n, A's first */
	char *directory; /* the temporary one, or NULL */
};

/* turns_take - take the number of --repeat and both commands, with "--" between them, which becomes NULL.
 * Returns 0, or CMD_FAILED after a message. */
int turns_take(struct turns *t, const char *number);
int turns_take_commands(struct turns *t, char **words);

/*
 * turns_record - make them.  The commands' standard output is dropped: it would mix with the answer.  A command
 * that fails is reported.
 *
 * Returns 0, or the exit status after a message: nothing can be compared then.
 */
int turns_record(struct turns *t);

/* turns_end - remove the temporary directory.  After any of the above. */
void turns_end(struct turns *t);

#endif
