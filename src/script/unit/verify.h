/* SPDX-License-Identifier: MIT */
/*
 * unit/verify.h - what the files of the verifier share.
 *
 * A unit is checked in three steps: its tables and the form of each instruction (verify.c), then
 * what each instruction does with values, function by function (verify_flow.c, verify_help.c).
 * Only then is every path known to be safe, so nothing else looks at a unit before.
 */
#ifndef SCRIPT_UNIT_VERIFY_H
#define SCRIPT_UNIT_VERIFY_H

#include "script/unit/unit.h"

enum {
	VERIFY_INSNS_MOST = 1 << 20,
	VERIFY_FUNCTIONS_MOST = 1 << 14,
	VERIFY_CONSTANT_MOST = 1 << 28,
	VERIFY_MEMORY_MOST = 1 << 28, /* bytes of states of one function */
	VERIFY_PASS_CELLS = SCRIPT_PARAMETERS_MAX - 5,
	VERIFY_REGISTERS = 11,
};

/* What is known of a register or a cell of the stack. */
enum verify_kind {
	KIND_UNSET, /* not written on each way here */
	KIND_NUMBER,
	KIND_CONSTANT, /* a number: `value`, not negative */
	KIND_STRING,
	KIND_FRAME,
	KIND_STACK,  /* `value` bytes below the end of the stack */
	KIND_GLOBAL, /* the address of global cell `value` */
};
struct verify_value {
	uint32_t kind : 3, value : 29;
};

struct verify {
	const struct script_unit *u;
	struct diag *d;
	uint32_t *owner; /* of each instruction: its function + 1; 0: none */
	uint8_t *marks;	 /* of each instruction: MARK_... */
	uint64_t *needs; /* of each function: bits of enum script_standard that it reads */
	/* the function and instruction that are looked at: */
	const struct script_function_code *f;
	uint32_t insn;
	/* registers, then the cells of the stack from its end downwards, then passed arguments */
	struct verify_value *now;
	uint32_t n_values, n_stack, n_pass;
};
enum {
	MARK_SECOND = 1, /* second half of LD_IMM64 */
	MARK_TARGET = 2, /* of a jump, a catch, or a function's entry */
	MARK_DIRTY = 4,	 /* the state there has changed */
	MARK_SEEN = 8,
};

/* verify_fail - "instruction 5: ...". */
int verify_fail(const struct verify *v, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* verify_flow - check function v->f. */
int verify_flow(struct verify *v);

/* verify_help - check a call of a helper or builtin in state v->now, and change that. */
int verify_help(struct verify *v, uint32_t number);
/* verify_help_signature - NULL if there is no such helper, or it cannot be called. */
const char *verify_help_signature(uint32_t number, bool *may_fail, uint64_t *needs);

/* verify_text - a type or kind for messages. */
const char *verify_type_text(enum script_type type);
const char *verify_kind_text(struct verify_value value);

static inline bool verify_is_number(struct verify_value value)
{
	return value.kind == KIND_NUMBER || value.kind == KIND_CONSTANT;
}
static inline bool verify_is(struct verify_value value, enum script_type type)
{
	return type == SCRIPT_LONG ? verify_is_number(value)
				   : type == SCRIPT_STRING && value.kind == KIND_STRING;
}
static inline struct verify_value verify_of(enum script_type type)
{
	return (struct verify_value){ type == SCRIPT_LONG     ? KIND_NUMBER
				      : type == SCRIPT_STRING ? KIND_STRING
							      : KIND_UNSET };
}

#endif
