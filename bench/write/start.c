/* SPDX-License-Identifier: MIT */
/*
 * bench/write/start.c - the time of programs from fork to exit, in turns.
 *
 * usage: start TIMES [NAME=VALUE]... PROGRAM [-- [NAME=VALUE]... PROGRAM]...
 *
 * Prints for each program a line with the microseconds of each run.  @NAME=VALUE is added to its
 * environment.  Each round has another order: a collector that the run before has woken is still
 * busy for a while.
 */
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GROUPS_MAX = 16, TIMES_MAX = 10000, VARIABLES_MAX = 1000 };

struct group {
	char *program;
	char *environment[VARIABLES_MAX];
	double us[TIMES_MAX];
};

static struct group groups[GROUPS_MAX];

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void fail(const char *why)
{
	fprintf(stderr, "start: %s\n", why);
	exit(2);
}

/* Our environment without the names in @added; then @added. */
static void set_environment(struct group *g, char **added, int n_added)
{
	int n = 0;

	for (char **e = environ; *e && n < VARIABLES_MAX - n_added - 1; e++) {
		int i = 0;

		while (i < n_added && strncmp(*e, added[i], strcspn(added[i], "=") + 1))
			i++;
		if (i == n_added)
			g->environment[n++] = *e;
	}
	for (int i = 0; i < n_added; i++)
		g->environment[n++] = added[i];
}

static int read_groups(char **a)
{
	int n = 0;

	for (; *a && n < GROUPS_MAX; n++) {
		char **begin = a;

		while (*a && strchr(*a, '='))
			a++;
		if (!*a)
			fail("no program");
		groups[n].program = *a;
		set_environment(&groups[n], begin, (int)(a - begin));
		a++;
		if (*a && strcmp(*a++, "--"))
			fail("programs are separated by --");
	}
	return n;
}

static double run(struct group *g)
{
	char *argv[] = { g->program, NULL };
	double begin = now_us();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, g->program, NULL, NULL, argv, g->environment))
		fail("cannot start the program");
	if (waitpid(pid, &status, 0) != pid || status)
		fail("the program failed");
	return now_us() - begin;
}

static void shuffle(int *order, int n)
{
	for (int i = n - 1; i > 0; i--) {
		int k = rand() % (i + 1), kept = order[i];

		order[i] = order[k];
		order[k] = kept;
	}
}

int main(int argc, char **argv)
{
	int times = argc > 2 ? atoi(argv[1]) : 0, n, order[GROUPS_MAX];

	if (times < 1 || times > TIMES_MAX)
		fail("usage: start TIMES [NAME=VALUE]... PROGRAM [-- ...]");
	n = read_groups(argv + 2);
	for (int k = 0; k < n; k++)
		order[k] = k;
	for (int i = -3; i < times; i++) { /* the first few warm the caches */
		shuffle(order, n);
		for (int k = 0; k < n; k++)
			groups[order[k]].us[i < 0 ? 0 : i] = run(&groups[order[k]]);
	}
	for (int k = 0; k < n; k++) {
		for (int i = 0; i < times; i++)
			printf("%.1f ", groups[k].us[i]);
		putchar('\n');
	}
	return 0;
}
