/* SPDX-License-Identifier: MIT */
/*
 * analysis/call_memory.h - what an argument of a system call points to, where the recording has it: addresses of
 * sockets, times, programs' arguments, in words.
 *
 * Which call has what, and at its beginning or its end, is kernel/capture.h's.  The bytes are of a trace file: of any
 * number, and of anything.
 */
#ifndef ANALYSIS_CALL_MEMORY_H
#define ANALYSIS_CALL_MEMORY_H

#include "base/text.h"
#include "ctf/decode.h"
#include "kernel/capture.h"

struct call_memory {
	const struct kernel_capture *what; /* NULL: nothing */
	uint32_t size;
	uint8_t bytes[KERNEL_CAPTURE_MAX];
};

/* call_memory_is_in - whether events of class @c have a field for it. */
bool call_memory_is_in(const struct kernel_capture *what, const struct ctf_event_class *c);

/* call_memory_read - what @e has of it; what is longer than @m has room for is cut. */
void call_memory_read(struct call_memory *m, const struct kernel_capture *what, const struct ctf_event *e);

/* call_memory_add - "{tv_sec=0, tv_nsec=1000}", as strace has it.  False, and nothing is added, if the bytes are too few. */
bool call_memory_add(struct text *t, const struct call_memory *m);

#endif
