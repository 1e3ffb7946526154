/* SPDX-License-Identifier: MIT */
/* inproc/mark.h - what a mark records: its printf format as a schema.  duet uses it on files too. */
#ifndef INPROC_MARK_H
#define INPROC_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * mark_schema - turn a printf format into schema words, and the codes for mark_emit.
 *
 * Returns false if it has a conversion that cannot be recorded.
 */
bool mark_schema(const char *format, char *schema, size_t schema_size, char *codes,
		 size_t codes_size) __attribute__((visibility("hidden")));

/*
 * How mark_emit() packs the arguments; decided once by the codes.  In all plans but MARK_BY_CODES the
 * arguments lie in registers, and so does the payload: at most four integers, or at most three and a
 * string without a limit behind them.
 */
enum {
	MARK_BY_CODES = '-',
	MARK_WORDS_32 = 'w',
	MARK_WORDS_64 = 'q',
	MARK_WORDS_MIXED = 'm',
	MARK_TEXT_32 = 't', /* the integers take at most 16 bytes, as in MARK_TEXT_64 */
	MARK_TEXT_64 = 'u',
};

/* mark_plan - the plan for @codes.  @fixed_size: receives the bytes of the integers. */
char mark_plan(const char *codes, uint32_t *fixed_size) __attribute__((visibility("hidden")));

#endif
