/* SPDX-License-Identifier: MIT */
/*
 * inproc/usdt/usdt.h - USDT marks (sys/sdt.h) that record ordinary events from inside the program.
 *
 * A mark is one nop of the program.  A plan (abi/plan.h) names its window of at least five bytes,
 * which become a jump to a stub.  The stub gathers the operands, packs them as fields of the event
 * PROVIDER:NAME, and writes it by the path of every other event.
 *
 *   (1) every register, flag and vector register is the program's again when the stub returns, and
 *       the red zone is left alone
 *   (2) marks of one object with equal name and fields are one event
 *   (3) memory of marks is never freed: a thread may be in a stub for as long as it likes
 *
 * Here lies no patching: inproc/calls has the stub's memory and the site's bytes.
 */
#ifndef INPROC_USDT_USDT_H
#define INPROC_USDT_USDT_H

#include "abi/plan.h"
#include "inproc/process.h"

struct usdt_mark {
	struct duet_i_site *event;
	uintptr_t bias;	     /* of its file's addresses */
	uintptr_t address;   /* of the nop */
	uintptr_t low, high; /* constants of its file: text there is readable while it is loaded */
	uint32_t n_operands;
	bool is_counted; /* in its semaphore; the caller's */
	struct abi_plan_operand operands[ABI_PLAN_OPERANDS_MAX];
};

/* The marks of one loaded object. */
struct usdt {
	struct usdt_mark *marks; /* NULL: there are none */
	struct duet_i_site *events;
	uint32_t n_marks, n_events, most;
	char *text;
	size_t text_used, text_bytes;
	const struct duet_i_api *api; /* of duet_i_register */
};

/* usdt_make - room for @n marks whose schemas have @schema_bytes in all, NULs included.  False: no
 * memory. */
bool usdt_make(struct usdt *u, uint32_t n, size_t schema_bytes) HIDDEN;

/*
 * usdt_add - add a mark at @address, with its @n operands.
 *
 * @schema: "LEVEL CHANNEL:NAME TYPE FIELD ...", @size bytes of it.
 * @low, @high: a segment of its file that is readable, or 0.
 *
 * The result lives as long as the process.  NULL: schema and operands disagree, or no room.
 */
struct usdt_mark *usdt_add(struct usdt *u, uint64_t address,
			   const struct abi_plan_operand *operands, uint32_t n, const char *schema,
			   size_t size, uintptr_t bias, uintptr_t low, uintptr_t high) HIDDEN;

/* usdt_entry_address - where stubs call; the mark is on the stack: see inproc/usdt/stub.c. */
uintptr_t usdt_entry_address(void) HIDDEN;

/* usdt_register - register the events of all marks, once all are added.  Takes process_lock: not from
 * a signal handler. */
void usdt_register(struct usdt *u) HIDDEN;

/* usdt_semaphore - count a mark's semaphore up (@by 1) or down (-1): the program then evaluates the
 * mark's arguments.  @at is writable memory of the object. */
void usdt_semaphore(uintptr_t at, int by) HIDDEN;

struct usdt_stub {
	const struct abi_plan_site *site;
	const uint8_t *code; /* site->code_bytes */
	const struct abi_plan_fixup *fixups;
	uintptr_t bias;
	struct usdt_mark *mark;
};

/* A stub has at most USDT_STUB_OVER bytes more than its displaced code. */
enum { USDT_STUB_MOST = 512, USDT_STUB_OVER = 64 };

/*
 * usdt_stub_write - write the stub for address @at, a multiple of 16, to @to, which has
 * USDT_STUB_MOST bytes.  It begins at its first byte.
 *
 * Returns its size, a multiple of 16, which does not depend on addresses; 0: something is farther
 * than 2 GiB, or the displaced code does not fit.
 */
uint32_t usdt_stub_write(uint8_t *to, uintptr_t at, const struct usdt_stub *s) HIDDEN;

#endif
