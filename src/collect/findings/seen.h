/* SPDX-License-Identifier: MIT */
/*
 * collect/findings/seen.h - whether the programs of a session had what its rules ask for.
 *
 * A rule that matches nothing looks like a program that did nothing.  So the patterns of the rules
 * are watched, and compared with each control page before it goes: when its program has ended, and
 * at the end of the session.
 *
 *   (1) a pattern is compared with the pages that are read after its rule was made
 *   (2) memory is bounded: beyond SEEN_MAX patterns nothing is said about the others
 *   (3) what pages hold is never trusted: texts are cut, control characters are replaced
 *
 * struct seen is zero at first.  It lies in the memory that a killed collector leaves to its
 * successor (collect/handover/handover.h), and has no pointers.  One thread.
 */
#ifndef COLLECT_FINDINGS_SEEN_H
#define COLLECT_FINDINGS_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/options/finding.h"
#include "collect/options/options.h"
#include "collect/session/programs.h"
#include "collect/session/session.h"
#include "rules/nearest.h"

enum { SEEN_MAX = 48, SEEN_PATTERN_BYTES = 96 };

/* A pattern of a rule. */
struct seen_pattern {
	uint32_t kind;	 /* enum finding_kind */
	uint32_t number; /* of the channel */
	bool exists;	 /* a program has such an event, or such a name */
	bool is_enabled; /* and it was enabled */
	char pattern[SEEN_PATTERN_BYTES];
	char near[NEAREST_MAX];	      /* a name like it, or "" */
	uint32_t distance;	      /* of `near` */
	char program[ABI_NAME_BYTES]; /* the first that has it */
};

struct seen {
	uint32_t n, n_programs;
	struct seen_pattern at[SEEN_MAX];
	bool has_more_full;	   /* besides the one below */
	char full[ABI_NAME_BYTES]; /* the program with more events than fit that lacks most ... */
	uint32_t n_refused;	   /* ... and the number of events that it lacks */
	struct findings noted;	   /* findings found while it recorded */
};

/* seen_page - compare the page of program @a with the rules of @s, if it belongs to that session. */
void seen_page(struct seen *k, const struct abi_session *s, const struct program *a);

/*
 * seen_conclude - at the end: add to @to what found nothing.
 *
 * Call it when all pages were seen and while the session's pools are mapped: an event that a
 * program emitted is registered there.
 */
void seen_conclude(const struct seen *k, const struct session *s, struct findings *to);

/* findings_add - add one line, or count it in `more`. */
void findings_add(struct findings *to, enum finding_kind kind, const char *subject,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

/*
 * findings_add_running - name the processes that run on after the command of session @session, as
 * their environment shows.
 */
void findings_add_running(struct findings *to, const char *session, const char *command);

#endif
