/* SPDX-License-Identifier: MIT */
/*
 * kernel/threads/event_contexts.h - adds contexts of the thread to each kernel event: process, user,
 * cgroup, namespaces ...
 *
 * The converter adds them from a table of all threads of the machine, so an event costs the traced
 * program nothing more. The table is first filled from /proc. Then:
 *
 *   as of the event   pid, procname, cgroup; for a new thread all, from its parent's:
 *                     kernel/threads/thread_events.h reports these
 *   as of /proc       the rest: read at most a second before the event, or soon after it when the
 *                     event is converted; also after an exec, and after the system calls that
 *                     set it where system calls are recorded
 *
 * If a thread exits before /proc can be read, its last known values are used.  Priority and namespaces
 * are unknown then after a call that sets them, and after an exec if system calls are not recorded.
 * Unknown values are -1 or "", namespaces 0 as in LTTng.
 */
#ifndef KERNEL_THREADS_EVENT_CONTEXTS_H
#define KERNEL_THREADS_EVENT_CONTEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"
#include "kernel/threads/thread_state.h"
#include "kernel/threads/thread_events.h"

enum {
	KERNEL_CONTEXTS_BYTES_MAX =
		4 * KERNEL_CONTEXT_NUMBERS + KERNEL_PROCNAME_BYTES + KERNEL_CGROUP_BYTES
};

struct kernel_contexts;

/* kernel_contexts_parse - add to @mask the contexts named in @names, separated by commas: LTTng's
 * names, and some groups of them. 0, or -EINVAL with the list of names. */
int kernel_contexts_parse(const char *names, uint32_t *mask, struct diag *d);

/* kernel_contexts_open - @o->clock must stay valid until the close. @keeps: events may be converted
 * long after they were recorded. 0 or -errno. */
int kernel_contexts_open(struct kernel_contexts **c, uint32_t mask,
			 const struct kernel_thread_events_options *o, bool keeps, struct diag *d);
/* kernel_contexts_close - accepts NULL, as all functions here do. */
void kernel_contexts_close(struct kernel_contexts *c);

/* kernel_contexts_begin - record changes, and read all existing threads. Called again in the
 * successor of a killed process. 0 or -errno. */
int kernel_contexts_begin(struct kernel_contexts *c, struct diag *d);

/* kernel_contexts_learn - read the new changes, so that no buffer overflows. */
void kernel_contexts_learn(struct kernel_contexts *c);

/* kernel_contexts_have_lost - whether changes were lost since the last call. Contexts may be wrong
 * until then and for a second more. */
bool kernel_contexts_have_lost(struct kernel_contexts *c);

/* kernel_contexts_tsdl - append the fields, as a struct event.context has them behind _tid. */
void kernel_contexts_tsdl(const struct kernel_contexts *c, struct text *out);

/*
 * kernel_contexts_put - add the contexts to an event.
 *
 * @event: its header, thread and fields, @size bytes (kernel/convert/class.h), with room for
 * KERNEL_CONTEXTS_BYTES_MAX more.
 * @ns: its time. Events may come in any order. Returns the new size.
 */
size_t kernel_contexts_put(struct kernel_contexts *c, uint8_t *event, size_t size, uint64_t ns);

#endif
