/* SPDX-License-Identifier: MIT */
/*
 * ui/index/scan.h - a track as cells: struct ui_scan of index.h.
 *
 * The caller locks.
 */
#ifndef UI_INDEX_SCAN_H
#define UI_INDEX_SCAN_H

#include "ui/index/track.h"

int scan_make_room(struct ui_scan *s); /* 0 or -ENOMEM */
/* track_scan - fill in @s, which has room. */
void track_scan(const struct track *t, int64_t ready_ns, struct ui_scan *s);

#endif
