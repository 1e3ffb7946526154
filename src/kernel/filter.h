/* SPDX-License-Identifier: MIT */
/*
 * kernel/filter.h - a filter expression (duet-filter(7)) in the syntax of the kernel's event
 * filters.
 *
 * The kernel can compare a field with a constant, and join comparisons by &&, || and !. Anything
 * else is refused, by duet with the column or by the kernel when the filter is set. Names and
 * values are those in the recording. Linux, Documentation/trace/events.rst, section 5.
 */
#ifndef KERNEL_FILTER_H
#define KERNEL_FILTER_H

#include "base/diag.h"
#include "base/text.h"
#include "kernel/tracefs/format.h"

/*
 * kernel_filter - append the translation of @expression for events of @system to @out. @f has their
 * fields.
 *
 * Returns 0; -EINVAL if it cannot be translated, with the reason in @d; -ENOMEM.
 */
int kernel_filter(const char *expression, const char *system, const struct kernel_format *f,
		  struct text *out, struct diag *d);

#endif
