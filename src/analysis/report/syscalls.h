/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/syscalls.h - system calls: number, errors, durations.
 *
 * A call is a syscall_entry_NAME of a thread and its next syscall_exit_NAME, with no loss between
 * them. Every entry and every exit is counted once:
 *
 *   calls = pairs (with a duration) + open (entries without exit) + headless (exits without entry)
 *
 * Open are calls that do not return (exit, rt_sigreturn), calls of threads that died, and calls in
 * progress when the recording ended. The exit of its parent's clone in a child is not a call.
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
	uint32_t call;	 /* index of `names` */
	uint32_t thread; /* the leader, if grouped by process; else THREAD_UNKNOWN */
	uint32_t next;	 /* of the same thread, plus 1 */
	uint32_t n_errnos, room;
	struct syscall_error *errnos;
	uint64_t n_errors, n_open, n_headless;
	struct samples time; /* pairs */
};

struct syscalls {
	struct pass run;
	const char **names; /* by call; borrowed from the trace */
	uint32_t n_calls;
	struct syscall_row *rows; /* most time first */
	uint32_t n_rows;
	struct slowest slowest; /* subject: call; detail: result */
	uint64_t n_entries, n_exits, n_open, n_headless;
	uint64_t n_cut; /* open because of a loss */
};

/* syscalls_init - read the events of @t in @range (NULL: all); @t must outlive the result. Returns
 * 0 or -errno. */
int syscalls_init(struct syscalls *s, struct trace *t, const struct pass_range *range,
		  bool by_process, uint32_t n_slowest, struct diag *d);
void syscalls_fini(struct syscalls *s);

#endif
