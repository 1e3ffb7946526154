/* SPDX-License-Identifier: MIT */
/* tests/live/record/programs/probes_plugin.c - a library that is loaded when probes are attached already. */
#include <duet/duet.h>

DUET_EVENT(plugin, loaded, (i32, n));

void plugin_run(int n);
void plugin_run(int n)
{
	trace_plugin_loaded(n);
}
