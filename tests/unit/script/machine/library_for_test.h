/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/script/library_for_test.h - a machine that runs nothing but one function of the library.
 *
 * It takes the place of script/vm: what is written, and the error that is raised, are kept as text.
 */
#ifndef TESTS_LIBRARY_FOR_TEST_H
#define TESTS_LIBRARY_FOR_TEST_H

#include <stdarg.h>

#include "script/unit/format.h"
#include "script/vm/vm.h"
#include "test.h"

struct script_vm {
	struct script_unit unit;
	struct script_values *values;
	struct script_limits limits;
	struct script_services services;
	struct script_frame *frame;
	struct text out, errors, result;
	char raised[512];
	bool is_exiting;
	struct script_arena arena;
};

struct script_values *script_vm_values(struct script_vm *vm)
{
	return vm->values;
}

const struct script_unit *script_vm_unit(const struct script_vm *vm)
{
	return &vm->unit;
}

const struct script_services *script_vm_services(const struct script_vm *vm)
{
	return &vm->services;
}

const struct script_limits *script_vm_limits(const struct script_vm *vm)
{
	return &vm->limits;
}

void script_vm_spend(struct script_vm *vm, uint32_t n)
{
	(void)vm, (void)n;
}

const struct script_frame *script_vm_frame(const struct script_vm *vm)
{
	return vm->frame;
}

void script_raise(struct script_vm *vm, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(vm->raised, sizeof vm->raised, format, ap);
	va_end(ap);
}

void script_vm_exit(struct script_vm *vm)
{
	vm->is_exiting = true;
}

static void keep_out(void *context, const char *bytes, size_t size)
{
	text_add(&((struct script_vm *)context)->out, bytes, size);
}

static void keep_errors(void *context, const char *bytes, size_t size)
{
	text_add(&((struct script_vm *)context)->errors, bytes, size);
}

static void keep_result(void *context, const char *bytes, size_t size)
{
	text_add(&((struct script_vm *)context)->result, bytes, size);
}

static struct script_vm machine;

static inline struct script_vm *open_machine(void)
{
	static char frame[sizeof(struct script_frame)] __attribute__((aligned(8)));

	machine.services.context = &machine;
	machine.services.write = keep_out;
	machine.services.write_error = keep_errors;
	machine.services.result = keep_result;
	machine.frame = (struct script_frame *)frame;
	machine.values = script_values_open(&machine.unit, &machine.limits);
	return &machine;
}

static inline void close_machine(void)
{
	script_values_close(machine.values);
	text_fini(&machine.out);
	text_fini(&machine.errors);
	text_fini(&machine.result);
	script_arena_fini(&machine.arena);
	machine = (struct script_vm){ 0 };
}

/* What was written since the last call. */
static inline const char *written(void)
{
	static char bytes[8192];

	snprintf(bytes, sizeof bytes, "%s", machine.out.size ? machine.out.bytes : "");
	machine.out.size = 0;
	return bytes;
}

static inline const char *raised(void)
{
	static char bytes[sizeof machine.raised];

	memcpy(bytes, machine.raised, sizeof bytes);
	*machine.raised = 0;
	return bytes;
}

static inline uint64_t text(const char *bytes)
{
	return (uint64_t)(uintptr_t)values_string(machine.values, bytes, strlen(bytes));
}

static inline const char *of(uint64_t s)
{
	return ((const struct script_string *)(uintptr_t)s)->bytes;
}

/* Calls the builtin @name that takes @n arguments. */
static inline uint64_t call(const char *name, unsigned n, uint64_t a, uint64_t b, uint64_t c)
{
	const struct script_builtin *builtin;

	for (unsigned i = 0; (builtin = script_builtin_find(name, i)); i++)
		if (strlen(builtin->signature) == n + 2)
			return script_builtin_run[script_builtin_number(builtin)](&machine, a, b, c,
										  0, 0);
	printf("# there is no builtin %s of %u arguments\n", name, n);
	test_n_failed++;
	return text("");
}

#define call0(name) call(name, 0, 0, 0, 0)
#define call1(name, a) call(name, 1, (uint64_t)(a), 0, 0)
#define call2(name, a, b) call(name, 2, (uint64_t)(a), (uint64_t)(b), 0)
#define call3(name, a, b, c) call(name, 3, (uint64_t)(a), (uint64_t)(b), (uint64_t)(c))

#endif
