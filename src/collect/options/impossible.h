/* SPDX-License-Identifier: MIT */
/*
 * collect/options/impossible.h - impossible numbers that programs wrote into shared memory, as text.
 *
 * Plain data of a recording's result, one sentence for each program: collect/drain/bounds.h.
 */
#ifndef COLLECT_OPTIONS_IMPOSSIBLE_H
#define COLLECT_OPTIONS_IMPOSSIBLE_H

enum { IMPOSSIBLE_TEXT_BYTES = 1200 };

struct impossible {
	char text[IMPOSSIBLE_TEXT_BYTES]; /* lines, each ends with a line end; "" */
};

#endif
