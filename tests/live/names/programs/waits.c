/* SPDX-License-Identifier: MIT */
/*
 * waits - "hog": a victim computes on one CPU until a hog there has had its time; else it waits for a
 * lock of its other thread and for one of a file.
 *
 * Each wait is certain, however busy the machine is: the victim wants the CPU as long as the hog
 * computes, and a holder keeps its lock until the kernel shows that the other one sleeps.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t account_lock = PTHREAD_MUTEX_INITIALIZER;

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ 0, ms * 1000000 }, NULL);
}

/* Whether process @pid sleeps: its first thread. */
static bool is_asleep(pid_t pid)
{
	char path[64], text[512], *state;
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (f) {
		n = fread(text, 1, sizeof text - 1, f);
		fclose(f);
	}
	text[n] = 0;
	state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] == 'S';
}

static volatile bool is_held, is_wanted;

static void *hold(void *ignored)
{
	pthread_mutex_lock(&account_lock);
	is_held = true;
	while (!is_wanted || !is_asleep(getpid()))
		sleep_ms(1);
	sleep_ms(20);
	pthread_mutex_unlock(&account_lock);
	return ignored;
}

static __attribute__((noinline)) int take(void)
{
	pthread_mutex_lock(&account_lock);
	return pthread_mutex_unlock(&account_lock);
}

static void wait_for_file(const char *path)
{
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600), other, ready[2];
	char byte;
	pid_t child;

	flock(fd, LOCK_EX);
	if (pipe(ready))
		_exit(1);
	child = fork();
	if (!child) {
		other = open(path, O_RDWR | O_CLOEXEC);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		flock(other, LOCK_EX);
		_exit(0);
	}
	if (read(ready[0], &byte, 1) != 1)
		_exit(1);
	while (!is_asleep(child))
		sleep_ms(1);
	sleep_ms(20);
	flock(fd, LOCK_UN);
	wait(NULL);
}

enum { HOG_MS = 150 };

static long cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int compete(void)
{
	volatile bool *is_over = mmap(NULL, sizeof *is_over, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cpu_set_t one;

	if (is_over == MAP_FAILED)
		return 1;
	CPU_ZERO(&one);
	CPU_SET((unsigned)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof one, &one);
	if (!fork()) {
		prctl(PR_SET_NAME, "hog");
		while (cpu_ms() < HOG_MS)
			;
		*is_over = true;
		_exit(0);
	}
	prctl(PR_SET_NAME, "victim");
	while (!*is_over)
		;
	wait(NULL);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t other;

	if (argc > 1 && !strcmp(argv[1], "hog"))
		return compete();
	pthread_create(&other, NULL, hold, NULL);
	while (!is_held)
		sleep_ms(1);
	is_wanted = true;
	if (take()) /* line of the call */
		return 1;
	pthread_join(other, NULL);
	wait_for_file(argv[1]);
	return 0;
}
