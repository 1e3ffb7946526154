/* SPDX-License-Identifier: MIT */
/*
 * trace/names.h - which thread an event belongs to, and what it is called.
 *
 * Names are learnt from the events themselves, as they pass: state dumps, switches, forks, execs
 * and renames of the kernel; contexts and the procname dump of applications.  So an event is named
 * by what was known at its time.  Threads are those of a host (env hostname), whatever the trace,
 * and are called as the host calls them, also those in pid namespaces: trace/aliases.h.
 */
#ifndef TRACE_NAMES_H
#define TRACE_NAMES_H

#include "trace/trace.h"

struct names;

struct thread_identity {
	const char *name; /* "" if unknown; lent until the next event is fed; not NUL-terminated */
	size_t size;
	int64_t pid, tid;   /* -1: unknown */
	int64_t vpid, vtid; /* what a program in a pid namespace calls them; else the same */
};

int names_open(struct names **n, const struct trace *t, struct diag *d);
void names_close(struct names *n);
/* names_update - after trace_refresh(): what is new of classes and sources.  What was learnt stays.
 */
int names_update(struct names *n, const struct trace *t, struct diag *d);

/* names_on_event - learn from @e, an event, and tell whose it is. */
void names_on_event(struct names *n, const struct trace_event *e, struct thread_identity *w);

#endif
