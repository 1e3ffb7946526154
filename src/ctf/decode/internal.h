/* SPDX-License-Identifier: MIT */
/*
 * ctf/decode/internal.h - shared by the files that compile types to programs: see class.h.
 *
 * 	class.c          scopes, passes, programs
 * 	compile_field.c  a type to operations
 * 	compile_name.c   resolves the name of a length or a tag to a field
 */
#ifndef CTF_DECODE_INTERNAL_H
#define CTF_DECODE_INTERNAL_H

#include "ctf/decode/class.h"

enum { COMPILE_OUTER_MAX = 48 };
static const uint64_t COMPILE_STEPS_MAX = 1ull << 28;

/* Parents of the fields at the top level of a scope. */
enum { TOP_STREAM_CONTEXT = -2, TOP_EVENT_CONTEXT = -3, TOP_FIELDS = -4 };

struct node { /* a field that was visited */
	const char *name;
	int32_t parent; /* the node that contains it; TOP_... at the top level of a scope */
	uint32_t op;	/* its operation: numbers only */
	const struct ctf_type *type;
};

struct outer {		   /* an integer that packet or header save */
	const char *scope; /* "stream.event.header" */
	const char *name;
	const struct ctf_type *type;
	uint8_t slot;
};

struct compiler {
	struct ctf_meta *meta;
	struct ctf_op *ops;
	uint32_t n_ops, capacity;
	struct node *nodes;
	uint32_t n_nodes, node_capacity;
	uint8_t *slots; /* by position of the node; filled in the first pass */
	uint32_t n_slots_known;
	const struct outer *outer;
	int n_outer;
	bool uses_header;
	bool saves_all;	 /* compiling packet or header */
	const char *own; /* the name of that scope; NULL: an event */
	uint8_t n_slots; /* used so far */
	int scope;
	int loops;
	int32_t run;	    /* the open run, or -1 */
	uint32_t n_pending; /* OP_SAVEs of the open run */
	struct ctf_op *pending;
	uint32_t known_align; /* alignment of the position, outside of a run */
	uint64_t run_bits;
	struct ctf_op discarded; /* takes the operations that are emitted after an error */
	const char *option;	 /* of a variant: the name for the next node, instead of its own */
	char why[160];
	int err;
};

/* Only the first failure is kept. */
void compile_fail(struct compiler *c, const char *what, const char *name);

/* Never NULL: after a failure, the address of c->discarded. */
struct ctf_op *compile_emit(struct compiler *c, enum ctf_opcode code);

/* Opens a run, if necessary, at a position with this alignment, which is then c->run_bits. */
void compile_open_run(struct compiler *c, uint32_t align);
void compile_close_run(struct compiler *c);

/* Emits the operations of one field; @parent: its node, or TOP_... */
void compile_field(struct compiler *c, const char *name, const struct ctf_type *t, int32_t parent);

/* The slot of the number that @path refers to; its type in @t. */
uint8_t compile_slot_of(struct compiler *c, int32_t from, const char *path,
			const struct ctf_type **t, int32_t *node);

/* Hides a length that is named after its sequence @name. */
void compile_hide_length(struct compiler *c, int32_t node, const char *name);

const char *compile_shown_name(const char *name);

#endif
