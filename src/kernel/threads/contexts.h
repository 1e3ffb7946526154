/* SPDX-License-Identifier: MIT */
/*
 * kernel/threads/contexts.h - more with each kernel event about the thread it is of: its process,
 * user, cgroup, namespaces ...
 *
 * They are put in by who converts, from a table of all threads of the machine, so that recording
 * costs the traced programs nothing more for an event.  The table begins with a look at /proc.
 * Then:
 *
 *   as of the event   pid, procname, cgroup; all of a thread that is born, from its parent's:
 * kernel/threads/thread_events.h tells as of a look      the rest: at most a second before the
 * event or, as it is looked when that is converted, soon after it; after an exec, and after the
 * system calls that set it where system calls are recorded
 *
 * Of a thread that was gone before it could be looked at it is what was known last; -1, 0 or "" if
 * nothing was.
 */
#ifndef KERNEL_THREADS_CONTEXTS_H
#define KERNEL_THREADS_CONTEXTS_H

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

/* kernel_contexts_parse - add to @mask the contexts named in @names, between commas: LTTng's names,
 * and some for them. 0, or -EINVAL with what there is. */
int kernel_contexts_parse(const char *names, uint32_t *mask, struct diag *d);

/* kernel_contexts_open - @o->clock is lent until the close.  @keeps: events may be read long after
 * they were recorded. 0 or -errno. */
int kernel_contexts_open(struct kernel_contexts **c, uint32_t mask,
			 const struct kernel_thread_events_options *o, bool keeps, struct diag *d);
/* kernel_contexts_close - accepts NULL, as do all. */
void kernel_contexts_close(struct kernel_contexts *c);

/* kernel_contexts_begin - record what changes, and look at all threads there are; again, in a
 * successor of a process that was killed.  0 or -errno. */
int kernel_contexts_begin(struct kernel_contexts *c, struct diag *d);

/* kernel_contexts_learn - read what has changed, so that no buffer overflows. */
void kernel_contexts_learn(struct kernel_contexts *c);

/* kernel_contexts_have_lost - whether changes were lost since it was asked last: contexts may be
 * wrong until then, and a second more. */
bool kernel_contexts_have_lost(struct kernel_contexts *c);

/* kernel_contexts_tsdl - append the fields, as a struct event.context has them behind _tid. */
void kernel_contexts_tsdl(const struct kernel_contexts *c, struct text *out);

/*
 * kernel_contexts_put - put them into an event.
 *
 * @event: its header, thread and fields, @size bytes (kernel/convert/class.h), with room for
 * KERNEL_CONTEXTS_BYTES_MAX more.
 * @ns: its time.  Events come in any order.  Returns its size now.
 */
size_t kernel_contexts_put(struct kernel_contexts *c, uint8_t *event, size_t size, uint64_t ns);

#endif
