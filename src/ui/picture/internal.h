/* SPDX-License-Identifier: MIT */
/* ui/picture/internal.h - what the files of this room share beside lanes.h. */
#ifndef UI_PICTURE_INTERNAL_H
#define UI_PICTURE_INTERNAL_H

#include "ui/query/answer.h"

/* The member "gaps"; those that are so near that they look like one are joined, so that there are at
 * most 200. */
void ui_add_gaps(struct text *t, struct ui_index *x, int64_t from, int64_t to);

#endif
