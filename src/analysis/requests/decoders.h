/* SPDX-License-Identifier: MIT */
/* analysis/requests/decoders.h - types of memory that one argument of a call decides, for decoders.c
 * alone. */
#ifndef ANALYSIS_REQUESTS_DECODERS_H
#define ANALYSIS_REQUESTS_DECODERS_H

#include "analysis/syscalls/structs.h"

bool request_ptrace_add(struct text *t, const struct call_memory *m, const struct call_moment *x);
bool request_perf_add(struct text *t, const struct call_memory *m, const struct call_moment *x);
bool request_key_add(struct text *t, const struct call_memory *m, const struct call_moment *x);
bool request_bpf_add(struct text *t, const struct call_memory *m, const struct call_moment *x);

#endif
