/* SPDX-License-Identifier: MIT */
/*
 * patch/attach/attach.h - libduet put into a running process, and its plans applied there.
 *
 * All of it is ptrace.  The process loads libduet by its own dlopen, on one of its threads, while
 * its other threads run.  Then every thread is stopped, libduet applies the plans of the runtime
 * directory, and every thread continues where it was.
 *
 *   (1) the caller may be killed at any time: each thread of the process finds its own way back
 *   (2) a failure leaves the process as it was, and detached
 *   (3) no system call of the process reports EINTR because of us
 *
 * x86-64 and glibc only.  Design: docs/design/calls.md, "Into a running process".
 */
#ifndef PATCH_ATTACH_ATTACH_H
#define PATCH_ATTACH_ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"

struct attach_options {
	const char *library; /* path of libduet.so.0, as the process sees it: cmd_find_library() */
	const char *runtime; /* runtime directory, as the process sees it; NULL: the one that
				the process's environment names.  Used only if libduet is not loaded yet. */
	uint32_t wait_ms;    /* longest wait for a moment at which this is safe; 0: 2000 */
};

struct attach_result {
	bool is_loaded;	    /* libduet was loaded now; false: the process had it */
	uint32_t n_threads; /* stopped */
	uint32_t n_stepped; /* threads led out of bytes that were to be replaced */
	uint64_t stop_ns;   /* from the first thread stopped to the last one continued */
	uint64_t load_ns;   /* for which one thread of the process loaded libduet */
	int applied;	    /* libduet's answer: objects with patched functions, or -errno */
};

/*
 * attach_check - may this process be attached to?
 *
 * @pid: as this process sees it.  @o may be NULL.
 *
 * Looks at files of /proc and does not touch the process.  Without @o, libduet is not looked for.  Returns 0, or a negative errno with one
 * clear reason in @d: -ESRCH (no such process, or a zombie), -EPERM (another user's, Yama, not
 * dumpable), -EBUSY (traced already), -ENOEXEC (static, 32-bit, another libc), -EACCES (seccomp),
 * -ENOENT (the process cannot see libduet), -ENOTSUP.  Any thread.
 */
int attach_check(pid_t pid, const struct attach_options *o, struct diag *d);

/*
 * attach_apply - load libduet into a running process if it is not there, and apply the plans.
 *
 * @pid: as this process sees it.  @r may be NULL.
 *
 * The plans lie in the runtime directory already.  Also used for a process that has libduet, when
 * functions are to be patched for the first time while it runs.  The caller must have no ptrace
 * tracee of its own, and must not wait for unknown children meanwhile.  Returns 0, or a negative
 * errno with the reason in @d: those of attach_check, -ETIMEDOUT (no safe moment came), -ECHILD
 * (the process ended meanwhile), -ELIBACC (the process could not load libduet), -ENODATA (no session
 * wants its calls), -EEXIST (it uses another runtime directory).  One thread at a
 * time; takes up to o->wait_ms.
 */
int attach_apply(pid_t pid, const struct attach_options *o, struct attach_result *r,
		 struct diag *d);

#endif
