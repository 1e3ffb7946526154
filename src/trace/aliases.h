/* SPDX-License-Identifier: MIT */
/*
 * trace/aliases.h - processes and threads that are called otherwise where they are than on their
 * host.
 *
 * Programs in a pid namespace put the numbers into their events that they have there; the kernel's
 * events have the host's.  Of a process both are known: its collector noted them when it joined.  A
 * thread is found by where it ran: whom the kernel had on the CPU when the thread recorded there.
 * One that is not found has a number above those of all hosts, of its own.
 *
 * One thread.
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

/* aliases_any - whether any has another name here than there. */
bool aliases_any(const struct aliases *a);

/*
 * aliases_pid - what @vpid is called on its host.
 *
 * Programs of several pid namespaces in one trace may have the same number: then it is @running,
 * the process that, as the kernel told, ran where and when it recorded, if that is one of them;
 * else the one that joined last.
 */
int64_t aliases_pid(const struct aliases *a, uint32_t source, int64_t vpid, int64_t running);

/* aliases_tid - what thread @vtid of @vpid, which the host calls @pid, is called there.  @running:
 * the thread that ran where and when it recorded; 0: not known. */
int64_t aliases_tid(struct aliases *a, uint32_t source, int64_t vpid, int64_t vtid, int64_t pid,
		    int64_t running);

#endif
