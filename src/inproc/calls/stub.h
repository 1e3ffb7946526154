/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/stub.h - the machine code of stubs: its layout is in inproc/calls/internal.h.
 */
#ifndef INPROC_CALLS_STUB_H
#define INPROC_CALLS_STUB_H

#include "inproc/calls/internal.h"
#include "inproc/calls/plan.h"
#include "inproc/usdt/usdt.h"

struct stub {
	uintptr_t bias;
	const struct plan *plan;
	const struct abi_plan_site *site;
	uint32_t function;
	uintptr_t enter, leave; /* addresses of the words with its hooks */
	/* The marks that record arguments and result (inproc/usdt); NULL: none. */
	const struct usdt_mark *arguments, *result;
};

/* Where its parts are, from its beginning. */
struct stub_parts {
	uint32_t head;			   /* sites jump here */
	uint32_t size;			   /* bytes, a multiple of 16 */
	uint32_t copies_begin, copies_end; /* copies of stack arguments are on the stack */
	uint32_t words;			   /* of marks */
	uint32_t copied;		   /* bytes; 0: none */
};

/* STUB_MARKS_BYTES: that a stub is longer with marks. */
enum { STUB_MOST_BYTES = 1024, STUB_MARKS_BYTES = 128 };

/*
 * stub_write - write a stub for address @at to @to, which has STUB_MOST_BYTES.
 *
 * It is switched on.  False: something is farther than 2 GiB, the displaced code does not fit, or
 * there are too many arguments on the stack.  @at is aligned to 16.
 */
bool stub_write(uint8_t *to, uintptr_t at, const struct stub *s, struct stub_parts *parts) HIDDEN;

/* stub_size - its size, which does not depend on addresses; 0: it cannot be made. */
uint32_t stub_size(const struct plan *plan, const struct abi_plan_site *site) HIDDEN;

/*
 * A stub is switched by one byte at its head, STUB_ON or STUB_OFF.  The first begins `test $x, %al`,
 * the second a jump to the body.  So the byte may change while threads run there.
 */
enum { STUB_ON = 0xa8, STUB_OFF = 0xeb };

#endif
