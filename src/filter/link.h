/* SPDX-License-Identifier: MIT */
/* filter/link.h - what a finder of names adds to a filter it has linked. */
#ifndef FILTER_LINK_H
#define FILTER_LINK_H

#include "filter/filter.h"

/* filter_extend - @bytes more at the filter's end, aligned to 8.  Returns where, from its
 * beginning; 0 if
 * @capacity has no room. */
uint32_t filter_extend(struct filter *f, size_t capacity, size_t bytes);

#endif
