/* SPDX-License-Identifier: MIT */
/* analysis/syscalls/described.h - structures that a description shows, field by field: for structs.c
 * alone. */
#ifndef ANALYSIS_SYSCALLS_DESCRIBED_H
#define ANALYSIS_SYSCALLS_DESCRIBED_H

#include "analysis/syscalls/memory.h"

/* call_described_add - like call_memory_add(), for memory that has a type (capture/table.h). */
bool call_described_add(struct text *t, const struct call_memory *m, const struct call_moment *x);

#endif
