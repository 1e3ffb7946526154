/* SPDX-License-Identifier: MIT */
/* cmd/record/channels.h - the channels that --channel describes. */
#ifndef CMD_RECORD_CHANNELS_H
#define CMD_RECORD_CHANNELS_H

#include <stdbool.h>

#include "cmd/cmd.h"
#include "collect/public.h"

struct cmd_channels {
	struct recorder_channel at[ABI_CHANNELS]; /* the first is "default" */
	struct cmd_strings patterns[ABI_CHANNELS];
	uint64_t count[ABI_CHANNELS]; /* 0: not given */
	bool has_mode[ABI_CHANNELS];
	int n;
};

void cmd_channels_begin(struct cmd_channels *c);
/* cmd_channels_add - take one --channel.  Returns false after it printed why not. */
bool cmd_channels_add(const char *verb, struct cmd_channels *c, const char *text);
/*
 * cmd_channels_add_calls - add the channel of recorded calls, or complete it if --channel named it.
 */
bool cmd_channels_add_calls(const char *verb, struct cmd_channels *c);
/*
 * cmd_channels_end - complete the channels after the last option.
 *
 * @buffer_bytes: size of the default channel, 0 if not given.  @overwrite: the mode of channels
 * without `mode=`.  @contexts: added to all channels.  Returns false after it printed why not.
 */
bool cmd_channels_end(const char *verb, struct cmd_channels *c, uint64_t buffer_bytes,
		      bool overwrite, uint64_t contexts);

#endif
