/* SPDX-License-Identifier: MIT */
/* cmd/remote/send.h - where a recording is sent: the options that record, collect, send and relay
 * share. */
#ifndef CMD_REMOTE_SEND_H
#define CMD_REMOTE_SEND_H

#include <stdbool.h>

#include "cmd/options.h"
#include "net/send/public.h"

struct send {
	const char *to; /* as given; NULL: nowhere */
	struct sender_options o;
	uint64_t spool_bytes;
	bool keeps;
	struct sender sender;
};

/* send_begin - defaults. */
void send_begin(struct send *s);
/* send_take_spool - take --spool; its part is a struct send. */
option_take send_take_spool;
/* send_check - after the last option.  0, or CMD_FAILED having said why. */
int send_check(const char *verb, struct send *s);

/* send_start - before the recorder makes anything; send_follow - its directory is there;
 * send_finish - the recording is complete: says where it went.  Each does nothing without --to.  0
 * or CMD_FAILED. */
int send_start(const char *verb, struct send *s, const char *path, const char *session);
int send_follow(const char *verb, struct send *s);
int send_finish(const char *verb, struct send *s, bool is_quiet);

#endif
