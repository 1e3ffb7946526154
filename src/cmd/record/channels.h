/* SPDX-License-Identifier: MIT */
/* cmd/record/channels.h - `--channel NAME:KEY=VALUE,...` of duet record and duet collect. */
#ifndef CMD_RECORD_CHANNELS_H
#define CMD_RECORD_CHANNELS_H

#include <stdbool.h>

#include "cmd/cmd.h"
#include "collect/public.h"

struct cmd_channels {
	struct recorder_channel at[ABI_CHANNELS]; /* the first is "default" */
	struct cmd_strings patterns[ABI_CHANNELS];
	uint64_t count[ABI_CHANNELS]; /* 0: not said */
	bool has_mode[ABI_CHANNELS];
	int n;
};

void cmd_channels_begin(struct cmd_channels *c);
/* Takes one --channel; prints why not and returns false. */
bool cmd_channels_add(const char *verb, struct cmd_channels *c, const char *text);
/*
 * After all options.  @buffer_bytes: of the default channel, 0 for not said; @overwrite: the mode
 * of those of which none was said; @contexts: of all.  Prints why not and returns false.
 */
bool cmd_channels_end(const char *verb, struct cmd_channels *c, uint64_t buffer_bytes,
		      bool overwrite, uint64_t contexts);

#endif
