/* SPDX-License-Identifier: MIT */
/*
 * analysis/names/thread_stacks.h - the thread on whose stack an address lies, from the recorded system calls.
 *
 * A library of threads maps a stack with MAP_STACK; the thread that runs on it then registers its
 * list of robust locks, which lies in its descriptor at the end of that memory.  A stack that is
 * used again belongs to its newest thread.
 */
#ifndef ANALYSIS_NAMES_THREAD_STACKS_H
#define ANALYSIS_NAMES_THREAD_STACKS_H

#include <stdbool.h>
#include <stdint.h>

struct thread_stack {
	uint32_t process; /* the thread number of its leader */
	uint32_t thread;  /* 0: none yet */
	uint64_t begin, end;
	uint64_t robust_list; /* of the thread; 0: unknown */
};

struct thread_stacks {		 /* zeroed: empty */
	struct thread_stack *at; /* by process, then address */
	uint32_t n, n_rooms;
};

void thread_stacks_fini(struct thread_stacks *s);

/* thread_stacks_mapped - [@begin, @begin + @size) became a stack.  0 or -ENOMEM. */
int thread_stacks_mapped(struct thread_stacks *s, uint32_t process, uint64_t begin, uint64_t size);
void thread_stacks_unmapped(struct thread_stacks *s, uint32_t process, uint64_t begin,
			    uint64_t size);
/* thread_stacks_entered - @thread has its robust list at @list.  0 or -ENOMEM. */
int thread_stacks_entered(struct thread_stacks *s, uint32_t process, uint32_t thread,
			  uint64_t list);

/* thread_stacks_find - the stack that holds @address; NULL: none is known. */
const struct thread_stack *thread_stacks_find(const struct thread_stacks *s, uint32_t process,
					      uint64_t address);

/* thread_stacks_is_end - whether the kernel wakes waiters at @address when the stack's thread ends: its tid in
 * glibc's `struct pthread`, which lies two words before the robust list. */
bool thread_stacks_is_end(const struct thread_stack *s, uint64_t address);

#endif
