/* SPDX-License-Identifier: MIT */
/*
 * tests/live/kernel/programs/tree.c - calls with known numbers, system calls, waits and preemption.
 *
 *	tree ROUNDS
 *
 * Each of two threads calls tree_round ROUNDS times.  A round calls tree_work (which recurses 5 deep
 * and writes once), tree_nap (sleeps 1 ms) each hundredth time, and leaves tree_jump by longjmp.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

static int null_fd;
static volatile unsigned sink;

KEPT void tree_work(int depth)
{
	for (unsigned i = 0; i < 30; i++)
		sink += i;
	if (depth)
		tree_work(depth - 1);
	else if (write(null_fd, "x", 1) != 1)
		abort();
	sink++;
}

KEPT void tree_nap(void)
{
	const struct timespec ms = { 0, 1000000 };

	nanosleep(&ms, NULL);
	sink++;
}

KEPT void tree_jump(jmp_buf *back)
{
	sink++;
	longjmp(*back, 1);
}

KEPT void tree_round(int i)
{
	jmp_buf back;

	tree_work(5);
	if (i % 100 == 0)
		tree_nap();
	if (!setjmp(back))
		tree_jump(&back);
	sink++;
}

KEPT void *tree_thread(void *arg)
{
	for (int i = 0; i < *(int *)arg; i++)
		tree_round(i);
	sink++;
	return NULL;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1000;
	pthread_t thread;

	null_fd = open("/dev/null", O_WRONLY);
	if (pthread_create(&thread, NULL, tree_thread, &rounds))
		return 1;
	tree_thread(&rounds);
	return pthread_join(thread, NULL) != 0;
}
