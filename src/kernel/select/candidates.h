/* SPDX-License-Identifier: MIT */
/*
 * kernel/select/candidates.h - the events that can be recorded, and whether a pattern matches one.
 *
 * Pure: works on the text of tracefs' `available_events`.
 */
#ifndef KERNEL_SELECT_CANDIDATES_H
#define KERNEL_SELECT_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>

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

/* One pattern of a set: `sched` has several. */
struct kernel_event_set {
	const char *set, *pattern;
};
/* kernel_event_set - row @i of all sets, from 0; NULL behind the last. */
const struct kernel_event_set *kernel_event_set(size_t i);

enum { KERNEL_CALL_PATTERN_BYTES = 96 };
/*
 * kernel_call_pattern - "openat" means the system call: make the pattern of its entry and its exit.
 * False if there is no call @name.
 */
bool kernel_call_pattern(const char *name, char pattern[KERNEL_CALL_PATTERN_BYTES]);
/*
 * kernel_pattern_has - whether @pattern without "!", perhaps a set or the name of a system call, has
 * the event that kernel_list reports as @tracefs_name and @name.
 */
bool kernel_pattern_has(const char *pattern, const char *tracefs_name, const char *name);

/*
 * kernel_candidate_of_name - the system and the event whose name differs from duet's @name.
 *
 * @system, @event: of 96 bytes.  False if none of the renamed events is called so; they are then
 * unchanged.
 */
bool kernel_candidate_of_name(const char *name, char system[96], char event[96]);

#endif
