/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/syscalls.h - system calls: how often, with which errors, how long.
 *
 * A call is a syscall_entry_NAME of a thread and its next syscall_exit_NAME, with nothing lost
 * between. Every entry and every exit is accounted for, once:
 *
 *   calls = pairs (which have a duration) + open (entries without exit) + headless (exits without
 * entry)
 *
 * Open are calls that do not return (exit, rt_sigreturn), those of threads that died, those that
 * were running when the recording ended.  What a child returns of its parent's clone is no call.
 */
#ifndef ANALYSIS_REPORT_SYSCALLS_H
#define ANALYSIS_REPORT_SYSCALLS_H

#include "analysis/pass.h"
#include "analysis/samples.h"

struct syscall_error {
	int number; /* positive */
	uint64_t n;
};

struct syscall_row {
	uint32_t call;	 /* index of its name */
	uint32_t thread; /* by process: what stands for it; else THREAD_UNKNOWN */
	uint32_t next;	 /* of the same thread, plus 1 */
	uint32_t n_errnos, room;
	struct syscall_error *errnos;
	uint64_t n_errors, n_open, n_headless;
	struct samples time; /* pairs */
};

struct syscalls {
	struct pass run;
	const char **names; /* by call; lent by the trace */
	uint32_t n_calls;
	struct syscall_row *rows; /* most time first */
	uint32_t n_rows;
	struct slowest slowest; /* what: call; detail: result */
	uint64_t n_entries, n_exits, n_open, n_headless;
	uint64_t n_cut; /* of the open ones: given up because something was lost meanwhile */
};

/* syscalls_init - read what of @t lies in @range (NULL: all); @t must outlive the result.  Returns
 * 0 or -errno. */
int syscalls_init(struct syscalls *s, struct trace *t, const struct pass_range *range,
		  bool by_process, uint32_t n_slowest, struct diag *d);
void syscalls_fini(struct syscalls *s);

#endif
