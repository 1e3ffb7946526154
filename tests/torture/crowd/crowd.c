/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/crowd/crowd.c - very many threads, or processes, at once or one after the other.
 *
 * usage: crowd threads N EVENTS       all alive at once
 *        crowd processes N EVENTS     forked, all alive at once
 *        crowd lives N EVENTS WIDTH [MS]   executed, WIDTH at a time, each for MS milliseconds
 *        crowd one I EVENTS [MS]           one of them
 */
#include <duet/duet.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

DUET_EVENT(crowd, step, (i32, who), (i32, i));

static int n, events;
static sem_t *here, *go; /* shared */

static void steps(int who)
{
	for (int i = 0; i < events; i++)
		trace_crowd_step(who, i);
}

/* A half before all are there, a half after. */
static void live(int who)
{
	int whole = events;

	events = whole / 2;
	steps(who);
	sem_post(here);
	while (sem_wait(go) && errno == EINTR)
		;
	for (int i = events; i < whole; i++)
		trace_crowd_step(who, i);
	events = whole;
}

static void *live_in_thread(void *arg)
{
	int who = (int)(long)arg, whole = events;

	for (int i = 0; i < whole / 2; i++)
		trace_crowd_step(who, i);
	sem_post(here);
	sem_wait(go);
	for (int i = whole / 2; i < whole; i++)
		trace_crowd_step(who, i);
	return NULL;
}

static void let_all_go(int made)
{
	for (int i = 0; i < made; i++)
		while (sem_wait(here) && errno == EINTR)
			;
	for (int i = 0; i < made; i++)
		sem_post(go);
}

static int threads(void)
{
	pthread_t *t = calloc((size_t)n, sizeof *t);
	pthread_attr_t a;
	int made;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 64 << 10);
	for (made = 0;
	     made < n && !pthread_create(&t[made], &a, live_in_thread, (void *)(long)made); made++)
		;
	let_all_go(made);
	for (int i = 0; i < made; i++)
		pthread_join(t[i], NULL);
	free(t);
	return made;
}

static int processes(void)
{
	int made;

	for (made = 0; made < n; made++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (!pid) {
			live(made);
			_exit(0);
		}
	}
	let_all_go(made);
	while (wait(NULL) > 0)
		;
	return made;
}

static int lives(const char *self, const char *number, int width, const char *ms)
{
	volatile int alive = 0, made; /* vfork returns twice */
	char who[16];

	for (made = 0; made < n; made++) {
		pid_t pid = vfork();

		if (!pid) {
			snprintf(who, sizeof who, "%d", made);
			execl(self, self, "one", who, number, ms, (char *)NULL);
			_exit(127);
		}
		if (pid < 0)
			break;
		if (++alive >= width && wait(NULL) > 0)
			alive--;
	}
	while (wait(NULL) > 0)
		;
	return made;
}

int main(int argc, char **argv)
{
	sem_t *s;

	if (argc < 4)
		return 2;
	n = atoi(argv[2]);
	events = atoi(argv[3]);
	if (!strcmp(argv[1], "one")) {
		steps(n);
		if (argc > 4 && atoi(argv[4]))
			usleep((useconds_t)atoi(argv[4]) * 1000);
		return 0;
	}
	s = mmap(NULL, 2 * sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return 2;
	here = &s[0];
	go = &s[1];
	sem_init(here, 1, 0);
	sem_init(go, 1, 0);
	if (!strcmp(argv[1], "threads"))
		printf("%d\n", threads());
	else if (!strcmp(argv[1], "processes"))
		printf("%d\n", processes());
	else
		printf("%d\n", lives(argv[0], argv[3], argc > 4 ? atoi(argv[4]) : 1,
				     argc > 5 ? argv[5] : "0"));
	return 0;
}
