/* SPDX-License-Identifier: MIT */
/*
 * tests/live/record/programs/bracket.c - write(2), each between a marker (figure 2 of the UST paper) and a
 * typed event (figure 3).  Compiled as C and as C++.
 *
 * usage: program ROUNDS
 */
#include <duet/duet.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

DUET_EVENT(paper, after, (int, arg), (str, other), (u64, sum));

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1, fd = open("/dev/null", O_WRONLY);
	unsigned long long sum = 0;
	char text[32];

	for (int i = 0; i < rounds; i++) {
		snprintf(text, sizeof text, "number %d", i);
		sum += (unsigned long long)i * 7;
		trace_mark(paper, before, "arg %d other %s", i, text);
		if (write(fd, text, (size_t)(i % 30) + 1) < 0)
			return 1;
		trace_paper_after(i, text, sum);
	}
	return 0;
}
