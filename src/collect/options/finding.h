/* SPDX-License-Identifier: MIT */
/*
 * collect/options/finding.h - what a user asked for and a recording did not find, one line each.
 *
 * Plain data without pointers, as collect/options/result.h, of which it is a part.
 */
#ifndef COLLECT_OPTIONS_FINDING_H
#define COLLECT_OPTIONS_FINDING_H

#include <stdint.h>

enum finding_kind {
	FINDING_EVENT,	   /* a pattern of -e that recorded nothing */
	FINDING_EXCLUSION, /* one with "!" that left out nothing */
	FINDING_CHANNEL,   /* a pattern of a channel that no event matched */
	FINDING_PROGRAM,   /* a glob of --program that no program matched */
	FINDING_FILTER,	   /* a filter that no event of its pattern can pass */
	FINDING_ROOM,	   /* a program with more events than fit */
	FINDING_RUNNING,   /* processes that run on after the command */
	FINDING_KINDS
};

enum { FINDINGS_MAX = 12, FINDING_SUBJECT_BYTES = 96, FINDING_TEXT_BYTES = 224 };

struct finding {
	uint32_t kind;			     /* enum finding_kind */
	char subject[FINDING_SUBJECT_BYTES]; /* the pattern or the name, as the user wrote it */
	char text[FINDING_TEXT_BYTES];	     /* the whole line */
};

struct findings {
	uint32_t n;
	uint32_t more; /* for which there was no room */
	struct finding at[FINDINGS_MAX];
};

#endif
