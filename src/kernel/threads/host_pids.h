/* SPDX-License-Identifier: MIT */
/*
 * kernel/threads/host_pids.h - whether pids here are those of the kernel's events.
 *
 * Events, and the kernel's lists of followed threads, have the pids of the machine's first pid
 * namespace. In another one the same pids belong to other processes.
 */
#ifndef KERNEL_THREADS_HOST_PIDS_H
#define KERNEL_THREADS_HOST_PIDS_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/runtime.h"

/* The number of the first pid namespace in all kernels: PROC_PID_INIT_INO in the kernel's proc_ns.h. */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu

/* host_pids_are_ours - whether this process is in the first pid namespace, or its own is unknown. */
static inline bool host_pids_are_ours(void)
{
	uint32_t own = runtime_pid_namespace();

	return !own || own == FIRST_PID_NAMESPACE;
}

/* host_pids_are_in_proc - whether /proc shows the pids of the first pid namespace; it may be mounted
 * from another one than ours. */
static inline bool host_pids_are_in_proc(void)
{
	struct stat st;

	return host_pids_are_ours() ||
	       (!stat("/proc/1/ns/pid", &st) && st.st_ino == FIRST_PID_NAMESPACE);
}

#endif
