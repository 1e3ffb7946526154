/* SPDX-License-Identifier: MIT */
/*
 * filter/compile.h - compile an expression to byte code, and explain errors.  Not for libduet.
 *
 * The language is that of duet-filter(7).
 */
#ifndef FILTER_COMPILE_H
#define FILTER_COMPILE_H

#include "base/diag.h"
#include "filter/filter.h"

struct filter_code {
	uint32_t size; /* bytes used: a struct abi_filter, code and data */
	uint8_t bytes[ABI_FILTER_BYTES_MAX] __attribute__((aligned(8)));
};

/*
 * filter_compile - compile @text.
 *
 * Returns 0; -EINVAL with the reason, the column and the remedy in @d; -E2BIG if it is too long or
 * too deep; -ENOMEM.  filter_link() accepts the result if the names exist and have fitting types.
 */
int filter_compile(const char *text, struct filter_code *code, struct diag *d);

/* filter_explain - describe a failure of filter_link(): "there is no field `sise`".  Returns
 * @err. */
int filter_explain(const struct filter_problem *p, int err, struct diag *d);

/*
 * filter_each_name - report the names in code from filter_compile(), in order and with repetitions.
 *
 * @report: receives each name, NUL-terminated and valid during the call.
 */
void filter_each_name(const struct filter_code *code,
		      void (*report)(void *context, bool is_context, const char *name),
		      void *context);

/* filter_distance - the edit distance of two names: letters to insert, delete or replace; at most
 * 255. */
unsigned filter_distance(const char *a, const char *b);

#endif
