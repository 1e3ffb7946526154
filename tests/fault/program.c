/* SPDX-License-Identifier: MIT */
/*
 * tests/fault/program.c - registers, records, forks a child that records, loads a library; its
 * output does not depend on the fate of its events.
 *
 * usage: program RUN NOTES     to NOTES it adds "RUN NAME ATTEMPTED": events with an enabled site
 */
#include <duet/duet.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

DUET_EVENT(fault, parent, (i32, run), (i32, i));
DUET_EVENT(fault, child, (i32, run), (i32, i));
DUET_EVENT(fault, thread, (i32, run), (str, text));

enum { EVENTS = 50 };

static int run, attempted;

static void note(const char *path, const char *who)
{
	char line[64];
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		_exit(3);
	(void)!write(fd, line,
		     (size_t)snprintf(line, sizeof line, "%d %s %d\n", run, who, attempted));
	close(fd);
}

static void *thread(void *arg)
{
	for (int i = 0; i < EVENTS; i++) {
		attempted += trace_fault_thread_enabled();
		trace_fault_thread(run, "from a thread");
	}
	return arg;
}

static void child(const char *notes)
{
	attempted = 0;
	for (int i = 0; i < EVENTS; i++) {
		attempted += trace_fault_child_enabled();
		trace_fault_child(run, i);
	}
	note(notes, "child");
	exit(7);
}

int main(int argc, char **argv)
{
	pthread_t t;
	int status = 0, sum = 0;
	pid_t pid;

	if (argc < 3)
		return 2;
	run = atoi(argv[1]);
	errno = 4711;
	for (int i = 0; i < EVENTS; i++) {
		attempted += trace_fault_parent_enabled();
		trace_fault_parent(run, i);
		sum += errno == 4711;
	}
	if (pthread_create(&t, NULL, thread, NULL) || pthread_join(t, NULL))
		return 4;
	pid = fork();
	if (!pid)
		child(argv[2]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 5;
	note(argv[2], "parent");
	printf("errno kept %d times, child %d\n", sum, WEXITSTATUS(status));
	return 0;
}
