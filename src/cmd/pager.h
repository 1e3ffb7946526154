/* SPDX-License-Identifier: MIT */
/*
 * cmd/pager.h - long output on a terminal page by page, and the width of that terminal.
 *
 * The pager is $DUET_PAGER, $PAGER, or less(1) if it is there; "" and "cat" mean none.  less ends
 * by itself where all fits on one screen.  A user that leaves it early is no error: the rest is not
 * written (EPIPE).
 */
#ifndef CMD_PAGER_H
#define CMD_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

/* pager_disable - --no-pager: pager_open does nothing. */
void pager_disable(void);

/*
 * pager_prepare - fork the process that becomes the pager when it gets text.  Later
 * this process may not execute programs any more (cmd/confine/reader.h).  Both
 * do nothing if standard output is no terminal.
 */
void pager_prepare(void);
/*
 * pager_open - if standard output is a terminal, send it through the pager.  Does nothing if there
 * is one already.  Ctrl-C is the pager's from here on: without this process it would lose its
 * input.
 */
void pager_open(void);
/* pager_close - flush standard output, close the pager's input and wait for its end. */
void pager_close(void);

/* terminal_is_shown_to - whether standard output is a terminal, or a pager on one. */
bool terminal_is_shown_to(void);
/* terminal_width - its columns; 0: it is no terminal, or its width is not known. */
int terminal_width(void);

#endif
