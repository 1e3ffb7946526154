/* SPDX-License-Identifier: MIT */
/*
 * ui/item/instances.h - which tracks have intervals or points of a name, and how many.
 *
 * Counted on demand and kept with the index.  Entries are only appended, so each is counted once; an
 * open one when it is closed.
 */
#ifndef UI_ITEM_INSTANCES_H
#define UI_ITEM_INSTANCES_H

#include "ui/query/query.h"

struct ui_instances;

/* ui_instances_take - counted up to now, and locked.  NULL: no memory, or @q was cancelled. */
struct ui_instances *ui_instances_take(struct ui_index *x, const struct ui_request *q);
void ui_instances_give(struct ui_instances *n); /* accepts NULL */

/* Of all tracks whose entries have names. */
uint64_t ui_instances_of(const struct ui_instances *n, uint32_t name);
uint32_t ui_instances_on(const struct ui_instances *n, uint32_t track, uint32_t name);
uint32_t ui_instances_n_tracks(const struct ui_instances *n);

#endif
