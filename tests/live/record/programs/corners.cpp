/* SPDX-License-Identifier: MIT */
/* tests/live/record/programs/corners.cpp - events in constructors and destructors of C++ objects, static and
 * of threads. */
#include "life.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

static int n_steps;

static void step_if_enabled()
{
	if (!trace_life_step_enabled())
		return;
	trace_life_step((int)getpid(), n_steps);
	n_steps++;
}

struct Steps {
	Steps()
	{
		step_if_enabled();
	}
	~Steps()
	{
		step_if_enabled();
	}
};

/* Destroyed last of all objects of this file: it says how many there were. */
struct Notes {
	int fd = -1;
	~Notes()
	{
		char line[64];
		int n = snprintf(line, sizeof line, "%d %d\n", (int)getpid(), n_steps);

		if (fd >= 0 && write(fd, line, (size_t)n) != n)
			abort();
	}
};

__attribute__((init_priority(150))) static Notes notes;
__attribute__((init_priority(151))) static Steps early;
static Steps usual;
static thread_local Steps of_thread;

int main(int argc, char **argv)
{
	static Steps local;

	if (argc < 3)
		return 2;
	notes.fd = open(argv[2], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	std::thread([] {
		(void)&of_thread;
		step_if_enabled();
	}).join();
	(void)&of_thread;
	return 0;
}
