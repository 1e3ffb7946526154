/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/apply.h - the session's plans, on the objects that are loaded.
 */
#ifndef INPROC_CALLS_APPLY_H
#define INPROC_CALLS_APPLY_H

#include "abi/control.h"
#include "inproc/calls/target.h"

/* The session that has this program's calls. */
struct calls_session {
	char name[ABI_NAME_BYTES];
	uint64_t epoch; /* 0: there is none */
};
extern struct calls_session calls_session HIDDEN;

/* The lock of everything that patches; signals are blocked meanwhile, and calls that its owner makes
 * are not recorded. */
void calls_lock(void) HIDDEN;
void calls_unlock(void) HIDDEN;

/*
 * apply_objects - look at the loaded objects, and make targets for those that are new.
 *
 * Missing plans are asked for, which may take seconds.  Under the lock.
 */
void apply_objects(void) HIDDEN;
/* apply_patch - patch all targets.  Returns the number of objects with patched functions. */
uint32_t apply_patch(enum patch_how how) HIDDEN;
/* apply_patch_new - patch the targets that apply_objects has just made: of files that dlopen is
 * about to return, so no thread runs in them. */
void apply_patch_new(void) HIDDEN;
/* apply_generation - take over changed plans, without asking for any.  Under the lock. */
void apply_generation(void) HIDDEN;
/* apply_stop - switch off all that is patched.  Under the lock. */
void apply_stop(void) HIDDEN;
/* apply_restore - put back the program's bytes everywhere and forget all targets, while no other
 * thread runs or is inside a window.  Under the lock.  False: some could not be. */
bool apply_restore(void) HIDDEN;
/* apply_find - the target with this function's number, and its site; NULL: none. */
struct target *apply_find(uint32_t function, uint32_t *site) HIDDEN;
/* apply_changed - whether objects were loaded or unloaded since apply_objects. */
bool apply_changed(void) HIDDEN;

/*
 * request_plan - ask the session's collector for the plan of a file.
 *
 * Waits at most @until_ns (CLOCK_MONOTONIC_COARSE).  0: calls-<session>/ has it now; -EAGAIN,
 * -ETIMEDOUT or another negative errno: it does not.
 */
int request_plan(const char *session, const struct loaded *o, const char *path,
		 int64_t until_ns) HIDDEN;

/* For patch/attach, which calls them by ptrace: session.c. */
int duet_i_calls_prepare(void) __attribute__((visibility("default")));
int duet_i_calls_apply(uint32_t flags) __attribute__((visibility("default")));

#endif
