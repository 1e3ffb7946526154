/* SPDX-License-Identifier: MIT */
/*
 * tests/cmd/trouble/program.c - records numbers, one per millisecond, until it is killed.
 *
 * usage: program [first | second] [timer]      which event; timer: a signal every half millisecond
 */
#include <duet/duet.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

DUET_EVENT(trouble, first, (i32, n));
DUET_EVENT(trouble, second, (i32, n), (str, text));

static void nothing(int signal)
{
	(void)signal;
}

int main(int argc, char **argv)
{
	const struct itimerval often = { { 0, 500 }, { 0, 500 } };
	const struct timespec ms = { 0, 1000000 };

	if (argc > 2 && !strcmp(argv[2], "timer")) {
		struct sigaction a = { .sa_handler = nothing };

		sigaction(SIGALRM, &a, NULL);
		setitimer(ITIMER_REAL, &often, NULL);
	}
	printf("ready\n");
	fflush(stdout);
	for (int i = 0;; i++) {
		if (argc > 1 && !strcmp(argv[1], "second"))
			trace_trouble_second(i, "some text, so that files grow");
		else
			trace_trouble_first(i);
		nanosleep(&ms, NULL);
	}
}
