/* SPDX-License-Identifier: MIT */
/* filter/link.h - extend a linked filter, for those that find names. */
#ifndef FILTER_LINK_H
#define FILTER_LINK_H

#include "filter/filter.h"

/* filter_extend - add @bytes at the filter's end, aligned to 8.  Returns their offset in the
 * filter; 0 if @capacity has no room. */
uint32_t filter_extend(struct filter *f, size_t capacity, size_t bytes);

#endif
