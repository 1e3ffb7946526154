/* SPDX-License-Identifier: MIT */
/* kernel/tracefs/syscalls.h - names of system calls, by this architecture's numbers. */
#ifndef KERNEL_TRACEFS_SYSCALLS_H
#define KERNEL_TRACEFS_SYSCALLS_H

enum { KERNEL_SYSCALLS_MAX = 512 }; /* all numbers are below */

/* The name in unistd.h, or NULL. */
const char *kernel_syscall_name(int nr);

/* The name in the kernel's own events. It differs for a few calls (fstat: newfstat). */
const char *kernel_syscall_kernel_name(int nr);

#endif
