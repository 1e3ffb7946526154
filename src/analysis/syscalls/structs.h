/* SPDX-License-Identifier: MIT */
/* analysis/syscalls/structs.h - the kernel's structures in words, for memory.c alone. */
#ifndef ANALYSIS_SYSCALLS_STRUCTS_H
#define ANALYSIS_SYSCALLS_STRUCTS_H

#include "analysis/syscalls/memory.h"

/* call_struct_add - as call_memory_add(), of the kinds that are structures of one size, or rows of
 * such. */
bool call_struct_add(struct text *t, const struct call_memory *m, const struct call_moment *x);

/* What ioctl(), getsockopt() and fcntl() have depends on what they are asked for. */
bool call_control_add(struct text *t, const struct call_memory *m, const struct call_moment *x);
bool call_option_add(struct text *t, const struct call_memory *m, const struct call_moment *x);
bool call_lock_add(struct text *t, const struct call_memory *m, const struct call_moment *x);

/* call_set_add - "[INT CHLD]", or if it is shorter "~[KILL STOP]". */
void call_set_add(struct text *t, uint64_t set);

#endif
