/* SPDX-License-Identifier: MIT */
/*
 * kernel/probe/fetch.h - what a probe is to record, in the kernel's words.
 *
 * Pure.  The kernel's own expressions are passed through, and it says what it does not like; names
 * of arguments, and the operands of USDT notes, which are written as this machine's assembler does,
 * are translated.
 */
#ifndef KERNEL_PROBE_FETCH_H
#define KERNEL_PROBE_FETCH_H

#include <stdbool.h>

#include "base/diag.h"
#include "base/text.h"

/* kernel_fetch_argument - "NAME=EXPRESSION:TYPE", @size bytes, added to @t behind a blank.
 * @in_kernel: of a function of the kernel's; then "$arg*" too.  0 or -EINVAL. */
int kernel_fetch_argument(const char *word, size_t size, bool in_kernel, struct text *t,
			  struct diag *d);

/*
 * kernel_fetch_operands - those of a note, "-4@%edi 8@-16(%rbp)", added to @t.
 *
 * @names: "id item:str", separated by blanks or commas; what has no name is called arg1, arg2, ...
 *
 * @is_one: the names are this marker's alone: it must have as many arguments.
 *
 * Returns how many were left out because the kernel cannot fetch them, or -EINVAL for bad names.
 */
int kernel_fetch_operands(const char *operands, const char *names, bool is_one, struct text *t,
			  struct diag *d);

#endif
