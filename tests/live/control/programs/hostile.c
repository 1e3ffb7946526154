/* SPDX-License-Identifier: MIT */
/*
 * hostile NAME [VALUE]: a program whose process and threads have NAME, and whose events have VALUE; its functions have
 * names that no compiler gives.  It writes an event for each line of its input, and answers it.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "duet/duet.h"

DUET_EVENT(hostile, order, (i32, id), (str, text));

/* The assembler takes any bytes in quotes. */
int titled(int n) __asm__("\"title\033]0;pwned\007\"");
__attribute__((noipa)) int titled(int n)
{
	return n + 1;
}

int turned(int n) __asm__("\"turn\xe2\x80\xae\xc2\x9b\"");
__attribute__((noipa)) int turned(int n)
{
	return n + 2;
}

static const char *name;

static void *sleep_for_ever(void *unused)
{
	prctl(PR_SET_NAME, name);
	for (;;)
		pause();
	return unused;
}

int main(int argc, char **argv)
{
	char line[64];
	pthread_t thread;

	name = argc > 1 ? argv[1] : "hostile";
	prctl(PR_SET_NAME, name);
	if (pthread_create(&thread, NULL, sleep_for_ever, NULL))
		return 2;
	printf("ready\n");
	fflush(stdout);
	for (int i = 0; fgets(line, sizeof line, stdin); i++) {
		trace_hostile_order(turned(titled(i)), argc > 2 ? argv[2] : "");
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
