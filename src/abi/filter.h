/* SPDX-License-Identifier: MIT */
/*
 * abi/filter.h - the byte code of filters, which duet sends to the programs it records.
 *
 *   struct abi_filter, code[code_size], data[size - sizeof(struct abi_filter) - code_size]
 *
 * It is symbolic: fields and contexts are names in `data`.  A program links it to one event before
 * it runs it (filter/filter.h).  It contains no address and means the same at any place.  Operands
 * follow their operation unaligned, in the order of the machine.  Specification:
 * docs/formats/filter.md.
 */
#ifndef ABI_FILTER_H
#define ABI_FILTER_H

#include <stdint.h>

#define ABI_FILTER_MAGIC 0x31746c66u /* "flt1" */

enum {
	ABI_FILTER_BYTES_MAX = 1024, /* header, code and data */
	ABI_FILTER_STEPS_MAX = 128,  /* operations */
	ABI_FILTER_DEPTH_MAX = 16,   /* values on the stack; nested jumps */
	ABI_FILTER_NAME_MAX = 127,
};

struct abi_filter {
	uint32_t magic;
	uint16_t size; /* bytes, with this header */
	uint16_t code_size;
};
_Static_assert(sizeof(struct abi_filter) == 8, "layout both sides agree on");

enum abi_filter_op {
	ABI_FILTER_END,	     /* the one value left is the result: whether to record the event */
	ABI_FILTER_SMALL,    /* i8 */
	ABI_FILTER_INT,	     /* u64 */
	ABI_FILTER_NEGATIVE, /* i64, below 0 */
	ABI_FILTER_REAL,     /* f64 */
	ABI_FILTER_TEXT,     /* u16 offset in data, u16 size */
	ABI_FILTER_FIELD,    /* u16 offset in data, u8 size */
	ABI_FILTER_CONTEXT,  /* the same */
	ABI_FILTER_AND_THEN, /* u16 distance: if the value is 0 keep it and jump, else drop it */
	ABI_FILTER_OR_ELSE,  /* u16 distance: if the value is not 0 make it 1 and jump, else drop
				it */
	ABI_FILTER_NOT,
	ABI_FILTER_NEGATE,
	ABI_FILTER_TRUTH, /* 0 stays 0, any other number becomes 1 */
	ABI_FILTER_EQ,
	ABI_FILTER_NE,
	ABI_FILTER_LT,
	ABI_FILTER_LE,
	ABI_FILTER_GT,
	ABI_FILTER_GE,
	ABI_FILTER_MATCH, /* text, pattern */
	ABI_FILTER_NOT_MATCH,
	ABI_FILTER_AND,
	ABI_FILTER_OR,
	ABI_FILTER_XOR,
	ABI_FILTER_SHIFT_LEFT,
	ABI_FILTER_SHIFT_RIGHT,
	ABI_FILTER_ADD,
	ABI_FILTER_SUB,
	ABI_FILTER_MUL,
	ABI_FILTER_DIV,
	ABI_FILTER_MOD,
	ABI_FILTER_OPS
};

#endif
