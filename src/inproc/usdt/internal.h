/* SPDX-License-Identifier: MIT */
/* inproc/usdt/internal.h - the way from the stub's call to the event; for this room. */
#ifndef INPROC_USDT_INTERNAL_H
#define INPROC_USDT_INTERNAL_H

#include "inproc/usdt/usdt.h"

/* The registers at the mark, by the processor's numbers. */
struct usdt_registers {
	uint64_t at[16];
};

enum { USDT_RSP = 4 };

/* usdt_entry - called by stubs, with the mark on the stack: saves all registers, calls usdt_hit. */
void usdt_entry(void) HIDDEN;

/* usdt_hit - record the mark.  Touches no vector register, unless through usdt_slowly. */
void usdt_hit(const struct usdt_mark *m, const struct usdt_registers *r) HIDDEN;

/* usdt_slowly - usdt_slow() with the vector state saved around it. */
void usdt_slowly(const struct usdt_mark *m, const void *payload, uint32_t size) HIDDEN;
void usdt_slow(const struct usdt_mark *m, const void *payload, uint32_t size) HIDDEN;

/* usdt_keep_start - find out how the vector state is saved.  Before the first stub runs. */
void usdt_keep_start(void) HIDDEN;

#endif
