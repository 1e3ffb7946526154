/* SPDX-License-Identifier: MIT */
/*
 * cmd/ui/browser.h - the user's browser, if there is a display to show it on.
 *
 * The server's sandbox can execute nothing.  So a process is forked before: it waits for the address,
 * opens it by $BROWSER or xdg-open, and exits.
 */
#ifndef CMD_UI_BROWSER_H
#define CMD_UI_BROWSER_H

/* browser_prepare - fork that process.  Does nothing without a terminal or a display. */
void browser_prepare(void);
/* browser_open - open @address, an address of our server, without waiting.  Does nothing if no
 * process was prepared. */
void browser_open(const char *address);

#endif
