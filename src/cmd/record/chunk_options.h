/* SPDX-License-Identifier: MIT */
/* cmd/record/chunk_options.h - how a recording lies on disk: the options that record, collect and start share. */
#ifndef CMD_RECORD_CHUNK_OPTIONS_H
#define CMD_RECORD_CHUNK_OPTIONS_H

#include <getopt.h>

#include "cmd/remote/send.h"
#include "collect/chunks/chunks.h"
#include "collect/recorder.h"

/* Values for getopt_long, beyond those of cmd/remote/send.h. */
enum { PIECES_ROTATE = 640, PIECES_KEEP, PIECES_COMPRESS, PIECES_SYNC };

#define PIECES_OPTIONS                                                 \
	{ "rotate", required_argument, NULL, PIECES_ROTATE },          \
	{ "keep-last", required_argument, NULL, PIECES_KEEP },         \
	{ "compress", required_argument, NULL, PIECES_COMPRESS },      \
	{ "sync", required_argument, NULL, PIECES_SYNC }

#define PIECES_HELP                                                                                     \
	"      --rotate WHEN     in pieces, each a recording of its own: a new one after SIZE (1G), TIME\n"  \
	"                        (10min), or only when asked (`duet rotate`): request.  May be repeated\n"   \
	"      --keep-last WHAT  of finished pieces keep the newest only: SIZE (20G), TIME (7d) or a number\n" \
	"      --compress zstd[:LEVEL]  compress finished pieces, or with --to what the link carries; level 1\n" \
	"                        (default) to 19\n"                                                              \
	"      --sync WHEN       force onto the disk: never (default), rotate (finished pieces), or each\n"  \
	"                        TIME (1s)\n"

/* pieces_take - the option @c with optarg is one of these.  -1 if so, having taken it; CMD_FAILED, having said
 * why not; -2 if it is none. */
int pieces_take(const char *verb, struct pieces_options *o, int c);
/* pieces_check - after the last option and send_check.  0, or CMD_FAILED having said why. */
int pieces_check(const char *verb, struct recorder_options *o, struct send *s);

/* pieces_take_level - what --compress says, into @to: 1 .. 19.  -1, or CMD_FAILED having said why not. */
int pieces_take_level(const char *verb, const char *text, int *to);

/* pieces_print - what was done with them, at the end, on standard error. */
void pieces_print(const char *verb, const struct recorder_result *r);

#endif
