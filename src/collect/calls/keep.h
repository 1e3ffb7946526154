/* SPDX-License-Identifier: MIT */
/*
 * collect/calls/keep.h - calls files and plans of the runtime directory, copied into a recording.
 *
 *   DIR/.duet/calls/<pid>-<proc>     a program's own data about its calls: abi/calls.h
 *   DIR/.duet/plans/<build ID>       patched functions: abi/plan.h
 *
 * They are copied as they are, holes included, and not interpreted.  Programs may change, truncate
 * or replace their files meanwhile: only pread is used, and sizes are bounded.  A copy gets its name
 * when it is complete, because a sender sends files as they appear.
 *
 * One thread.
 */
#ifndef COLLECT_CALLS_KEEP_H
#define COLLECT_CALLS_KEEP_H

#include <stdbool.h>

#include "collect/calls/calls.h"

enum calls_which {
	CALLS_ENDED, /* files of programs that have ended; the file is removed */
	CALLS_ALL,   /* those of living programs too */
};

/*
 * calls_keep - copy calls files of the session, and the plans, below the directory @path.
 *
 * Does nothing if @c has no plans.  Returns the number of calls files, or -errno with the reason in
 * @d, which may be NULL; the other files are copied.  One call copies a limited number of bytes.  With
 * CALLS_ENDED the next one goes on, at that @path; with CALLS_ALL -EFBIG is the reason.
 */
int calls_keep(struct calls *c, const char *path, enum calls_which which, struct diag *d);

/*
 * calls_ask_to_flush - ask the session's programs to write the batches they have begun as events.
 *
 * calls_flush - the same, and wait for it, at most 10 ms.
 */
void calls_ask_to_flush(const struct calls *c);
void calls_flush(const struct calls *c);

/* calls_want - let the session's programs apply the plans of @generation. */
void calls_want(const struct calls *c, uint64_t generation);

/* calls_is_plan_name - whether a file of the directory of plans is a plan. */
bool calls_is_plan_name(const char *name);

/*
 * calls_sweep - remove calls files that ended programs of ended sessions left in directory @dir; the
 * living ones stop recording calls.
 */
void calls_sweep(int dir);

/* calls_release - at the end of the session: its programs stop recording calls. */
void calls_release(const struct calls *c);

#endif
