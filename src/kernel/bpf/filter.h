/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/filter.h - a filter expression (duet-filter(7)) as instructions of a BPF program.
 *
 * It supports exactly what the kernel's own filters do: integers and texts of the event compared
 * with constants, joined by &&, || and !. The meaning is the same too: values are the kernel's,
 * before they are converted for the recording (kernel/filter.h). Other filters are left to
 * tracefs.
 */
#ifndef KERNEL_BPF_FILTER_H
#define KERNEL_BPF_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/code.h"

/* A field that a program can evaluate before there is a record. */
struct bpf_filter_field {
	uint8_t size; /* bytes; integers 1 to 8; texts a multiple of 8, up to 32 */
	bool is_text;
	bool is_unsigned;
	int64_t shift; /* the kernel's value minus the recorded one */
	int number;    /* the finder's own */
};

struct bpf_filter_fields {
	/* False: there is no such field. */
	bool (*find)(const struct bpf_filter_fields *f, const char *name,
		     struct bpf_filter_field *field);
	/* R1 becomes the value, in 64 bits; for a text R8 becomes its address. May destroy R2 to R5
	 * and R8. */
	void (*fetch)(const struct bpf_filter_fields *f, struct bpf_code *c,
		      const struct bpf_filter_field *field);
};

/*
 * bpf_filter - append code that continues if @expression holds, and jumps to @leave if not. Uses R0
 * to R5, the registers of fetch(), and the stack below parts.h's.
 *
 * Returns 0; -EOPNOTSUPP if it cannot be compiled: then @c is unusable.
 */
int bpf_filter(struct bpf_code *c, const char *expression, const struct bpf_filter_fields *f,
	       int leave);

#endif
