/* SPDX-License-Identifier: MIT */
/* waits - "hog": a victim and a hog compute for half a second on one CPU; else it waits for a lock of its other
 * thread and for one of a file. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t account_lock = PTHREAD_MUTEX_INITIALIZER;

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ 0, ms * 1000000 }, NULL);
}

static void *hold(void *ignored)
{
	pthread_mutex_lock(&account_lock);
	sleep_ms(100);
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
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600), other;

	flock(fd, LOCK_EX);
	if (!fork()) {
		other = open(path, O_RDWR | O_CLOEXEC);
		flock(other, LOCK_EX);
		_exit(0);
	}
	sleep_ms(100);
	flock(fd, LOCK_UN);
	wait(NULL);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int compute(const char *name, double until)
{
	prctl(PR_SET_NAME, name);
	while (now() < until)
		;
	return 0;
}

static int compete(void)
{
	double until = now() + 0.5;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((unsigned)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof one, &one);
	if (!fork())
		_exit(compute("hog", until));
	compute("victim", until);
	wait(NULL);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t other;

	if (argc > 1 && !strcmp(argv[1], "hog"))
		return compete();
	pthread_create(&other, NULL, hold, NULL);
	sleep_ms(20);
	if (take()) /* line of the call */
		return 1;
	pthread_join(other, NULL);
	wait_for_file(argv[1]);
	return 0;
}
