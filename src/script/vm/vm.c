/* SPDX-License-Identifier: MIT */
/* vm/vm.c - a machine: made, run, and what helpers ask of it. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "script/vm/internal.h"

enum { ELEMENTS_OF_AN_ACTION = 64 };

static void set_default(uint32_t *limit, uint32_t value)
{
	if (!*limit)
		*limit = value;
}

static struct script_limits complete(const struct script_limits *given)
{
	struct script_limits l = given ? *given : (struct script_limits){ 0 };

	set_default(&l.string_bytes, 512);
	set_default(&l.actions, 1000000);
	set_default(&l.nesting, 64);
	set_default(&l.entries, 65536);
	set_default(&l.skipped, 100);
	if (l.actions > INT32_MAX)
		l.actions = INT32_MAX;
	if (!l.memory)
		l.memory = 1ull << 30;
	return l;
}

/* The stack of all calls; the system gives memory only for what is touched. */
static int make_stack(struct script_vm *vm)
{
	uint32_t i, bytes, most = 0;
	void *memory;

	for (i = 0; i < vm->unit->n_functions; i++) {
		bytes = vm_frame_bytes(&vm->unit->functions[i]);
		most = bytes > most ? bytes : most;
	}
	vm->stack_size = (size_t)(most + 8) * (vm->limits.nesting + 1);
	memory = mmap(NULL, vm->stack_size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return -errno;
	vm->stack = memory;
	vm->stack_end = vm->stack + vm->stack_size / 16 * 16;
	vm->activations = calloc(vm->limits.nesting + 1, sizeof *vm->activations);
	return vm->activations ? 0 : -ENOMEM;
}

static int make(struct script_vm *vm, bool jit, struct diag *d)
{
	int err;

	if (vm->limits.nesting > VM_NESTING_MOST)
		return diag_fail(d, -EINVAL, "MAXNESTING=%u: at most %d", vm->limits.nesting,
				 VM_NESTING_MOST);
	err = make_stack(vm);
	if (err)
		return diag_fail(d, err, "no memory for the stack of a script: %zu bytes",
				 vm->stack_size);
	vm->values = script_values_open(vm->unit, &vm->limits);
	if (!vm->values)
		return diag_fail(d, -ENOMEM, "no memory for the values of a script");
	vm->is_dirty = values_is_dirty(vm->values);
	err = vm_decode(vm, d);
	if (!err && jit)
		vm_translate(vm); /* without it the script is interpreted */
	return err;
}

int script_vm_open(struct script_vm **vm, const struct script_unit *unit,
		   const struct script_limits *limits, const struct script_services *services,
		   bool jit, struct diag *d)
{
	struct script_vm *made = calloc(1, sizeof *made);
	int err;

	*vm = NULL;
	if (!made)
		return diag_fail(d, -ENOMEM, "no memory for a script");
	made->unit = unit;
	made->limits = complete(limits);
	if (services)
		made->services = *services;
	err = make(made, jit, d);
	if (err) {
		script_vm_close(made);
		return err;
	}
	*vm = made;
	return 0;
}

void script_vm_close(struct script_vm *vm)
{
	if (!vm)
		return;
	vm_translate_undo(vm);
	script_values_close(vm->values);
	free(vm->ops);
	free(vm->direct);
	free(vm->activations);
	if (vm->stack)
		munmap(vm->stack, vm->stack_size);
	text_fini(&vm->report);
	free(vm);
}

bool script_vm_is_jit(const struct script_vm *vm)
{
	return vm->code.memory != NULL;
}

enum script_ended script_vm_run(struct script_vm *vm, uint32_t function,
				const struct script_frame *frame)
{
	const struct vm_code *c = &vm->code;

	vm->frame = frame;
	vm->error = VM_NO_ERROR;
	vm->actions = (int32_t)vm->limits.actions;
	vm->nesting = (int32_t)vm->limits.nesting;
	if (c->memory)
		((vm_native *)(uintptr_t)(c->memory + c->start[function]))(vm, frame,
									   vm->stack_end);
	else
		vm_interpret(vm, function, frame);
	vm->frame = NULL;
	if (*vm->is_dirty)
		values_end_handler(vm->values);
	if (__builtin_expect(!vm->error, 1))
		return SCRIPT_DONE;
	vm_report(vm);
	return SCRIPT_FAILED;
}

bool script_vm_exiting(const struct script_vm *vm)
{
	return vm->is_exiting;
}

void script_vm_exit(struct script_vm *vm)
{
	vm->is_exiting = true;
	if (vm->services.exit)
		vm->services.exit(vm->services.context);
}

void script_vm_spend(struct script_vm *vm, uint32_t n)
{
	int32_t actions = (int32_t)(n / ELEMENTS_OF_AN_ACTION);

	vm->actions = actions < vm->actions ? vm->actions - actions : 0;
}

const struct script_string *script_vm_string(struct script_vm *vm, const char *bytes, size_t size)
{
	return values_string(vm->values, bytes, size);
}

struct script_values *script_vm_values(struct script_vm *vm)
{
	return vm->values;
}

const struct script_unit *script_vm_unit(const struct script_vm *vm)
{
	return vm->unit;
}

const struct script_services *script_vm_services(const struct script_vm *vm)
{
	return &vm->services;
}

const struct script_limits *script_vm_limits(const struct script_vm *vm)
{
	return &vm->limits;
}

const struct script_frame *script_vm_frame(const struct script_vm *vm)
{
	return vm->frame;
}
