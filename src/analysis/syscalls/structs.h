/* SPDX-License-Identifier: MIT */
/* analysis/syscalls/structs.h - structures of the kernel as text, for memory.c alone. */
#ifndef ANALYSIS_SYSCALLS_STRUCTS_H
#define ANALYSIS_SYSCALLS_STRUCTS_H

#include "analysis/syscalls/memory.h"

/* call_struct_add - like call_memory_add(), for structures of one size and arrays of them. */
bool call_struct_add(struct text *t, const struct call_memory *m, const struct call_moment *x);

/* The memory of ioctl(), getsockopt() and fcntl() depends on their command argument. */
bool call_control_add(struct text *t, const struct call_memory *m, const struct call_moment *x);
bool call_option_add(struct text *t, const struct call_memory *m, const struct call_moment *x);
bool call_lock_add(struct text *t, const struct call_memory *m, const struct call_moment *x);

/* call_set_add - "[INT CHLD]", or "~[KILL STOP]" if that is shorter. */
void call_set_add(struct text *t, uint64_t set);

#endif
