/* SPDX-License-Identifier: MIT */
/*
 * symbol/signature.h - parameters and result of a function: their types, and where they are.
 *
 * A signature comes from DWARF, or from text that the user gives:
 *
 *	int32 lua_gettop(lua_State *L)
 *	long write(int fd, const char *text, size_t n)
 *
 * Places are those of the System V ABI for x86-64 at the function's first instruction; the result
 * is where it is when the function returns.  A parameter that is a struct or union passed by value,
 * a __int128, a long double or a vector has no single place: then the signature is refused, because
 * the places of parameters behind it are not known either.
 */
#ifndef SYMBOL_SIGNATURE_H
#define SYMBOL_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/plan.h"
#include "base/diag.h"
#include "symbol/symbol.h"

enum { SIGNATURE_NAME = 64, SIGNATURE_TYPE = 512, SIGNATURE_PARAMETERS = ABI_PLAN_OPERANDS_MAX };

struct signature_value {
	char name[SIGNATURE_NAME];  /* a field's name; "arg1", .. where the source has none */
	char type[SIGNATURE_TYPE];  /* as base/schema.h has it: "i32", "p64", "str", "enum(..)" */
	struct abi_plan_operand at; /* is_text if the type is "str" */
};

struct signature {
	char name[256]; /* of the function; "" if not known */
	unsigned n;	/* parameters; more than SIGNATURE_PARAMETERS are left out */
	unsigned n_left_out;
	bool is_variadic; /* the variable ones are left out */
	bool has_result;  /* false: void */
	struct signature_value parameters[SIGNATURE_PARAMETERS];
	struct signature_value result; /* its name is "result" */
};

/*
 * signature_of - the signature of the function that begins at @address, from DWARF.
 *
 * 0; -ENODATA: no DWARF, or it does not have this function; -EINVAL: a parameter without a single
 * place; the reason is in @d.
 */
int signature_of(struct symbol_file *f, uint64_t address, struct signature *s, struct diag *d);

/*
 * signature_parse - the signature in @text, a declaration in C.
 *
 * Types: the integer types of C and of <stdint.h>, with or without `_t`; size_t, ssize_t, off_t,
 * pid_t and the like; bool, float, double; `enum X`; any pointer.  `char *` is text; `void *`,
 * pointers to other types, and `struct X *` are addresses.  Another single name is refused: its size
 * is not known.
 *
 * 0; -EINVAL with the reason in @d.
 */
int signature_parse(const char *text, struct signature *s, struct diag *d);

#endif
