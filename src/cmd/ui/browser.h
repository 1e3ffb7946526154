/* SPDX-License-Identifier: MIT */
/* cmd/ui/browser.h - the user's browser, if there is a display to show it on. */
#ifndef CMD_UI_BROWSER_H
#define CMD_UI_BROWSER_H

#include <stdbool.h>

/* browser_open - open @address by $BROWSER or xdg-open, without waiting.  Does nothing without a
 * terminal or a display; returns whether one was started. */
bool browser_open(const char *address);

#endif
