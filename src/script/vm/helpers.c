/* SPDX-License-Identifier: MIT */
/*
 * vm/helpers.c - the helpers of the machine itself, and where those of the library are found.
 *
 * STANDARD, ARGUMENT and PASS are no functions: both engines do them in place.
 */
#include "script/vm/internal.h"

static uint64_t raise_text(struct script_vm *vm, uint64_t text, uint64_t r2, uint64_t r3,
			   uint64_t r4, uint64_t r5)
{
	const struct script_string *s = (const struct script_string *)(uintptr_t)text;

	(void)r2, (void)r3, (void)r4, (void)r5;
	script_raise(vm, "%s", s->bytes);
	return 0;
}

static uint64_t raise_division(struct script_vm *vm, uint64_t r1, uint64_t r2, uint64_t r3,
			       uint64_t r4, uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	script_raise(vm, "division by 0");
	return 0;
}

static uint64_t raise_fault(struct script_vm *vm, uint64_t slot, uint64_t r2, uint64_t r3,
			    uint64_t r4, uint64_t r5)
{
	(void)slot, (void)r2, (void)r3, (void)r4, (void)r5;
	script_raise(vm, "this value could not be read (bad address)");
	return 0;
}

static uint64_t error_text(struct script_vm *vm, uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
			   uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return (uint64_t)(uintptr_t)values_string(vm->values, vm->caught,
						  __builtin_strlen(vm->caught));
}

static uint64_t global_set(struct script_vm *vm, uint64_t global, uint64_t text, uint64_t r3,
			   uint64_t r4, uint64_t r5)
{
	(void)r3, (void)r4, (void)r5;
	if (values_set_global(vm->values, (uint32_t)global,
			      (const struct script_string *)(uintptr_t)text))
		script_raise(vm, "no memory for this string (limit: -D MAXMEMORY)");
	return 0;
}

static uint64_t step_next(struct script_vm *vm, uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
			  uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	script_raise(vm, "every overload of this function called `next`");
	return 0;
}

script_help *vm_help(uint32_t number)
{
	const struct script_builtin *b;

	switch (number) {
	case SCRIPT_HELPER_RAISE:
		return raise_text;
	case SCRIPT_HELPER_RAISE_DIVISION:
		return raise_division;
	case SCRIPT_HELPER_RAISE_FAULT:
		return raise_fault;
	case SCRIPT_HELPER_ERROR_TEXT:
		return error_text;
	case SCRIPT_HELPER_GLOBAL_SET:
		return global_set;
	case SCRIPT_HELPER_STEP_NEXT:
		return step_next;
	}
	if (number < SCRIPT_HELPERS_N)
		return script_helpers[number];
	if (number < SCRIPT_HELPER_BUILTIN)
		return NULL;
	b = script_builtin_at(number - SCRIPT_HELPER_BUILTIN);
	return b && b->standard < 0 && !b->is_site
		       ? script_builtin_run[number - SCRIPT_HELPER_BUILTIN]
		       : NULL;
}

bool vm_help_may_fail(uint32_t number)
{
	const struct script_builtin *b;

	if (number < SCRIPT_HELPERS_N)
		return script_helper_table[number].may_fail;
	b = script_builtin_at(number - SCRIPT_HELPER_BUILTIN);
	return b && b->may_fail;
}
