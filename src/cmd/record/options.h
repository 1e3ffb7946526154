/* SPDX-License-Identifier: MIT */
/*
 * cmd/record/options.h - the table of options that duet record, start and collect share.
 *
 * duet send, relay, enable and disable take some of its rows, too.  A new option is a row in one of
 * the .def files of this directory; its help and the manual pages of record, start and collect come
 * from the row (tests/man/options.py writes them).
 */
#ifndef CMD_RECORD_OPTIONS_H
#define CMD_RECORD_OPTIONS_H

#include "cmd/options.h"
#include "collect/session/public.h"

/* Bits of option_row.verbs. */
enum {
	VERB_RECORD = 1 << 0,
	VERB_START = 1 << 1,
	VERB_COLLECT = 1 << 2,
	VERB_SEND = 1 << 3,
	VERB_RELAY = 1 << 4,
	VERB_ENABLE = 1 << 5,
	VERB_DISABLE = 1 << 6,
	RECORDING_VERBS = VERB_RECORD | VERB_START | VERB_COLLECT
};

/* Indices in options.parts. */
enum {
	PART_OWN,	/* the verb's own structure */
	PART_RECORDING, /* struct recording */
	PART_SEND,	/* struct send */
	PART_CHUNKS,	/* struct trace_chunks_options */
	PART_SELECTOR,	/* struct selector_target */
};

/* Where --program, --uid, --container and --cgroup of a verb go. */
struct selector_target {
	/* Returns 0, or CMD_FAILED after it printed why not. */
	int (*add)(void *arg, enum selector_kind kind, const char *list);
	void *arg;
};

extern const struct option_table recording_options;

#endif
