/* SPDX-License-Identifier: MIT */
/*
 * cmd/view/symbols.h - the names of functions behind addresses in lines: contexts `ip` and
 * `callstack_user`, and of the kernel's events `ip`, `func`, `parent_ip` and `ret_ip`.
 *
 * By .duet/maps of the recordings, and the files that lay there then, if they still are the same.
 */
#ifndef CMD_VIEW_SYMBOLS_H
#define CMD_VIEW_SYMBOLS_H

#include "cmd/view/output.h"
#include "trace/trace.h"

struct view_where;

/* view_where_open - of the recordings @paths; lent.  0 or -errno. */
int view_where_open(struct view_where **where, const char *const *paths, int n, struct diag *d);
void view_where_close(struct view_where *where); /* accepts NULL */

enum view_where_kind {
	VIEW_WHERE_NONE,
	VIEW_WHERE_RETURN, /* behind a call; which may be its function's last instruction */
	VIEW_WHERE_EXACT,  /* in the function */
};

/* view_where_is - what addresses the elements, or the value, of field @name are.  @is_context: it
 * is a context, not a field that an event has.  @is_kernel: it is an event of the kernel's. */
enum view_where_kind view_where_is(const char *name, size_t size, bool is_context, bool is_kernel);

/*
 * view_where_add - " (function)", or " (file+0xoffset)" behind an address of process @pid; nothing
 * if nobody knows it.  @clock: when, of the trace's clock.
 */
void view_where_add(struct out *o, struct view_where *where, int64_t pid, uint64_t clock,
		    uint64_t address, enum view_where_kind kind);

#endif
