/* SPDX-License-Identifier: MIT */
/*
 * bpf/functions.h - the types of a program's functions, as the kernel wants them.
 *
 * A function that is described as global is verified once, by itself: its arguments may be any
 * numbers, and its callers only learn that the result is one. Without types the verifier walks a
 * function again for each call, with the caller's knowledge of registers. (Linux 5.6,
 * Documentation/bpf/btf.rst: BTF_KIND_FUNC, func_info.)
 */
#ifndef BPF_FUNCTIONS_H
#define BPF_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/code.h"

/* The program itself is the first function. */
enum { BPF_FUNCTION_TYPES_MAX = 4096 };
struct bpf_function_types {
	uint8_t btf[BPF_FUNCTION_TYPES_MAX]; /* for BPF_BTF_LOAD */
	uint32_t size;
	struct bpf_func_info info[BPF_FUNCTIONS_MAX + 1];
	uint32_t n;
};

/* bpf_functions_describe - of @c, which is complete. False: it has no functions, or their names are too
 * long. */
bool bpf_functions_describe(struct bpf_function_types *t, const struct bpf_code *c);

#endif
