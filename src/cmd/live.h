/* SPDX-License-Identifier: MIT */
/* cmd/live.h - the parts of duet live. */
#ifndef CMD_LIVE_H
#define CMD_LIVE_H

#include <stdbool.h>

/* live_serve - let viewers that speak lttng-live attach to the recordings @paths, until a signal or, if all
 * have ended, until nobody is attached.  @address: [ADDRESS]:PORT, or NULL. */
int live_serve(const char *const *paths, int n, const char *address, bool anywhere, bool begin);

#endif
