/* SPDX-License-Identifier: MIT */
/*
 * program.c - known call stacks: outer calls left 30 times and right 10 times, each calls leaf,
 * which emits.  Two threads wake each other.  Frame pointers are kept, nothing is inlined.
 */
#include <pthread.h>
#include <unistd.h>

#include <duet/duet.h>

DUET_EVENT(job, step, (i32, id), (u64, size));
DUET_EVENT(job, begin, (i32, id));
DUET_EVENT(job, end, (i32, id));

#define KEPT __attribute__((noinline, noclone))
#define STAY() __asm__ volatile("" ::: "memory")

KEPT void leaf(int id);
KEPT void left(int id);
KEPT void right(int id);
KEPT void outer(void);

KEPT void leaf(int id)
{
	trace_job_step(id, 100);
	STAY();
}

KEPT void left(int id)
{
	leaf(id);
	STAY();
}

KEPT void right(int id)
{
	leaf(id);
	STAY();
}

KEPT void outer(void)
{
	for (int i = 0; i < 40; i++) {
		trace_job_begin(i);
		if (i % 4)
			left(i);
		else
			right(i);
		trace_job_end(i);
	}
	STAY();
}

static void *answer(void *argument)
{
	int *fds = argument;
	char c;

	while (read(fds[0], &c, 1) == 1)
		if (write(fds[3], &c, 1) != 1)
			break;
	return NULL;
}

int main(void)
{
	pthread_t other;
	int fds[4];
	char c = 'x';

	if (pipe(fds) || pipe(fds + 2))
		return 1;
	pthread_create(&other, NULL, answer, fds);
	outer();
	for (int i = 0; i < 20; i++)
		if (write(fds[1], &c, 1) != 1 || read(fds[2], &c, 1) != 1)
			return 1;
	close(fds[1]);
	pthread_join(other, NULL);
	usleep(20000);
	return 0;
}
