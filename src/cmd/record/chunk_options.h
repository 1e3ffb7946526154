/* SPDX-License-Identifier: MIT */
/* cmd/record/chunk_options.h - how a recording is divided, compressed and kept on disk. */
#ifndef CMD_RECORD_CHUNK_OPTIONS_H
#define CMD_RECORD_CHUNK_OPTIONS_H

#include "cmd/options.h"
#include "cmd/remote/send.h"
#include "collect/chunks/public.h"
#include "collect/public.h"

/*
 * Functions for struct option_row; their part is a struct trace_chunks_options.
 *
 * trace_chunks_take_disk - with detail 1 the floor, else the limit.
 */
option_take trace_chunks_take_rotate, trace_chunks_take_keep, trace_chunks_take_compress,
	trace_chunks_take_sync, trace_chunks_take_disk;

/*
 * trace_chunks_check - check the options after the last one, after send_check.  Returns 0, or
 * CMD_FAILED after a message.
 */
int trace_chunks_check(const char *verb, struct recorder_options *o, struct send *s);

/* trace_chunks_parse_level - set @to to the level that the value of --compress asks for, 1 to 19.
 * Returns 0, or CMD_FAILED after it printed why not. */
int trace_chunks_parse_level(const char *verb, const char *text, int *to);

/*
 * trace_chunks_print - print the number of chunks, and those removed and compressed, on standard
 * error.
 */
void trace_chunks_print(const char *verb, const struct recorder_result *r, bool is_gone);

#endif
