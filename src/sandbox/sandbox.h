/* SPDX-License-Identifier: MIT */
/*
 * sandbox/sandbox.h - a process gives up the rights that it does not need, before it reads bytes
 * that others wrote.
 *
 * A reader of a recording, a relay and a server for viewers parse input of strangers.  An error in
 * a parser may let an attacker run code in such a process.  After sandbox_restrict() this code can
 * compute, read the files of the process, and write to those that are open or were named.  It cannot start
 * programs, open connections, write other files, trace or signal other processes, or use the parts
 * of the kernel that the process does not need.
 *
 *   Landlock   limits which files can be opened, and how.  Also TCP (Linux 6.7) and signals
 *              (6.12).
 *   seccomp    limits the system calls: a list of those that are allowed, and for some of them the
 *              arguments (sandbox/calls.def).
 *
 * Each is used if the kernel has it, the other one alone otherwise.  A kernel without both is no
 * failure: the parsers are the first defence, and this is the second.  `duet doctor` reports it.
 *
 * Always true:
 *
 *   (1) nothing gives a right back: the process and its later children stay restricted
 *   (2) a system call that only an attack makes (execve, ptrace, mount, bpf ...) ends the process
 *   (3) any other call that is not on the list fails, with EPERM or ENOSYS, and a line on standard
 *       error names it: an error of ours must be seen, but must not cost the user the output
 *   (4) descriptors that are open already keep their rights
 *
 * Design, costs and limits: docs/design/sandbox.md.
 */
#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H

#include <stdbool.h>

#include "base/diag.h"

enum sandbox_right {
	SANDBOX_ACCEPTS =
		1 << 0, /* connections to sockets that listen already, and their traffic */
	SANDBOX_CONNECTS = 1 << 1,	/* new connections, and resolved names */
	SANDBOX_CONNECTS_HERE = 1 << 2, /* new connections to UNIX sockets alone */
	SANDBOX_THREADS = 1 << 3,
	SANDBOX_FORKS = 1 << 4, /* children, which are restricted as well */
	SANDBOX_MAKES_CODE =
		1 << 5,		 /* memory that is executed: translated scripts, loaded libraries */
	SANDBOX_WRITES = 1 << 6, /* files below `writes`; sandbox_restrict() sets it */
};

struct sandbox {
	const char *name; /* "duet view", for the lines of (3); it must stay valid */
	unsigned rights;  /* enum sandbox_right */
	/* Lists of paths that exist, which end with NULL; NULL: none.  A directory stands for all
	 * below it. */
	const char *const *reads; /* these can be read; NULL: all files */
	const char *const
		*writes; /* files and directories can be made, written and removed there */
	const char *const *directories; /* directories can be made, renamed and removed there */
};

/*
 * sandbox_restrict - from here on this process has only the rights of @s.
 *
 * Call it while the process has one thread: Landlock holds for the calling thread and those that it
 * makes.  SIGSYS belongs to the sandbox, and must not be blocked.
 *
 * DUET_SANDBOX=off in the environment, and a build with a sanitizer (its own calls are those of an
 * attack), leave seccomp out.  DUET_SANDBOX=off leaves out Landlock too: for valgrind and the like.
 *
 * Returns 0, also if the kernel has neither; -errno if it has one that failed: then the caller must
 * not go on.
 */
int sandbox_restrict(const struct sandbox *s, struct diag *d);

/* sandbox_landlock_version - the version of Landlock's interface in this kernel; 0: none. */
int sandbox_landlock_version(void);
/* sandbox_has_seccomp - whether this kernel filters system calls. */
bool sandbox_has_seccomp(void);

#endif
