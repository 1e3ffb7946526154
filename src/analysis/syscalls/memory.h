/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/memory.h - what an argument of a system call points to, where the recording has
 * it: addresses of sockets, times, programs' arguments, what was read and written, structures; in
 * words, as strace has them.
 *
 * Which call has what, and at its beginning or its end, is kernel/convert/capture.h's.  The bytes
 * are of a trace file: of any number, and of anything.
 */
#ifndef ANALYSIS_SYSCALLS_MEMORY_H
#define ANALYSIS_SYSCALLS_MEMORY_H

#include "base/text.h"
#include "ctf/decode/decode.h"
#include "kernel/convert/capture.h"

struct call_about;

struct call_memory {
	const struct kernel_capture *what; /* NULL: nothing */
	uint32_t size;
	uint8_t bytes[KERNEL_CAPTURE_MAX];
};

/* What else decides what it means. */
struct call_moment {
	const int64_t *args; /* of the call, CALL_ARGS of them */
	int64_t result;	     /* if it is its end */
	bool is_end;
	uint32_t string_bytes;		/* of buffers and the like, that are shown; 0: all */
	const struct call_about *about; /* may be NULL */
};

/* call_memory_is_in - whether events of class @c have a field for it. */
bool call_memory_is_in(const struct kernel_capture *what, const struct ctf_event_class *c);

/* call_memory_read - what @e has of it; what is longer than @m has room for is cut. */
void call_memory_read(struct call_memory *m, const struct kernel_capture *what,
		      const struct ctf_event *e);
/* call_memory_at_exit - the texts that an end has because its beginning lacks them, one behind the
 * other, each with its NUL, as many as room->size says; NULL: none. */
bool call_memory_at_exit_is_in(const struct ctf_event_class *c);
const char *call_memory_at_exit(const struct ctf_event *e, struct call_memory *room);

/* call_memory_add - "{tv_sec=0, tv_nsec=1000}", as strace has it.  False, and nothing is added, if
 * the bytes are too few. */
bool call_memory_add(struct text *t, const struct call_memory *m, const struct call_moment *x);

/* call_memory_waits - whether the argument is not shown before @what, which is of the call's end,
 * is known. */
bool call_memory_waits(const struct kernel_capture *what, const int64_t *args);

/* call_quoted_part - in quotes, at most as many as are shown, dots behind them if there are more;
 * @all: how many there were. */
void call_quoted_part(struct text *t, const uint8_t *bytes, uint64_t size, uint64_t all,
		      const struct call_moment *x);

#endif
