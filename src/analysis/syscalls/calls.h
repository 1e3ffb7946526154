/* SPDX-License-Identifier: MIT */
/* analysis/syscalls/calls.h - the system calls a recording has events of, numbered, by event class.
 */
#ifndef ANALYSIS_SYSCALLS_CALLS_H
#define ANALYSIS_SYSCALLS_CALLS_H

#include "analysis/pass.h"
#include "kernel/convert/capture.h"

enum { CALL_ARGS = 6 };

enum call_event { CALL_NONE, CALL_ENTRY, CALL_EXIT };

struct fd_call;

struct call_class {
	enum call_event is;
	uint32_t call; /* index of its name */
	/* Entry: the arguments, in their order, of whatever type; exit: field[0] is the result. */
	const struct ctf_op *field[CALL_ARGS];
	const char *name[CALL_ARGS]; /* of the arguments; lent by the trace */
	uint32_t n_fields;
	/* What arguments point to, as far as events of this class tell it (memory.h). */
	struct kernel_captures memory;
	bool has_late; /* texts that the beginning lacks */
	/* Of a beginning: what the end may have, and whether there is more that events of it could
	 * tell of arguments. */
	struct kernel_captures at_exit;
	bool lacks_memory;
	const struct fd_call *fd; /* what it does to descriptors (fds.h); NULL: nothing */
};

struct calls {
	const char **names; /* lent by the trace */
	uint32_t n;
	struct call_class *classes; /* by class number */
	uint32_t n_classes;
	bool has_entries, has_exits;
};

int calls_init(struct calls *c, const struct pass *r); /* 0 or -ENOMEM */
/* calls_update - after trace_refresh(): what is new. */
int calls_update(struct calls *c, const struct pass *r);
void calls_fini(struct calls *c);

/* A call as it was made: what it is and with which numbers. */
struct call_made {
	const struct call_class *class; /* of the entry; NULL: not seen */
	uint32_t call;			/* plus 1; 0: none */
	int64_t args[CALL_ARGS];	/* 0: it is no number */
};

/* calls_read - what the entry event @e says. */
void calls_read(const struct call_class *class, const struct trace_event *e, struct call_made *m);

/* calls_object - what a call is about, if a number says it: a descriptor (fd), a futex (uaddr).
 * Its field's name and the number; NULL if there is none. */
const char *calls_object(const struct call_made *m, int64_t *number);

#endif
