/* SPDX-License-Identifier: MIT */
/*
 * unit/columns.h - the columns of table() and plot(): "process, calls=count, slowest=max:ns".
 *
 * First a heading for each key, then one for each value.  Of statistics a value is HEADING=NAME, or
 * NAME alone: count sum min max avg variance, or p and a per cent (p50, p99, p999 for 99.9).  A unit
 * behind a colon says how a number is shown: ns us ms s bytes.  Without text: all defaults.
 */
#ifndef SCRIPT_UNIT_COLUMNS_H
#define SCRIPT_UNIT_COLUMNS_H

#include "script/unit/unit.h"

enum { SCRIPT_COLUMNS_MAX = 24 };
enum script_column_unit { UNIT_NONE, UNIT_NS, UNIT_US, UNIT_MS, UNIT_S, UNIT_BYTES };

struct script_column {
	const char *heading; /* in the text, not ended by NUL */
	uint32_t heading_size;
	uint8_t unit;	   /* enum script_column_unit */
	uint8_t statistic; /* enum script_statistic; values of STATS only */
	int64_t parameter;
};

/*
 * script_columns_parse - the columns of an array with @n_keys keys.
 *
 * @columns: becomes keys, then values; it points into @text or to constants.
 * Returns their number; -EINVAL with the reason in @d.
 */
int script_columns_parse(struct script_column columns[SCRIPT_COLUMNS_MAX], const char *text,
			 uint32_t n_keys, bool is_stats, struct diag *d);

#endif
