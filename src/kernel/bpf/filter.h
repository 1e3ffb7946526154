/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/filter.h - a filter expression (duet-filter(7)) as instructions of a BPF program.
 *
 * What the kernel's own filters can say, no more: integers and texts of the event compared with
 * constants, joined by
 * &&, || and !.  It means the same: values are those that the kernel has, before they become what
 * is shown (kernel/filter.h).  The rest is left to tracefs.
 */
#ifndef KERNEL_BPF_FILTER_H
#define KERNEL_BPF_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/code.h"

/* A field that a program can tell before there is a record. */
struct bpf_filter_field {
	uint8_t size; /* bytes; of integers 1 to 8; of texts a multiple of 8, up to 32 */
	bool is_text;
	bool is_unsigned;
	int64_t shift; /* from what is shown to what the kernel has */
	int number;    /* the finder's own */
};

struct bpf_filter_fields {
	/* False: there is none of that name. */
	bool (*find)(const struct bpf_filter_fields *f, const char *name,
		     struct bpf_filter_field *field);
	/* R1 becomes the value, in 64 bits; of a text R8 its address.  R2 to R5 may change, R8 also
	 * else. */
	void (*fetch)(const struct bpf_filter_fields *f, struct bpf_code *c,
		      const struct bpf_filter_field *field);
};

/*
 * bpf_filter - add what goes on if @expression holds, and goes to @leave if not.  Uses R0 to R5,
 * what fetch() uses, and the stack below parts.h's.
 *
 * Returns 0; -EOPNOTSUPP if it cannot be said: then @c is of no use.
 */
int bpf_filter(struct bpf_code *c, const char *expression, const struct bpf_filter_fields *f,
	       int leave);

#endif
