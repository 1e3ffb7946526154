/* SPDX-License-Identifier: MIT */
/* tests/live/record/programs/life_plugin.c - an instrumented library that comes and goes. */
#include "life.h"

void plugin_step(int pid, int i);

void plugin_step(int pid, int i)
{
	trace_life_step(pid, i);
	trace_mark(life, marked, "pid %d i %d", pid, i);
}
