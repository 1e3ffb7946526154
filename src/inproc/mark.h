/* SPDX-License-Identifier: MIT */
/* inproc/mark.h - what a mark records: its printf format as a schema.  duet uses it on files too. */
#ifndef INPROC_MARK_H
#define INPROC_MARK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * mark_schema - turn a printf format into schema words, and the codes for mark_emit.
 *
 * Returns false if it has a conversion that cannot be recorded.
 */
bool mark_schema(const char *format, char *schema, size_t schema_size, char *codes,
		 size_t codes_size) __attribute__((visibility("hidden")));

#endif
