/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/kill/victim.c - programs that are killed at a random moment, or end after one
 * millisecond; each notes outside how far it came.
 *
 * usage: victim drive RUNS SEED NOTES      starts RUNS victims, one after the other
 *        victim die RUN NOTES              records events until it is killed
 *        victim live RUN NOTES             records 100 events and returns
 */
#include <duet/duet.h>

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

DUET_EVENT(victim, step, (int, run), (int, step), (str, text));

enum { RUNS_MAX = 100000, STEPS_OF_SHORT_LIFE = 100, BEGIN_MAX_MS = 20000 };

/* notes[run]: the number of calls that have returned. */
static volatile int *map_notes(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *p;

	if (fd < 0 || ftruncate(fd, RUNS_MAX * sizeof(int)))
		exit(2);
	p = mmap(NULL, RUNS_MAX * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		exit(2);
	return p;
}

static void step(volatile int *notes, int run, int i)
{
	char text[32];

	snprintf(text, sizeof text, "step %d of %d", i, run);
	trace_victim_step(run, i, text);
	notes[run] = i + 1;
	for (volatile int k = 0; k < 1500; k++)
		;
}

/* However busy the machine is: returns when the victim has recorded its first event. */
static void wait_for_begin(volatile const int *notes, int run)
{
	const struct timespec ms = { 0, 1000000 };

	for (int i = 0; !notes[run]; i++) {
		if (i == BEGIN_MAX_MS) {
			fprintf(stderr, "victim %d has recorded nothing within %d s\n", run,
				BEGIN_MAX_MS / 1000);
			exit(3);
		}
		nanosleep(&ms, NULL);
	}
}

/* Half of the victims are killed some time after their start, perhaps before their first event;
 * half after their first event. */
static void start_and_kill(const char *self, const char *path, volatile const int *notes, int run,
			   bool short_life)
{
	struct timespec t = { 0, 500000 + rand() % 7000000 };
	char number[16];
	pid_t pid;

	snprintf(number, sizeof number, "%d", run);
	pid = fork();
	if (!pid) {
		execl(self, self, short_life ? "live" : "die", number, path, (char *)NULL);
		_exit(127);
	}
	if (!short_life) {
		if (run % 2 == 0)
			wait_for_begin(notes, run);
		nanosleep(&t, NULL);
		kill(pid, SIGKILL);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	volatile int *notes;
	int run;

	if (argc < 4)
		return 2;
	if (!strcmp(argv[1], "drive")) {
		if (argc < 5)
			return 2;
		notes = map_notes(argv[4]);
		srand((unsigned)atoi(argv[3]));
		for (run = 0; run < atoi(argv[2]) && run < RUNS_MAX; run++)
			start_and_kill(argv[0], argv[4], notes, run, run % 10 == 9);
		return 0;
	}
	run = atoi(argv[2]);
	notes = map_notes(argv[3]);
	for (int i = 0; strcmp(argv[1], "live") || i < STEPS_OF_SHORT_LIFE; i++)
		step(notes, run, i);
	return 0;
}
