/* SPDX-License-Identifier: MIT */
/*
 * analysis/threads.h - the threads of a recording, numbered, and the process of each.
 *
 * Numbers are dense, so that an analysis can keep an array per thread. Number 0 stands for events
 * whose thread is unknown. If the kernel gives a tid out again after its first owner exited, the
 * second owner is another thread here.
 *
 * The process of a thread comes from applications (vpid), from the state dump, or from an exec. The
 * fork event of tracefs does not have it: then the flags of clone decide, and a thread without any
 * of these is a process of its own.
 */
#ifndef ANALYSIS_THREADS_H
#define ANALYSIS_THREADS_H

#include "trace/public.h"

enum { THREAD_UNKNOWN = 0, THREAD_NAME_MAX = 16 };

/* Bits of prev_state in sched_switch (include/linux/sched.h). SLEEPS: the thread is not runnable
 * (interruptible, uninterruptible, stopped, traced, dead, zombie, parked, idle). A preempted thread
 * has none of these: 0, or a higher bit. DEAD: it has exited. */
enum { THREAD_STATE_SLEEPS = 0xff, THREAD_STATE_DEAD = 0x30 };

enum thread_made { MADE_UNKNOWN, MADE_THREAD, MADE_PROCESS };

struct thread {
	uint32_t host;
	int32_t tid;	  /* -1: unknown; 0: a CPU's idle thread */
	int32_t pid;	  /* -1: unknown */
	uint32_t parent;  /* its creator; 0: not recorded */
	uint32_t process; /* the leader of its process: after threads_finalize() */
	bool is_dead, has_executed;
	uint8_t made;	/* enum thread_made */
	uint8_t making; /* what its clone in progress creates */
	uint8_t name_size;
	char name[THREAD_NAME_MAX]; /* the last name; not NUL-terminated */
	uint64_t known;		    /* private: nothing was learned since */
};

struct threads;

int threads_open(struct threads **t, struct trace *trace, struct diag *d);
void threads_close(struct threads *t); /* accepts NULL */
/* threads_update - after trace_refresh(): learn new classes and sources. */
int threads_update(struct threads *t, struct trace *trace, struct diag *d);
/* threads_renumber - the same after trace_forget(), which returned @was. */
int threads_renumber(struct threads *t, struct trace *trace, const uint32_t *was, struct diag *d);

/* threads_on_event - learn from @e, an event.  Returns the number of its thread, or -ENOMEM. */
int64_t threads_on_event(struct threads *t, const struct trace_event *e);

/* threads_learns_from - whether events of class @number of @s say anything about threads; others need
 * not be given to threads_on_event(). */
bool threads_learns_from(const struct threads *t, const struct trace_source *s, uint32_t number);

/* threads_of - the number of thread @tid, a field of @e, on @e's host; or -ENOMEM. */
int64_t threads_of(struct threads *t, const struct trace_event *e, int64_t tid);

/* threads_finalize - after the last event: find the process of every thread. May add threads. */
int threads_finalize(struct threads *t);

/* threads_process - the leader of the process of thread @number, as far as it is known now; or
 * -ENOMEM. See also threads_finalize(). */
int64_t threads_process(struct threads *t, uint32_t number);

uint32_t threads_n(const struct threads *t);
const struct thread *threads_at(const struct threads *t,
				uint32_t number); /* valid until the next event */

#endif
