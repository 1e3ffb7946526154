/* SPDX-License-Identifier: MIT */
/*
 * symbol/place.h - where the System V ABI for x86-64 puts parameters and results; for this room.
 *
 * "System V Application Binary Interface, AMD64 Architecture Processor Supplement", 3.2.3.
 */
#ifndef SYMBOL_PLACE_H
#define SYMBOL_PLACE_H

#include "symbol/signature.h"

enum place_class {
	PLACE_UNKNOWN, /* more than one place, or none */
	PLACE_INTEGER,
	PLACE_VECTOR,
	PLACE_BY_REFERENCE, /* a C++ object with a copy constructor: its address is passed */
	PLACE_MEMORY,	    /* larger than two registers */
};

/* Places that the parameters before have taken. */
struct places {
	unsigned integers, vectors, words;
};

/* place_next - the place of the next parameter.  PLACE_INTEGER and PLACE_VECTOR only. */
static inline void place_next(struct places *p, enum place_class class, struct abi_plan_operand *at)
{
	static const uint8_t registers[] = { 7, 6, 2, 1, 8, 9 }; /* rdi rsi rdx rcx r8 r9 */

	at->index = ABI_OPERAND_NONE;
	if (class == PLACE_INTEGER && p->integers < sizeof registers) {
		at->place = ABI_OPERAND_REGISTER;
		at->reg = registers[p->integers++];
	} else if (class == PLACE_VECTOR && p->vectors < 8) {
		at->place = ABI_OPERAND_VECTOR;
		at->reg = (uint8_t)p->vectors++;
	} else {
		at->place = ABI_OPERAND_MEMORY;
		at->reg = 4; /* rsp: the return address lies there */
		at->value = 8 + 8 * (int64_t)p->words++;
	}
}

static inline void place_result(enum place_class class, struct abi_plan_operand *at)
{
	at->index = ABI_OPERAND_NONE;
	at->place = class == PLACE_VECTOR ? ABI_OPERAND_VECTOR : ABI_OPERAND_REGISTER;
	at->reg = 0;
}

/* signature_name - set the name of parameter @number, from 1: @name, or argN if that is no name of a
 * field or is taken. */
void signature_name(const struct signature *s, struct signature_value *v, const char *name,
		    unsigned number);

#endif
