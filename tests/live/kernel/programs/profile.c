/* SPDX-License-Identifier: MIT */
/*
 * Works in known functions: `program SECONDS` of CPU time in busy_user, as much in busy_kernel, and
 * a child and a thread that do the same.  Prints the CPU time (s) of all of them, and the child's
 * number.  With an argument before, it prints "ready" and waits for SIGUSR1 before it forks; then it
 * prints the child's number, and both wait for SIGUSR1.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long spun;

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void busy_user(double seconds)
{
	for (double end = cpu_s() + seconds; cpu_s() < end;)
		for (int i = 0; i < 100000; i++)
			spun += (unsigned)i;
}

__attribute__((noinline)) static void busy_kernel(double seconds)
{
	static char bytes[1 << 20];
	int fd = open("/dev/zero", O_RDONLY);

	for (double end = cpu_s() + seconds; cpu_s() < end;)
		spun += (unsigned long)read(fd, bytes, sizeof bytes);
	close(fd);
	spun++;
}

__attribute__((noinline)) static void work(double seconds)
{
	busy_user(seconds);
	busy_kernel(seconds);
	spun++;
}

static void *thread(void *seconds)
{
	work(*(double *)seconds);
	return NULL;
}

static double used_s(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

int main(int argc, char **argv)
{
	double seconds = atof(argv[argc - 1]);
	sigset_t usr1;
	pthread_t t;
	pid_t child;
	int sig;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	if (argc > 2) {
		printf("ready\n");
		fflush(stdout);
		sigwait(&usr1, &sig);
	}
	child = fork();
	if (argc > 2) {
		if (child)
			printf("%d\n", (int)child);
		fflush(stdout);
		sigwait(&usr1, &sig);
	}
	if (!child) {
		work(seconds);
		spun++;
		return 0;
	}
	pthread_create(&t, NULL, thread, &seconds);
	work(seconds);
	pthread_join(t, NULL);
	waitpid(child, NULL, 0);
	printf("%f %d\n", used_s(RUSAGE_SELF) + used_s(RUSAGE_CHILDREN), (int)child);
	return 0;
}
