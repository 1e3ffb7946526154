/* SPDX-License-Identifier: MIT */
/*
 * tests/live/control/programs/concurrent.c - threads that count, each for itself, until SIGTERM.
 *
 * usage: program THREADS [FORKS]     FORKS children, one after the other; each counts to 300
 *
 * Prints "ready PID", and at the end how far each thread has counted: "thread T COUNT".  Each count
 * is a many:small and a many:word; each 16th a many:large, which is too large for the stack; each
 * 8th a mark.
 */
#include <duet/duet.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

DUET_EVENT(many, small, (i32, thread), (i64, n));
DUET_EVENT(many, word, (i32, thread), (i64, n), (str, text));
DUET_EVENT(many, large, (i32, thread), (i64, n), (str, text), (str, end));

enum { THREADS = 16, CHILD_COUNTS = 300 };

static volatile sig_atomic_t over;
static char large[2000];
static long counts[THREADS];

static void on_term(int sig)
{
	(void)sig;
	over = 1;
}

static void count(int thread, long n)
{
	trace_many_small(thread, n);
	trace_many_word(thread, n, "a word");
	if (n % 16 == 0)
		trace_many_large(thread, n, large, "end");
	if (n % 8 == 0)
		trace_mark(many, marked, "thread %d n %ld", thread, n);
}

static void *run(void *arg)
{
	int thread = (int)(long)arg;

	while (!over) {
		count(thread, counts[thread]++);
		usleep(500);
	}
	return NULL;
}

static void child(void)
{
	for (int n = 0; n < CHILD_COUNTS; n++)
		count(0, n);
	_exit(0);
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1, forks = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t id[THREADS];

	if (threads < 1 || threads > THREADS)
		return 2;
	for (unsigned i = 0; i < sizeof large - 1; i++)
		large[i] = (char)('a' + i % 26);
	signal(SIGTERM, on_term);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %d\n", (int)getpid());
	for (long i = 0; i < threads; i++)
		pthread_create(&id[i], NULL, run, (void *)i);
	for (int i = 0; i < forks && !over; i++) {
		pid_t pid = fork();

		if (!pid)
			child();
		printf("child %d\n", (int)pid);
		waitpid(pid, NULL, 0);
		usleep(20000);
	}
	for (int i = 0; i < threads; i++)
		pthread_join(id[i], NULL);
	for (int i = 0; i < threads; i++)
		printf("thread %d %ld\n", i, counts[i]);
	return 0;
}
