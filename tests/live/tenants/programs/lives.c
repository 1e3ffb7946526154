/* SPDX-License-Identifier: MIT */
/*
 * tests/live/tenants/programs/lives.c - many short lives, so that pids return as fast as they can.
 *
 * 	lives N PARALLEL    N programs, PARALLEL at a time, each this file executed under a name of its own, l<number>;
 * 	                    prints how many pids they had
 * 	l<number> life      emits three events with its user and number, and ends, every third one by SIGKILL
 */
#include <duet/duet.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

DUET_EVENT(lives, life, (u32, owner), (u32, number), (u32, step), (u32, pid));

enum { STEPS = 3, PIDS = 1 << 22 };

static int live(const char *name)
{
	uint32_t number = (uint32_t)atoi(name + 1);

	for (uint32_t step = 0; step < STEPS; step++)
		trace_lives_life((uint32_t)getuid(), number, step, (uint32_t)getpid());
	if (number % 3 == 0)
		kill(getpid(), SIGKILL);
	if (number % 3 == 1)
		_exit(0);
	return 0;
}

static void begin(const char *file, int number)
{
	char name[16], life[] = "life", *argv[] = { name, life, NULL };

	snprintf(name, sizeof name, "l%d", number);
	execv(file, argv);
	_exit(127);
}

int main(int argc, char **argv)
{
	static bool seen[PIDS];
	int n, parallel, running = 0, n_pids = 0, status = 0, bad = 0;
	pid_t pid;

	if (argc == 2 && !strcmp(argv[1], "life"))
		return live(argv[0]);
	if (argc != 3)
		return 2;
	n = atoi(argv[1]);
	parallel = atoi(argv[2]);
	for (int i = 0; i < n || running;) {
		if (i < n && running < parallel && (pid = fork()) >= 0) {
			if (!pid)
				begin("/proc/self/exe", i);
			n_pids += pid < PIDS && !seen[pid];
			seen[pid % PIDS] = true;
			running++;
			i++;
		} else if (wait(&status) > 0) {
			running--;
			bad += WIFEXITED(status) && WEXITSTATUS(status);
		}
	}
	printf("%d\n", n_pids);
	return bad != 0;
}
