/* SPDX-License-Identifier: MIT */
/*
 * bench/reading/cost.c - `cost COMMAND...`: its CPU seconds, its largest resident size in KiB, and
 * its seconds.
 *
 * It is small on purpose: a process inherits the largest size of the process that called exec, and
 * that of an interpreter would hide the size of a small reader.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct timespec begin, end;
	struct rusage used;
	int status;
	pid_t pid;

	if (argc < 2)
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(null, 1);
		dup2(null, 2);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &used) != pid || status)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%.6f %ld %.6f\n", seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_maxrss,
	       (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
	return 0;
}
