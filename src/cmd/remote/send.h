/* SPDX-License-Identifier: MIT */
/* cmd/remote/send.h - where a recording is sent: the options that record, collect, send and relay
 * share. */
#ifndef CMD_REMOTE_SEND_H
#define CMD_REMOTE_SEND_H

#include <getopt.h>
#include <stdbool.h>

#include "net/send/sender.h"

/* Values for getopt_long, beside characters and a verb's own from 256 on. */
enum {
	SEND_TO = 512,
	SEND_PSK,
	SEND_CERT,
	SEND_KEY,
	SEND_CA,
	SEND_PLAIN,
	SEND_SPOOL,
	SEND_KEEP,
	SEND_TIMEOUT
};

#define SEND_KEY_OPTIONS                                                                           \
	{ "psk", required_argument, NULL, SEND_PSK },                                              \
		{ "cert", required_argument, NULL, SEND_CERT },                                    \
		{ "key", required_argument, NULL, SEND_KEY },                                      \
		{ "ca", required_argument, NULL, SEND_CA },                                        \
	{                                                                                          \
		"plain", no_argument, NULL, SEND_PLAIN                                             \
	}
#define SEND_OPTIONS                                                                               \
	{ "to", required_argument, NULL, SEND_TO }, SEND_KEY_OPTIONS,                              \
		{ "spool", required_argument, NULL, SEND_SPOOL },                                  \
		{ "keep", no_argument, NULL, SEND_KEEP },                                          \
	{                                                                                          \
		"flush-timeout", required_argument, NULL, SEND_TIMEOUT                             \
	}

#define SEND_KEY_HELP                                                                              \
	"      --psk FILE        the key that both sides have in a file: openssl rand -hex 32\n"   \
	"      --cert FILE       or certificates: ours,\n"                                         \
	"      --key FILE        its key,\n"                                                       \
	"      --ca FILE         and the authority that the other side's must be of\n"             \
	"      --plain           or no encryption; only within this machine (127.0.0.1, ::1)\n"
#define SEND_HELP                                                                                  \
	"      --to HOST[:PORT]  send it to a relay (duet relay) while it is "                     \
	"recorded\n" SEND_KEY_HELP                                                                 \
	"      --spool SIZE      how much may wait on this disk for the network (default: 1G)\n"   \
	"      --keep            keep the recording here as well\n"                                \
	"      --flush-timeout T how long to go on sending at the end (default: 30s)\n"

struct send {
	const char *to; /* as given; NULL: nowhere */
	struct sender_options o;
	uint64_t spool_bytes;
	bool keeps;
	struct sender sender;
};

/* send_begin - defaults. */
void send_begin(struct send *s);
/* send_take - the option @c with optarg is one of these.  -1 if so, having taken it; CMD_FAILED,
 * having said why not; -2 if it is none. */
int send_take(const char *verb, struct send *s, int c);
/* send_check - after the last option.  0, or CMD_FAILED having said why. */
int send_check(const char *verb, struct send *s);

/* send_start - before the recorder makes anything; send_follow - its directory is there;
 * send_finish - the recording is complete: says where it went.  Each does nothing without --to.  0
 * or CMD_FAILED. */
int send_start(const char *verb, struct send *s, const char *path, const char *session);
int send_follow(const char *verb, struct send *s);
int send_finish(const char *verb, struct send *s, bool is_quiet);

#endif
