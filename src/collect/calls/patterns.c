/* SPDX-License-Identifier: MIT */
/* collect/calls/patterns.c - cut a list of --graph; separate programs from the kernel. */
#include "collect/calls/patterns.h"

#include <string.h>

char *calls_next_pattern(char **rest)
{
	char *begin = *rest, *p;
	int depth = 0;

	if (!begin)
		return NULL;
	for (p = begin; *p && (*p != ',' || depth); p++) {
		if (*p == '(' || *p == '<')
			depth++;
		else if ((*p == ')' || *p == '>') && depth)
			depth--;
	}
	*rest = *p ? p + 1 : NULL;
	*p = 0;
	return begin;
}

bool calls_pattern_is_program(const char *pattern)
{
	pattern += *pattern == '!';
	return strchr(pattern, ':') && strncmp(pattern, "mod:", 4) && !strstr(pattern, ":mod:");
}

bool calls_pattern_is_whole(const char *pattern)
{
	size_t file = strcspn(pattern + (*pattern == '!'), ":");

	pattern += (*pattern == '!') + file;
	return file && *pattern == ':' && pattern[1] && strcmp(pattern, ":@") != 0;
}
