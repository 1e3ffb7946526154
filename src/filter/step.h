/* SPDX-License-Identifier: MIT */
/*
 * filter/step.h - the steps of linked filters: link.c makes them, run.c runs them.
 *
 * Values lie on a stack.  Linking fixes the types of all values that a step takes and leaves, so no
 * value carries its type.
 */
#ifndef FILTER_STEP_H
#define FILTER_STEP_H

#include "filter/filter.h"

enum step_op {
	STEP_END,
	STEP_INT,	  /* value, mode: STEP_NEGATIVE */
	STEP_REAL,	  /* value */
	STEP_TEXT,	  /* offset in the filter; value: bytes */
	STEP_LOAD,	  /* from a place; value: its `more` */
	STEP_TEST,	  /* an integer of the payload and a constant: see below */
	STEP_TEST_SOURCE, /* an integer of the source, `mode` compared with value */
	STEP_AND_THEN,	  /* offset: the step to go to */
	STEP_OR_ELSE,
	STEP_NOT,
	STEP_NOT_REAL,
	STEP_TRUTH,
	STEP_TRUTH_REAL,
	STEP_NEGATE,
	STEP_NEGATE_REAL,
	STEP_COMPARE,	   /* mode: enum abi_filter_op */
	STEP_COMPARE_REAL, /* mode, and which of the two are integers */
	STEP_COMPARE_TEXT,
	STEP_MATCH,   /* mode: EQ or NE */
	STEP_IN,      /* an integer is in one of value ranges at offset; mode: EQ or NE */
	STEP_COMPUTE, /* mode: enum abi_filter_op */
	STEP_COMPUTE_REAL,
	STEP_OPS
};

/*
 * Most filters consist of STEP_TEST: load, constant and comparison in one step, with no branch but
 * for the bounds.  It reads eight bytes at the integer and shifts them left by `type` bits, until
 * only the integer is left, at the top.  With the sign bit flipped, its order is that of unsigned
 * numbers: it is below value, or equal to value.  Both tests may be negated.
 */
enum { TEST_IS_EQUAL = 1, TEST_IS_OPPOSITE = 2, TEST_IS_SIGNED = 4 };

enum {
	STEP_OP_MASK = 0x1f,
	STEP_LEFT_IS_INT = 0x20,
	STEP_RIGHT_IS_INT = 0x40,
	STEP_NEGATIVE = 0x80
};
_Static_assert(ABI_FILTER_OPS <= STEP_OP_MASK + 1, "an operation fits into mode");

/* The bytes that follow an operation of byte code. */
static inline uint32_t operand_bytes(uint8_t op)
{
	switch ((enum abi_filter_op)op) {
	case ABI_FILTER_SMALL:
		return 1;
	case ABI_FILTER_AND_THEN:
	case ABI_FILTER_OR_ELSE:
		return 2;
	case ABI_FILTER_FIELD:
	case ABI_FILTER_CONTEXT:
		return 3;
	case ABI_FILTER_TEXT:
		return 4;
	case ABI_FILTER_INT:
	case ABI_FILTER_NEGATIVE:
	case ABI_FILTER_REAL:
		return 8;
	default:
		return 0;
	}
}

struct step_range { /* of labels; type of the step: FILTER_I64 or FILTER_U64 */
	uint64_t first, last;
};

#endif
