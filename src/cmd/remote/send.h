/* SPDX-License-Identifier: MIT */
/* cmd/remote/send.h - the relay that a recording is sent to, for the verbs that have --to. */
#ifndef CMD_REMOTE_SEND_H
#define CMD_REMOTE_SEND_H

#include <stdbool.h>

#include "cmd/options.h"
#include "net/send/public.h"

struct send {
	const char *to; /* as the user gave it; NULL: not sent */
	struct sender_options o;
	uint64_t spool_bytes;
	bool keeps;
	struct sender sender;
};

/* send_begin - set defaults. */
void send_begin(struct send *s);
/* send_take_spool - take --spool; its part is a struct send. */
option_take send_take_spool;
/* send_check - check the options after the last one.  Returns 0, or CMD_FAILED after a message. */
int send_check(const char *verb, struct send *s);

/*
 * send_start - fork the sender, before the recorder makes any file.
 *
 * send_follow - begin to send, when the recorder has made its directory.
 *
 * send_finish - send the rest after the recording, and print where it went.
 *
 * Each does nothing without --to.  They return 0, or CMD_FAILED after a message.
 */
int send_start(const char *verb, struct send *s, const char *path, const char *session);
int send_follow(const char *verb, struct send *s);
int send_finish(const char *verb, struct send *s, bool is_quiet);

#endif
