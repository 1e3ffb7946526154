/* SPDX-License-Identifier: MIT */
/*
 * kernel/convert/processes.h - the process of a thread, for births.
 *
 * The kernel's sched_process_fork has the numbers of two threads; LTTng's has their processes too,
 * and analyses need them. task:task_newtask, which comes right before it on the same CPU, shows
 * whether the child is a thread of its parent's process. Threads that existed before are looked up
 * in /proc. Both are kept by thread in a table of fixed size.
 *
 * A thread that is unknown to the table and gone from /proc is taken for a process. That happens to
 * children only if task_newtask is not recorded, and to parents that were born on another CPU and
 * are gone before it was read.
 */
#ifndef KERNEL_CONVERT_PROCESSES_H
#define KERNEL_CONVERT_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

enum { KERNEL_PROCESSES = 4096 }; /* places of the table, a power of two */

struct kernel_processes {
	struct {
		int32_t tid, pid; /* 0: unused */
	} of[KERNEL_PROCESSES];
	int32_t born; /* by the last kernel_processes_born(), until it is asked for; 0: none */
};

/* kernel_processes_born - @child of thread @parent: a thread of its process, or a process. */
void kernel_processes_born(struct kernel_processes *p, int32_t parent, int32_t child,
			   bool is_thread);
/* kernel_processes_child - the process of @child, which is being born. */
int32_t kernel_processes_child(struct kernel_processes *p, int32_t child);
/* kernel_processes_of - the process of an older thread. */
int32_t kernel_processes_of(struct kernel_processes *p, int32_t tid);

#endif
