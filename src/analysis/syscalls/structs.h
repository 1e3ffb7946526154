/* SPDX-License-Identifier: MIT */
/* analysis/syscalls/structs.h - structures of the kernel as text, for memory.c alone. */
#ifndef ANALYSIS_SYSCALLS_STRUCTS_H
#define ANALYSIS_SYSCALLS_STRUCTS_H

#include <string.h>

#include "analysis/syscalls/memory.h"

/* Numbers in the memory; the caller has checked its size. */
static inline uint64_t u64(const struct call_memory *m, size_t at)
{
	uint64_t v;

	memcpy(&v, m->bytes + at, sizeof v);
	return v;
}

static inline uint32_t u32(const struct call_memory *m, size_t at)
{
	uint32_t v;

	memcpy(&v, m->bytes + at, sizeof v);
	return v;
}

static inline uint16_t u16(const struct call_memory *m, size_t at)
{
	uint16_t v;

	memcpy(&v, m->bytes + at, sizeof v);
	return v;
}

/* call_struct_add - like call_memory_add(), for structures of one size and arrays of them. */
bool call_struct_add(struct text *t, const struct call_memory *m, const struct call_moment *x);

/* The memory of ioctl(), getsockopt() and fcntl() depends on their command argument. */
bool call_control_add(struct text *t, const struct call_memory *m, const struct call_moment *x);
bool call_option_add(struct text *t, const struct call_memory *m, const struct call_moment *x);
bool call_lock_add(struct text *t, const struct call_memory *m, const struct call_moment *x);

/* call_siginfo - the 48 bytes of a siginfo at @info. call_siginfo_codes - the names of its codes. */
void call_siginfo(struct text *t, const uint8_t *info);
const struct call_name *call_siginfo_codes(int signal, int64_t code);
/* call_ticks - "14", with the seconds as a comment. */
void call_ticks(struct text *t, int64_t ticks);
/* call_stamp - a time with @digits (6, 9) below the second, and its date as a comment. */
void call_stamp(struct text *t, int64_t seconds, uint64_t fraction, int digits);

/* Each needs the size of its structure up to the size of the file. */
void call_stat_add(struct text *t, const struct call_memory *m);
void call_statx_add(struct text *t, const struct call_memory *m);

/* call_set_add - "[INT CHLD]", or "~[KILL STOP]" if that is shorter. */
void call_set_add(struct text *t, uint64_t set);

#endif
