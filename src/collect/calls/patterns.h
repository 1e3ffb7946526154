/* SPDX-License-Identifier: MIT */
/* collect/calls/patterns.h - the patterns of --graph: functions of the kernel, and of programs. */
#ifndef COLLECT_CALLS_PATTERNS_H
#define COLLECT_CALLS_PATTERNS_H

#include <stdbool.h>

enum { CALLS_DEPTH_MAX = 65535 }; /* of --graph-depth */

/*
 * calls_next_pattern - cut the next pattern of the list @rest.
 *
 * Patterns are divided by commas that are not between brackets: C++ names have some there.  Moves
 * *@rest past it; NULL at the end.
 */
char *calls_next_pattern(char **rest);

/* calls_pattern_is_program - whether it is FILE:FUNCTION.  "mod:xfs" is the kernel's, also behind a
 * glob: "ext4_*:mod:ext4". */
bool calls_pattern_is_program(const char *pattern);

/* calls_pattern_is_whole - whether FILE and FUNCTION of such a pattern have characters. */
bool calls_pattern_is_whole(const char *pattern);

#endif
