/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/calls.h - the system calls of a recording, numbered, by event class.
 *
 * Each event class is looked up once, so that an event costs no comparison of names.
 */
#ifndef ANALYSIS_SYSCALLS_CALLS_H
#define ANALYSIS_SYSCALLS_CALLS_H

#include "analysis/pass.h"
#include "abi/capture.h"

enum { CALL_ARGS = 6 };

enum call_event { CALL_NONE, CALL_ENTRY, CALL_EXIT };

struct fd_call;

struct call_class {
	enum call_event is;
	uint32_t call; /* index into `names` */
	/* Entry: the arguments, in order, of any type; exit: field[0] is the result. */
	const struct ctf_op *field[CALL_ARGS];
	const char *name[CALL_ARGS]; /* names of the arguments; borrowed from the trace */
	uint32_t n_fields;
	/* The captured memory of arguments that events of this class have (memory.h). */
	struct abi_captures memory;
	struct abi_captures files; /* exit: of descriptors (fds_files.c) */
	bool has_late;		   /* has texts that the entry lacks */
	/* Entry: the memory that the exit may have, and whether the kernel could record more than
	 * this class has. */
	struct abi_captures at_exit;
	bool lacks_memory;
	const struct fd_call *fd; /* its effect on descriptors (fds.h); NULL: none */
};

struct calls {
	const char **names; /* borrowed from the trace */
	uint32_t n;
	/* By class number.  A class keeps its address until calls_fini(): a reader that follows a
	 * recording keeps a call that was made (call_made) while new classes come. */
	const struct call_class **classes;
	uint32_t n_classes;
	bool lacks_room;
	bool has_entries, has_exits;
};

int calls_init(struct calls *c, const struct pass *r); /* 0 or -ENOMEM */
/* calls_update - after trace_refresh(): add new classes. */
int calls_update(struct calls *c, const struct pass *r);
void calls_fini(struct calls *c);

/* A call as it was made: its number and the values of its arguments. */
struct call_made {
	const struct call_class *class; /* of the entry; NULL: not seen */
	uint32_t call;			/* plus 1; 0: none */
	int64_t args[CALL_ARGS];	/* 0 if it is not a number */
};

/* calls_read - read the entry event @e. */
void calls_read(const struct call_class *class, const struct trace_event *e, struct call_made *m);

/* calls_object - the object of a call if a number identifies it: a descriptor (fd), a futex
 * (uaddr). Returns the field's name and sets the number; NULL if there is none. */
const char *calls_object(const struct call_made *m, int64_t *number);

#endif
