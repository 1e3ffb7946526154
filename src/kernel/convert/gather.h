/* SPDX-License-Identifier: MIT */
/* kernel/convert/gather.h - the fields of a record that is not converted in place. */
#ifndef KERNEL_CONVERT_GATHER_H
#define KERNEL_CONVERT_GATHER_H

#include "kernel/convert/class.h"

/*
 * kernel_gather - put the fields into the scratch, because dynamic ones come from the end of the
 * record but may be wanted first.
 *
 * Returns false if a field is not inside the record, or if the result does not fit. One dynamic
 * field is never longer than its word (4 bytes) and its data, but several words may point to the
 * same data.
 */
bool kernel_gather(struct kernel_classes *c, const struct kernel_layout *l, const uint8_t *record,
		   size_t length, size_t *size);

#endif
