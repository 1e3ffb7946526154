/* SPDX-License-Identifier: MIT */
/*
 * tests/live/record/programs/steps.h - record events and say how many, for programs called as
 *
 *     program MODE NOTES [NUMBER]
 */
#ifndef STEPS_H
#define STEPS_H

#include "life.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EVENTS = 20 };

static struct {
	const char *self, *mode, *notes;
	int notes_fd;
	int number;
} o;
static atomic_int n_steps; /* of this process */

static inline void step(int n)
{
	int pid = (int)syscall(SYS_getpid);

	for (int i = 0; i < n; i++) {
		trace_life_step(pid, i);
		n_steps++;
	}
}

static inline void note(const char *what, int value)
{
	char line[64];

	(void)!write(o.notes_fd, line, (size_t)snprintf(line, sizeof line, "%s %d\n", what, value));
}

static inline void note_steps(void)
{
	char pid[16];

	snprintf(pid, sizeof pid, "%d", (int)syscall(SYS_getpid));
	note(pid, n_steps);
}

/* The work of a child; it never returns. */
static inline void child(int n)
{
	n_steps = 0;
	step(n);
	note_steps();
	_exit(0);
}

/* Takes the arguments.  False if there are too few. */
static inline int begin(int argc, char **argv)
{
	if (argc < 3)
		return 0;
	o.self = argv[0];
	o.mode = argv[1];
	o.notes = argv[2];
	o.number = argc > 3 ? atoi(argv[3]) : 0;
	o.notes_fd = open(o.notes, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	return o.notes_fd >= 0;
}

#endif
