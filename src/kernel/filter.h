/* SPDX-License-Identifier: MIT */
/*
 * kernel/filter.h - a filter expression (duet-filter(7)) as the kernel's event filters spell it.
 *
 * The kernel knows comparisons of a field with a constant, joined by &&, || and !: what is more
 * than that is refused, by us with the column, or by the kernel when it is set.  Names and values
 * are those that the recording shows.  Linux, Documentation/trace/events.rst, section 5.
 */
#ifndef KERNEL_FILTER_H
#define KERNEL_FILTER_H

#include "base/diag.h"
#include "base/text.h"
#include "kernel/tracefs/format.h"

/*
 * kernel_filter - add to @out what @expression means for events of @system whose fields @f tells.
 *
 * Returns 0; -EINVAL if it cannot be said, with the reason in @d; -ENOMEM.
 */
int kernel_filter(const char *expression, const char *system, const struct kernel_format *f,
		  struct text *out, struct diag *d);

#endif
