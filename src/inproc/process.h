/* SPDX-License-Identifier: MIT */
/*
 * inproc/process.h - libduet's state in one program.
 *
 * We are guests: no thread, no signal, no descriptor kept open, no name but duet_*.  Who may touch
 * what, and when:
 *
 *   objects, control page layout   registration (constructors, dlopen, fork), under process_lock
 *   enable words                   anybody outside, at any time; sites read them
 *   session                        any thread's first event of a session installs one, by
 *                                  compare-and-swap; never freed while threads may use it
 *   guard                          a page that the kernel zeroes in a forked child: whoever sees it
 *                                  zero makes the process itself again before it records
 */
#ifndef INPROC_PROCESS_H
#define INPROC_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/control.h"
#define DUET_I_LAYOUT_ONLY
#include "duet/site.h"
#include "ring/pool.h"

#define HIDDEN __attribute__((visibility("hidden")))

/* A pool this process writes to. */
struct session {
	struct pool pool;
	void *memory;
	uint64_t memory_size;
	uint32_t epoch;
	uint16_t ids[ABI_EVENTS]; /* event index -> class id in the pool's registry; 0: not yet */
};

struct object {
	struct duet_i_site *begin, *end;
};

enum { OBJECTS = 1024 };

struct process {
	struct abi_control *control; /* NULL: inert */
	struct abi_control_event *events;
	char *text;
	struct session *session;
	uint32_t *guard; /* GUARD_... */
	uint32_t pid;
	uint32_t seccomp_at_start; /* mode of the thread that opened us */
	uint32_t n_objects;
	struct object objects[OBJECTS];
};
enum { GUARD_FORKED = 0, GUARD_BUSY = 1, GUARD_OK = 2 };

extern struct process process HIDDEN;
/* vpid and vtid of this thread, as events carry them; 0 until its first event. */
extern __thread uint64_t thread_context HIDDEN __attribute__((tls_model("initial-exec")));

/* process_open - make the control page, once; under process_lock.  False: stay inert. */
bool process_open(void) HIDDEN;
/* process_renew - a child of fork becomes a process of its own.  Async-signal-safe. */
void process_renew(void) HIDDEN;
/*
 * process_may_call - whether we may still make system calls that the program itself may never make.
 *
 * A filter that was there at the start let us register, and so is taken to let us join: containers have
 * one.  One that came later may kill for a socket(2).  That we ask by prctl(2) may be its reason to kill,
 * too; but nothing else tells, and all who sandbox themselves know this one.
 */
bool process_may_call(void) HIDDEN;
/* thread_context_make - what thread_context is to be, without a system call where that is possible. */
uint64_t thread_context_make(void) HIDDEN;
void process_lock(void) HIDDEN;
void process_unlock(void) HIDDEN;

/* The session new programs belong to: DUET_SESSION, else "default". */
const char *session_name(void) HIDDEN;
/* Reads session-<name>.  0 or -errno. */
int session_read(const char *name, struct abi_session *s) HIDDEN;

/* session_current - the session of @epoch, joined now if need be; NULL if that fails.
 * Async-signal-safe; takes at most about a second, and not again within the next. */
struct session *session_current(uint32_t epoch) HIDDEN;
/* session_join_early - the same before there is an event: less patient, and if it fails the first event
 * tries again. */
struct session *session_join_early(uint32_t epoch) HIDDEN;

/* mark_schema - what a printf format says in schema words, and the codes mark_pack goes by.
 * Returns false if it has a conversion we do not record. */
bool mark_schema(const char *format, char *schema, size_t schema_size, char *codes,
		 size_t codes_size) HIDDEN;

extern const struct duet_i_api duet_api HIDDEN;

#endif
