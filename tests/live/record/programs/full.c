/* SPDX-License-Identifier: MIT */
/*
 * tests/live/record/programs/full.c - fills the file system of the runtime directory, then starts threads that call functions.
 *
 * usage: full FILE        a file there
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 20, THREADS = 20, CALLS = 1000 };

__attribute__((noinline)) static long leaf(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static void *in_thread(void *arg)
{
	long sum = 0;

	for (long i = 0; i < CALLS; i++)
		sum += leaf(i);
	return sum ? NULL : arg;
}

static int fill(const char *path)
{
	static char bytes[65536];
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	if (fd < 0)
		return 1;
	while (write(fd, bytes, sizeof bytes) > 0)
		;
	while (write(fd, bytes, 512) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	leaf(1);
	if (argc < 2 || fill(argv[1]))
		return 3;
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < THREADS; i++)
			if (pthread_create(&threads[i], NULL, in_thread, NULL))
				return 4;
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	puts("alive");
	return 0;
}
