/* SPDX-License-Identifier: MIT */
/*
 * tests/live/tenants/programs/tenants.c - records as many events as each line of its input requests,
 * half of them in a thread of its own if the line ends with "t", and reports each line when it is
 * done.  After "s" instead that thread stays.
 *
 * usage: program [N]       N: as if this were the first line, before any output
 */
#include <duet/duet.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

DUET_EVENT(tenants, tick, (i32, uid), (i32, pid), (i32, tid), (i32, n));
DUET_EVENT_LEVEL(levels, DUET_WARNING, alarm, (i32, n)); /* with each tick */

static int n;
static sem_t recorded;

static void record(int times)
{
	for (int i = 0; i < times; i++) {
		trace_levels_alarm(n);
		trace_tenants_tick((int)geteuid(), (int)getpid(), (int)syscall(SYS_gettid), n++);
	}
}

static void *in_thread(void *times)
{
	record(*(int *)times);
	return NULL;
}

static void *in_thread_that_stays(void *times)
{
	record(*(int *)times);
	sem_post(&recorded);
	for (;;)
		pause();
	return NULL;
}

static void do_line(const char *line)
{
	int times = atoi(line), half = times / 2;
	pthread_t thread;

	if (strchr(line, 's')) {
		pthread_create(&thread, NULL, in_thread_that_stays, &half);
		sem_wait(&recorded);
	} else if (strchr(line, 't')) {
		pthread_create(&thread, NULL, in_thread, &half);
		pthread_join(thread, NULL);
	} else {
		half = 0;
	}
	record(times - half);
}

int main(int argc, char **argv)
{
	char line[64];

	sem_init(&recorded, 0, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1)
		do_line(argv[1]);
	printf("ready %d\n", (int)getpid());
	while (fgets(line, sizeof line, stdin)) {
		do_line(line);
		printf("done %d\n", n);
	}
	return 0;
}
