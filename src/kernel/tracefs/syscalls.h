/* SPDX-License-Identifier: MIT */
/* kernel/tracefs/syscalls.h - system calls by number, as this architecture numbers them. */
#ifndef KERNEL_TRACEFS_SYSCALLS_H
#define KERNEL_TRACEFS_SYSCALLS_H

enum { KERNEL_SYSCALLS_MAX = 512 }; /* numbers are below */

/* The name in unistd.h, or NULL. */
const char *kernel_syscall_name(int nr);

/* The name the kernel's own events use, which differs for a few (fstat: newfstat). */
const char *kernel_syscall_kernel_name(int nr);

#endif
