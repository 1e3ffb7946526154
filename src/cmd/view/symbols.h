/* SPDX-License-Identifier: MIT */
/*
 * cmd/view/symbols.h - resolves addresses in lines to functions: contexts `ip` and
 * `callstack_user`, and fields `ip`, `func`, `parent_ip` and `ret_ip` of kernel events.
 *
 * Uses .duet/maps of the recordings, and the files that were mapped, if they have not changed
 * since.
 */
#ifndef CMD_VIEW_SYMBOLS_H
#define CMD_VIEW_SYMBOLS_H

#include "cmd/view/output.h"
#include "trace/public.h"

struct view_symbols;

/* view_symbols_open - for the recordings @paths, which are borrowed.  0 or -errno. */
int view_symbols_open(struct view_symbols **symbols, const char *const *paths, int n,
		      struct diag *d);
void view_symbols_close(struct view_symbols *symbols); /* accepts NULL */

enum view_address_kind {
	VIEW_ADDRESS_NONE,
	VIEW_ADDRESS_RETURN, /* behind a call, which may be the function's last instruction */
	VIEW_ADDRESS_EXACT,  /* in the function */
};

/* view_address_kind_of - the kind of addresses in field @name or its elements.  @is_context: it is
 * a context, not an event's own field.  @is_kernel: the event is a kernel event. */
enum view_address_kind view_address_kind_of(const char *name, size_t size, bool is_context,
					    bool is_kernel);

/*
 * view_symbols_add - print " (function)", or " (file+0xoffset)", behind an address of process @pid;
 * nothing if it is unknown.  @clock: the event's time in units of the trace's clock.
 */
void view_symbols_add(struct out *o, struct view_symbols *symbols, int64_t pid, uint64_t clock,
		      uint64_t address, enum view_address_kind kind);

#endif
