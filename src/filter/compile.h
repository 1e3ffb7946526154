/* SPDX-License-Identifier: MIT */
/*
 * filter/compile.h - an expression to byte code, and what a person is told.  Not for libduet.
 *
 * The language is that of duet-filter(7).
 */
#ifndef FILTER_COMPILE_H
#define FILTER_COMPILE_H

#include "base/diag.h"
#include "filter/filter.h"

struct filter_code {
	uint32_t size; /* bytes used: a struct abi_filter and what belongs to it */
	uint8_t bytes[ABI_FILTER_BYTES_MAX] __attribute__((aligned(8)));
};

/*
 * filter_compile - compile @text.
 *
 * Returns 0; -EINVAL with the reason, the column and what to do in @d; -E2BIG if it is too long or
 * too deep.  What it makes filter_link() accepts, if the names are there and of fitting types.
 */
int filter_compile(const char *text, struct filter_code *code, struct diag *d);

/* filter_explain - why filter_link() failed, in words: "there is no field `sise`".  Returns @err.
 */
int filter_explain(const struct filter_problem *p, int err, struct diag *d);

/*
 * filter_each_name - the names in code that filter_compile() made, in order; some may come twice.
 *
 * @tell: is lent each name, NUL-terminated.
 */
void filter_each_name(const struct filter_code *code,
		      void (*report)(void *context, bool is_context, const char *name),
		      void *context);

/* filter_distance - how unlike two names are: letters to insert, delete or replace; at most 255. */
unsigned filter_distance(const char *a, const char *b);

#endif
