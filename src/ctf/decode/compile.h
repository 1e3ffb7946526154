/* SPDX-License-Identifier: MIT */
/*
 * ctf/decode/compile.h - inside compiling types to programs: see class.h and class.c.
 *
 * class.c          scopes, passes, programs
 * compile_field.c  a type to operations
 * compile_name.c   which field a length's or a tag's name means
 */
#ifndef CTF_DECODE_COMPILE_H
#define CTF_DECODE_COMPILE_H

#include "ctf/decode/class.h"

enum { COMPILE_OUTER_MAX = 48 };
static const uint64_t COMPILE_STEPS_MAX = 1ull << 28;

/* Parents of what is at the top of a scope. */
enum { TOP_STREAM_CONTEXT = -2, TOP_EVENT_CONTEXT = -3, TOP_FIELDS = -4 };

struct node { /* a field already visited */
	const char *name;
	int32_t parent; /* node it is in; TOP_... at the top of a scope */
	uint32_t op;	/* that shows it: numbers only */
	const struct ctf_type *type;
};

struct outer {		   /* what packet and header save */
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
	uint8_t *slots; /* by place of node; the first pass fills it */
	uint32_t n_slots_known;
	const struct outer *outer;
	int n_outer;
	bool uses_header;
	bool saves_all;	 /* compiling packet or header */
	uint8_t n_slots; /* used so far */
	int scope;
	int loops;
	int32_t run;	    /* the open run, or -1 */
	uint32_t n_pending; /* saves of the open run */
	struct ctf_op *pending;
	uint32_t known_align; /* of the place, outside of a run */
	uint64_t run_bits;
	struct ctf_op nowhere; /* takes what is emitted after an error */
	const char *option;    /* a variant's: the name of the next node instead of its own */
	char why[160];
	int err;
};

/* The first failure counts. */
void compile_fail(struct compiler *c, const char *what, const char *name);

/* Never NULL: after a failure, a place where nothing matters. */
struct ctf_op *compile_emit(struct compiler *c, enum ctf_opcode code);

/* Makes sure a run is open at a place so aligned; the place is then c->run_bits. */
void compile_open_run(struct compiler *c, uint32_t align);
void compile_close_run(struct compiler *c);

/* The operations of one field; @parent: its node, or TOP_... */
void compile_field(struct compiler *c, const char *name, const struct ctf_type *t, int32_t parent);

/* Where the number that @path means is saved; its type through @t. */
uint8_t compile_slot_of(struct compiler *c, int32_t from, const char *path,
			const struct ctf_type **t, int32_t *node);

/* A length named after its sequence @name is not shown. */
void compile_hide_length(struct compiler *c, int32_t node, const char *name);

const char *compile_shown_name(const char *name);

#endif
