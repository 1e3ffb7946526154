/* SPDX-License-Identifier: MIT */
/*
 * kernel/probe/fetch.h - the data that a probe records, in the kernel's syntax.
 *
 * Pure. The kernel's own expressions pass through unchanged, and the kernel reports errors in them.
 * Names of arguments, and the operands of USDT notes, which use the assembler's syntax of this
 * machine, are translated.
 */
#ifndef KERNEL_PROBE_FETCH_H
#define KERNEL_PROBE_FETCH_H

#include <stdbool.h>

#include "base/diag.h"
#include "base/text.h"

/* kernel_fetch_argument - append "NAME=EXPRESSION:TYPE", given as @size bytes, to @t after a blank.
 * @in_kernel: for a function of the kernel; this allows "$arg*" too. 0 or -EINVAL. */
int kernel_fetch_argument(const char *word, size_t size, bool in_kernel, struct text *t,
			  struct diag *d);

/*
 * kernel_fetch_operands - append the operands of a note, "-4@%edi 8@-16(%rbp)", to @t.
 *
 * @names: "id item:str", separated by blanks or commas; arguments without a name are arg1, arg2,
 * ...
 *
 * @is_one: the names are for this marker only: it must have as many arguments.
 *
 * Returns how many were left out because the kernel cannot fetch them, or -EINVAL for bad names.
 */
int kernel_fetch_operands(const char *operands, const char *names, bool is_one, struct text *t,
			  struct diag *d);

#endif
