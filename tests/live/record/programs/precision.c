/* SPDX-License-Identifier: MIT */
/*
 * tests/live/record/programs/precision.c - marks whose strings have a precision and no NUL, each at the end of a page
 * behind which nothing is mapped.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "duet/duet.h"

enum { PAGE = 4096, PAGES = 4 };

/* @text at the end of the last mapped page, without its NUL. */
static const char *at_the_end(const char *text, size_t n)
{
	static char *memory;

	if (!memory) {
		memory = mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED || mprotect(memory + PAGES * PAGE, PAGE, PROT_NONE))
			return NULL;
	}
	return memcpy(memory + PAGES * PAGE - n, text, n);
}

int main(void)
{
	static char large[2000];
	const char *text = at_the_end("abcdef", 6);

	if (!text)
		return 3;
	trace_mark(precision, fixed, "text %.3s after %d", text + 3, 1);
	trace_mark(precision, argument, "text %.*s after %d", 6, text, 2);
	trace_mark(precision, none, "text %.s after %d", text + 6, 3);
	trace_mark(precision, shorter, "text %.100s after %d", "short", 4);
	trace_mark(precision, negative, "text %.*s after %d", -1, "whole", 5);
	trace_mark(precision, number, "real %.*f text %s", 2, 1.5, "not cut");
	trace_mark(precision, two, "a %.2s b %-9.4s c %s", text, text + 2, "plain");
	memset(large, 'x', sizeof large);
	text = at_the_end(large, sizeof large);
	trace_mark(precision, large, "text %.2000s after %d", text, 6);
	trace_mark(precision, large_argument, "text %.*s after %d", (int)sizeof large, text, 7);
	return 0;
}
