/* SPDX-License-Identifier: MIT */
/*
 * cmd/export/span.h - the time between two times of a recording.
 *
 * A damaged or hostile recording may hold any two times, and their distance may exceed 64
 * bits.  It is limited then: such a time has no meaning.
 */
#ifndef CMD_EXPORT_SPAN_H
#define CMD_EXPORT_SPAN_H

#include <stdint.h>

/* span_ns - @to minus @from, at least -INT64_MAX and at most INT64_MAX: so it can be negated. */
static inline int64_t span_ns(int64_t from, int64_t to)
{
	int64_t ns;

	if (__builtin_sub_overflow(to, from, &ns))
		return to < from ? -INT64_MAX : INT64_MAX;
	return ns < -INT64_MAX ? -INT64_MAX : ns;
}

#endif
