/* SPDX-License-Identifier: MIT */
/*
 * functions THREADS ROUNDS [wait]: each thread calls work() ROUNDS times, which calls leaf() twice.
 *
 * With "wait", work() is called once a millisecond until the input ends; ROUNDS does not count.  With
 * "stay", threads wait inside deep() after their rounds, until they are killed.  It prints
 * "work leaf" at the end: how often they were called.  Not linked with libduet.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noclone, used))

static atomic_long n_work, n_leaf;
static volatile int sink;
static long rounds;
static const char *how = "";

static FUNCTION void leaf(int n)
{
	for (int i = 0; i < 20; i++)
		sink = sink * 3 + n;
	atomic_fetch_add(&n_leaf, 1);
}

static FUNCTION void work(int n)
{
	sink = n; /* a function that begins with a call cannot be patched */
	leaf(n);
	leaf(n + 1);
	atomic_fetch_add(&n_work, 1);
}

static FUNCTION void deep(int n)
{
	if (n)
		deep(n - 1);
	else
		pause();
	sink = n;
}

static void wake(int unused)
{
	(void)unused; /* ends pause() */
}

static bool input_has_ended(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	char c;

	return poll(&p, 1, 0) > 0 && read(STDIN_FILENO, &c, 1) <= 0;
}

static void *run(void *unused)
{
	(void)unused;
	if (!strcmp(how, "wait"))
		for (int i = 0; !input_has_ended(); i++, usleep(1000))
			work(i);
	else
		for (long i = 0; i < rounds; i++)
			work((int)i);
	if (!strcmp(how, "stay"))
		deep(5);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[64];

	signal(SIGUSR1, wake);
	rounds = argc > 2 ? atol(argv[2]) : 1;
	how = argc > 3 ? argv[3] : "";
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("%ld %ld\n", atomic_load(&n_work), atomic_load(&n_leaf));
	return 0;
}
