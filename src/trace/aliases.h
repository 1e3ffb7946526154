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

#include "base/text.h"

enum { ALIASES_FIRST_UNKNOWN = (1 << 22) + 1 }; /* above PID_MAX_LIMIT of Linux */

/*
 * vtid > 0: a thread; `pid` is its process on the host, `tid` its id there. vtid == 0: `pid` is the
 * process that attached last with this vpid. vtid < 0: process -vtid has attached with this vpid.
 */
struct alias {
	uint32_t source;
	int32_t vpid, vtid; /* vpid 0: an empty slot */
	int32_t pid, tid;
};

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

/* aliases_renumber - trace i of @n was trace @was[i]; the aliases of all others are removed.  0 or -ENOMEM. */
int aliases_renumber(struct aliases *a, const uint32_t *was, uint32_t n);

/* aliases_save - add all of them to @bytes.  Returns their number, and the number that the next unknown
 * thread gets. */
uint32_t aliases_save(const struct aliases *a, struct text *bytes, int32_t *next_unknown);
/* aliases_are_sound - whether the @n at @bytes, which may be anybody's, could have been saved. */
bool aliases_are_sound(const char *bytes, uint32_t n, int32_t next_unknown, uint32_t n_sources);
/* aliases_load - take sound ones into @a, which has none.  0 or -ENOMEM. */
int aliases_load(struct aliases *a, const char *bytes, uint32_t n, int32_t next_unknown);

#endif
