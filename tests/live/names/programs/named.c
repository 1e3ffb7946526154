/* SPDX-License-Identifier: MIT */
/* Threads that name themselves, as those of Java do, and a child; each calls step(). */
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) void step(int i);

void step(int i)
{
	__asm__ volatile("" ::"r"(i));
}

static void *run(void *name)
{
	prctl(PR_SET_NAME, name);
	step(1);
	return NULL;
}

int main(void)
{
	static char names[2][16] = { "GC Thread#0", "http-nio-8080" };
	pthread_t threads[2];
	pid_t child;

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run, names[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	child = fork();
	if (!child) {
		prctl(PR_SET_NAME, "backend");
		step(2);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	step(3);
	return 0;
}
