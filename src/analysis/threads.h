/* SPDX-License-Identifier: MIT */
/*
 * analysis/threads.h - the threads of a recording, numbered, and the process each belongs to.
 *
 * Numbers are dense, so that whoever counts something per thread keeps an array.  Number 0 stands
 * for events whose thread nobody knows.  A thread number that the kernel gives out again, after its
 * first owner is seen to exit, is another thread here.
 *
 * Which process?  Applications say it (vpid), the state dump does, an exec proves it.  tracefs's
 * fork event does not: then the flags of clone tell, and what remains is a process of its own.
 */
#ifndef ANALYSIS_THREADS_H
#define ANALYSIS_THREADS_H

#include "trace/names.h"
#include "trace/trace.h"

enum { THREAD_UNKNOWN = 0, THREAD_NAME_MAX = 16 };

enum thread_made { MADE_UNKNOWN, MADE_THREAD, MADE_PROCESS };

struct thread {
	uint32_t host;
	int32_t tid;	  /* -1: unknown; 0: a CPU's idle thread */
	int32_t pid;	  /* -1: unknown */
	uint32_t parent;  /* who made it; 0: not seen */
	uint32_t process; /* the thread that stands for its process: after threads_finalize() */
	bool is_dead, has_executed;
	uint8_t made;	/* enum thread_made */
	uint8_t making; /* what its clone in progress makes */
	uint8_t name_size;
	char name[THREAD_NAME_MAX]; /* the last it had; not NUL-terminated */
};

struct threads;

int threads_open(struct threads **t, struct trace *trace, struct diag *d);
void threads_close(struct threads *t); /* accepts NULL */
/* threads_update - after trace_refresh(): what is new of classes and sources. */
int threads_update(struct threads *t, struct trace *trace, struct diag *d);

/* threads_on_event - learn from @e, an event.  Returns the number of its thread, or -ENOMEM. */
int64_t threads_on_event(struct threads *t, const struct trace_event *e);

/* threads_of - the number of thread @tid of @e's host, which @e speaks of.  Returns it or -ENOMEM.
 */
int64_t threads_of(struct threads *t, const struct trace_event *e, int64_t tid);

/* threads_finalize - find everybody's process, at the end.  May add threads. */
int threads_finalize(struct threads *t);

/* threads_process - what is known now of the process of thread @number; see threads_finalize.
 * Returns the thread that stands for it, or -ENOMEM. */
int64_t threads_process(struct threads *t, uint32_t number);

uint32_t threads_n(const struct threads *t);
const struct thread *threads_at(const struct threads *t,
				uint32_t number); /* until the next is seen */

#endif
