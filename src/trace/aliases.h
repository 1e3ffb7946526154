/* SPDX-License-Identifier: MIT */
/*
 * trace/aliases.h - maps ids of processes and threads in a pid namespace to the ids on their host.
 *
 * A program in a pid namespace records the ids it has there; kernel events have the ids of the
 * host. Both ids of a process are known: the collector noted them when the process attached.  A
 * thread is found by its CPU: the kernel reported which thread ran there when the event was
 * recorded.  A thread that is not found gets a number of its own above every id a host can have.
 *
 * Single thread only.
 */
#ifndef TRACE_ALIASES_H
#define TRACE_ALIASES_H

#include <stdbool.h>
#include <stdint.h>

enum { ALIASES_FIRST_UNKNOWN = (1 << 22) + 1 }; /* above PID_MAX_LIMIT of Linux */

struct aliases;

struct aliases *aliases_open(void); /* NULL: no memory */
void aliases_close(struct aliases *a);

/* aliases_process - process @vpid of trace @source is @pid on its host. */
void aliases_process(struct aliases *a, uint32_t source, int64_t vpid, int64_t pid);

/* aliases_any - whether any process has another id in its namespace than on its host. */
bool aliases_any(const struct aliases *a);

/*
 * aliases_pid - returns the host's id of process @vpid.
 *
 * Programs of several pid namespaces in one trace may have the same id.  Then the result is
 * @running, the process that ran on the event's CPU at that time, if it is one of them; else the
 * process that attached last.
 */
int64_t aliases_pid(const struct aliases *a, uint32_t source, int64_t vpid, int64_t running);

/* aliases_tid - returns the host's id of thread @vtid of process @vpid, which is @pid on the host.
 * @running: the thread that ran on the event's CPU at that time; 0: unknown. */
int64_t aliases_tid(struct aliases *a, uint32_t source, int64_t vpid, int64_t vtid, int64_t pid,
		    int64_t running);

#endif
