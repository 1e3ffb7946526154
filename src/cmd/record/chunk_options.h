/* SPDX-License-Identifier: MIT */
/* cmd/record/chunk_options.h - how a recording lies on disk: the options that record, collect and
 * start share. */
#ifndef CMD_RECORD_CHUNK_OPTIONS_H
#define CMD_RECORD_CHUNK_OPTIONS_H

#include <getopt.h>

#include "cmd/remote/send.h"
#include "collect/chunks/chunks.h"
#include "collect/recorder.h"

/* Values for getopt_long, beyond those of cmd/remote/send.h. */
enum { TRACE_CHUNKS_ROTATE = 640, TRACE_CHUNKS_KEEP, TRACE_CHUNKS_COMPRESS, TRACE_CHUNKS_SYNC };

#define TRACE_CHUNKS_OPTIONS                                                                       \
	{ "rotate", required_argument, NULL, TRACE_CHUNKS_ROTATE },                                \
		{ "keep-last", required_argument, NULL, TRACE_CHUNKS_KEEP },                       \
		{ "compress", required_argument, NULL, TRACE_CHUNKS_COMPRESS },                    \
	{                                                                                          \
		"sync", required_argument, NULL, TRACE_CHUNKS_SYNC                                 \
	}

#define TRACE_CHUNKS_HELP                                                                          \
	"      --rotate WHEN     in pieces, each a recording of its own: a new one after SIZE "    \
	"(1G), TIME\n"                                                                             \
	"                        (10min), or only when asked (`duet rotate`): request.  May be "   \
	"repeated\n"                                                                               \
	"      --keep-last WHAT  of finished pieces keep the newest only: SIZE (20G), TIME (7d) "  \
	"or a number\n"                                                                            \
	"      --compress zstd[:LEVEL]  compress finished pieces, or with --to what the link "     \
	"carries; level 1\n"                                                                       \
	"                        (default) to 19\n"                                                \
	"      --sync WHEN       force onto the disk: never (default), rotate (finished pieces), " \
	"or each\n"                                                                                \
	"                        TIME (1s)\n"

/* trace_chunks_take - the option @c with optarg is one of these.  -1 if so, having taken it;
 * CMD_FAILED, having said why not; -2 if it is none. */
int trace_chunks_take(const char *verb, struct trace_chunks_options *o, int c);
/* trace_chunks_check - after the last option and send_check.  0, or CMD_FAILED having said why. */
int trace_chunks_check(const char *verb, struct recorder_options *o, struct send *s);

/* trace_chunks_take_level - what --compress says, into @to: 1 .. 19.  -1, or CMD_FAILED having said
 * why not. */
int trace_chunks_take_level(const char *verb, const char *text, int *to);

/* trace_chunks_print - what was done with them, at the end, on standard error. */
void trace_chunks_print(const char *verb, const struct recorder_result *r);

#endif
