/* SPDX-License-Identifier: MIT */
/* cmd/repeat/repeat.h - duet record --repeat: several recordings of a command, one after the other. */
#ifndef CMD_RECORD_REPEAT_H
#define CMD_RECORD_REPEAT_H

#include "cmd/options.h"

struct recording;

option_take repeat_take;

/*
 * repeat_record - make a->n_repeats recordings NAME-1, NAME-2, ... of a command.
 *
 * Each is made by a process of its own, which returns from here with OPTIONS_GO_ON and records into
 * a->o.path.  The caller's process waits for them, and returns the first exit status that is
 * not 0, or 0.
 */
int repeat_record(struct recording *a);

#endif
