/* SPDX-License-Identifier: MIT */
/*
 * ctf/decode/class.h - types compiled to programs: flat lists of operations that decode.c runs.
 *
 * Fields of known size are in runs: one alignment, one check against the end of the packet, then
 * each field at a fixed distance from the begin of its run.  A run ends where a field of unknown
 * size begins.  For every program:
 *
 * (1) it ends with OP_END, and every jump leads forward, except from OP_AGAIN to its OP_LOOP
 * (2) a slot is written (OP_SAVE) before an operation reads it
 * (3) skipping to the end of the event runs only the operations that move; OP_RUN names the first
 *     of those after it
 */
#ifndef CTF_DECODE_CLASS_H
#define CTF_DECODE_CLASS_H

#include "ctf/meta/meta.h"

enum { CTF_SLOTS = 64, CTF_LOOPS_MAX = 8, CTF_NO_SLOT = 255, CTF_COLUMNS_MAX = 64 };

enum ctf_opcode {
	/* These operations move. */
	/* align, check count bits, note the position; `to` is the first operation after it that
	 * moves */
	OP_RUN,
	OP_SAVE,	/* store an integer of the run in its slot */
	OP_STRING,	/* up to its NUL */
	OP_WIDE_STRING, /* of units of two or four bytes: see ctf/decode/encoding.h */
	OP_LEB128,   /* an integer, seven bits in each byte; stored in the slot if there is one */
	OP_SEQUENCE, /* of numbers; the count is in the slot */
	OP_TEXT_SEQUENCE,
	OP_LOOP, /* repeat `count` times, or the number in the slot, up to OP_AGAIN at `to` */
	OP_AGAIN,
	OP_CHOICE, /* one of `cases`, by the tag in the slot */
	OP_JUMP,   /* the end of a case */
	OP_END,
	/* These operations only give out values of a run. */
	OP_NUMBER, /* integer, float or enum: see `type` */
	OP_ARRAY,  /* of `count` numbers */
	OP_TEXT_ARRAY,
	OP_OPEN, /* struct */
	OP_CLOSE,
	OP_CLOSE_ARRAY, /* of a loop */
};

enum ctf_scope {
	CTF_PACKET_HEADER,
	CTF_PACKET_CONTEXT,
	CTF_EVENT_HEADER,
	CTF_CONTEXT,
	CTF_PAYLOAD
};

struct ctf_case {
	uint64_t first, last;
	uint32_t to;
};

struct ctf_op {
	uint8_t code;
	uint8_t slot;
	uint8_t scope;	  /* enum ctf_scope */
	uint8_t encoding; /* enum ctf_encoding: texts */
	bool is_hidden;	  /* a length or padding: not displayed */
	bool is_big;	  /* byte order of the number */
	bool is_signed;
	bool is_first_run;
	bool is_tag_signed; /* choices */
	/* a number of whole bytes, in the order of this machine, which is little-endian */
	bool is_plain;
	uint32_t to;
	uint32_t align_bits;
	uint32_t stride_bits; /* arrays, sequences: from element to element */
	uint32_t size_bits;   /* of one number */
	uint32_t n_cases;
	uint32_t name_size;
	uint64_t offset_bits; /* in its run */
	uint64_t count;	      /* arrays, loops: elements; runs: bits */
	uint64_t sign;	      /* plain numbers: the sign bit, 0 if unsigned */
	const struct ctf_type *type;
	const char *name; /* without the leading underscore; NULL: an element */
	const struct ctf_case *cases;
};

struct ctf_program {
	const struct ctf_op *ops;
	uint32_t n_ops;
	uint32_t payload; /* index of the payload's first operation */
	/* Only if all fields are numbers and texts (columns.h); else loads is NULL and n_columns
	 * is 0. */
	const struct ctf_load *loads;
	uint32_t n_columns;	       /* fields that are not hidden */
	const struct ctf_op **columns; /* their operations */
	uint32_t align_bits;	       /* if ops[0] is a run, its alignment; else 1 */
	uint64_t size_bits;	       /* its size; else 0 */
};

enum ctf_header { /* of events; all but the first have decoders in C */
		  CTF_HEADER_GENERIC,
		  CTF_HEADER_COMPACT, /* 5 bits of id, 27 of time, little-endian */
		  CTF_HEADER_WIDE,    /* the same, and a wider id: of duet (abi/ctf.h) */
		  CTF_HEADER_LARGE,   /* u16 id, u32 time */
		  CTF_HEADER_KERNEL,  /* u32 time, u16 id: of duet */
		  CTF_HEADER_NONE,    /* no header: one event class, no time */
};

enum ctf_header ctf_header_recognise(const struct ctf_meta *m, const struct ctf_type *header);

int ctf_class_compile_packets(struct ctf_meta *m, struct diag *d);

/* Compiles the stream's packet context, event header and its events from @first on.  An event
 * that cannot be compiled gets its `error`.  It fails only without memory, or for the types of
 * the packet. */
int ctf_class_compile_stream(struct ctf_meta *m, struct ctf_stream_class *s,
			     struct ctf_event_class *first, struct diag *d);

/* ctf_class_find - the operation of the field with the displayed name @name in @scope, outside of
 * nested structs; NULL if there is none. */
const struct ctf_op *ctf_class_find(const struct ctf_event_class *e, enum ctf_scope scope,
				    const char *name);

/* ctf_op_role - the role of a field of a packet or header; in TSDL its name.  Never NULL. */
static inline const char *ctf_op_role(const struct ctf_op *op)
{
	const char *role = op->type ? op->type->role : NULL;

	return role ? role : op->name ? op->name : "";
}

#endif
