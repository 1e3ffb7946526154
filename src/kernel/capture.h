/* SPDX-License-Identifier: MIT */
/*
 * kernel/capture.h - what else than texts is read where arguments of system calls point to, and as which field.
 *
 * A call has at most one such argument, at its entry or at its end.  Only our BPF programs read there
 * (kernel/bpf_calls.c); the fields: docs/design/kernel.md.
 */
#ifndef KERNEL_CAPTURE_H
#define KERNEL_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

enum kernel_capture_kind {
	KERNEL_CAPTURE_ADDRESS, /* a sockaddr, of as many bytes as another argument says */
	KERNEL_CAPTURE_TIME, /* a timespec */
	KERNEL_CAPTURE_ARGV, /* pointers to texts, the last of them NULL */
};

enum {
	KERNEL_CAPTURE_ADDRESS_MAX = 128, /* sockaddr_storage */
	KERNEL_CAPTURE_TIME_SIZE = 16,
	KERNEL_CAPTURE_ARGS = 8,
	KERNEL_CAPTURE_ARG_MAX = 64, /* with its end */
	KERNEL_CAPTURE_MAX = KERNEL_CAPTURE_ARGS * KERNEL_CAPTURE_ARG_MAX + 3, /* bytes */
};

struct kernel_capture {
	const char *call; /* its name */
	bool is_at_exit;
	uint8_t kind;
	uint8_t argument; /* counted from 1 */
	uint8_t size_argument; /* at an end it points to the size; 0: none */
};

/* kernel_capture_of - what is captured of a call; NULL: nothing.  @call may be NULL. */
const struct kernel_capture *kernel_capture_of(const char *call, bool is_at_exit);

/* The field, and the bytes of an element of it. */
const char *kernel_capture_field(const struct kernel_capture *c);
unsigned kernel_capture_element(const struct kernel_capture *c);

#endif
