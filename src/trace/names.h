/* SPDX-License-Identifier: MIT */
/*
 * trace/names.h - identifies the thread of an event, and its name.
 *
 * Names are learned from the events themselves: state dumps, switches, forks, execs and renames of
 * the kernel; contexts and the procname dump of applications.  An event is therefore named by the
 * state at its time.  Events of applications do not change the process of a thread that an event of the
 * kernel reported.  Threads belong to a host (env hostname), not to a trace.  Their ids are those
 * of the host, also for threads in pid namespaces: trace/aliases.h.
 */
#ifndef TRACE_NAMES_H
#define TRACE_NAMES_H

#include "base/text.h"
#include "trace/trace.h"

struct names;

struct thread_identity {
	const char *name; /* "" if unknown; valid until the next event; not NUL-terminated */
	size_t size;
	int64_t pid, tid;   /* -1: unknown */
	int64_t vpid, vtid; /* ids in its pid namespace; else the same */
};

int names_open(struct names **n, const struct trace *t, struct diag *d);
void names_close(struct names *n);
/* names_update - after trace_refresh(): add new classes and sources.  Everything learned so far is
 * kept. */
int names_update(struct names *n, const struct trace *t, struct diag *d);

/* names_renumber - after trace_forget(), which returned @was: the same. */
int names_renumber(struct names *n, const struct trace *t, const uint32_t *was, struct diag *d);

/* names_host - the number of the host of a source: it stays the same. */
uint32_t names_host(const struct names *n, uint32_t source);

/* names_learns_from - whether names_on_event() learns from events of class @number of @s; without
 * that, it only identifies their thread. */
bool names_learns_from(const struct names *n, const struct trace_source *s, uint32_t number);

/* names_tell - what is known from elsewhere of thread @tid of the host of source @source: for readers that
 * do not begin at the begin.  Negative ids and empty names say nothing. */
void names_tell(struct names *n, uint32_t source, int64_t tid, int64_t pid, const char *name,
		size_t size);

/*
 * names_is_plain - whether names_on_event() would learn nothing but the ids of @e, which @tid and @pid
 * (-1: none) are then.
 *
 * While names_changes() stays the same, it stores the same in @w for a thread with these ids.
 */
bool names_is_plain(const struct names *n, const struct trace_event *e, int64_t *tid, int64_t *pid);
uint64_t names_changes(const struct names *n);

/*
 * names_skip - before the first item: skip packets before @time_ns where no later event's thread depends on
 * them.
 *
 * Events of applications have the ids of their process and thread themselves: only the streams with names of
 * programs and those of small kernels are read from their begin.  Events before @time_ns that are returned
 * need not be all, and names_on_event() is not for them.  @t stays open until names_forget() or
 * names_close().  False: most bytes are needed; nothing has changed.  Damage in what is skipped is not found.
 *
 * names_is_unsure - after names_on_event(), names_find_process() or names_learn(): skipped events are needed,
 * and the thread of this event may be wrong.  Begin anew without skipping, after names_forget() and
 * trace_seek().
 */
bool names_skip(struct names *n, struct trace *t, int64_t time_ns);
bool names_is_unsure(const struct names *n);

/* names_save - append the state to @bytes.  The caller looks at bytes->failed. */
void names_save(const struct names *n, struct text *bytes);
/*
 * names_load - restore the state that names_save() wrote for the same files.
 *
 * @n has learned nothing yet.  The bytes may be anybody's.  Returns 0; -EINVAL: they are none, and @n is
 * as before; -ENOMEM: @n has a part of them.
 */
int names_load(struct names *n, const char *bytes, size_t size);

/* names_forget - clear the state.  0 or -ENOMEM. */
int names_forget(struct names *n);

/* names_learn - learn from event @e, whose thread does not matter: for what comes before the part that is
 * shown. */
void names_learn(struct names *n, const struct trace_event *e);

/* names_on_event - learn from event @e, and store its thread in @w. */
void names_on_event(struct names *n, const struct trace_event *e, struct thread_identity *w);
/* names_find_process - right after that, before w->pid is used: after names_skip() it may be known, but not
 * found yet.  The name is right without it. */
void names_find_process(struct names *n, const struct trace_event *e, struct thread_identity *w);

#endif
