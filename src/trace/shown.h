/* SPDX-License-Identifier: MIT */
/* trace/shown.h - which events are shown only to those who ask for them, by their names. */
#ifndef TRACE_SHOWN_H
#define TRACE_SHOWN_H

#include <stdbool.h>
#include <string.h>

/*
 * trace_is_state_event - whether the event belongs to the state dump at the begin of the recording.
 * Such events name threads and files for reports.
 */
static inline bool trace_is_state_event(const char *event)
{
	return !strncmp(event, "lttng_statedump_", 16) ||
	       !strncmp(event, "lttng_ust_statedump:", 20);
}

/* trace_is_batch - whether the event holds calls of programs, as bytes. */
static inline bool trace_is_batch(const char *event)
{
	return !strcmp(event, "duet_calls:batch");
}

#endif
