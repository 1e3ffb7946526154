/* SPDX-License-Identifier: MIT */
/*
 * trace/text/addresses.h - resolves addresses in lines to functions: contexts `ip` and
 * `callstack_user`, and fields `ip`, `func`, `parent_ip` and `ret_ip` of kernel events; `uaddr` of
 * futex() to variables.
 *
 * Uses .duet/maps of the recordings, and the files that were mapped, if they have not changed
 * since.
 */
#ifndef TRACE_TEXT_ADDRESSES_H
#define TRACE_TEXT_ADDRESSES_H

#include "trace/text/output.h"
#include "trace/public.h"

struct addresses;

/* addresses_open - for the recordings @paths, which are borrowed.  0 or -errno. */
int addresses_open(struct addresses **symbols, const char *const *paths, int n, struct diag *d);
void addresses_close(struct addresses *symbols); /* accepts NULL */

enum address_kind {
	ADDRESS_NONE,
	ADDRESS_RETURN, /* behind a call, which may be the function's last instruction */
	ADDRESS_EXACT,	/* in the function */
	ADDRESS_DATA,	/* of a variable */
};

/* address_kind_of - the kind of addresses in field @name or its elements.  @is_context: it is
 * a context, not an event's own field.  @is_kernel: the event is a kernel event. */
enum address_kind address_kind_of(const char *name, size_t size, bool is_context, bool is_kernel);

/*
 * addresses_add - print " (function)", " (variable in file)" or " (file+0xoffset)" behind an address of process @pid;
 * nothing if it is unknown.  @clock: the event's time in units of the trace's clock.
 */
void addresses_add(struct out *o, struct addresses *symbols, int64_t pid, uint64_t clock,
		   uint64_t address, enum address_kind kind);

#endif
