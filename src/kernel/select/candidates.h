/* SPDX-License-Identifier: MIT */
/*
 * kernel/select/candidates.h - the events that can be recorded, and whether a pattern matches one.
 *
 * Pure: works on the text of tracefs' `available_events`.
 */
#ifndef KERNEL_SELECT_CANDIDATES_H
#define KERNEL_SELECT_CANDIDATES_H

#include <stdbool.h>

/* An event that can be recorded. @nr: the system call's number, else -1. */
struct kernel_candidate {
	const char *name; /* duet's name */
	const char *system;
	const char *event;
	int nr;
	bool is_entry;
};

/* kernel_each_candidate - call @each for all events, system calls last. Stops when it returns
 * non-zero, and returns that. */
int kernel_each_candidate(const char *available,
			  int (*each)(void *, const struct kernel_candidate *), void *arg);

/* kernel_pattern_matches - whether a pattern, without sets and !, matches an event. */
bool kernel_pattern_matches(const char *pattern, const char *system, const char *event,
			    const char *name);

#endif
