/* SPDX-License-Identifier: MIT */
/*
 * vm/internal.h - what the interpreter and the translation share.
 *
 * Both run on cells that the machine owns: a function's stack lies in `stack`, which grows
 * downwards, so the depth of calls costs the program's own stack little.  A function's part of it
 * holds its `stack` bytes, and below them its parameters above the fifth.
 *
 * An error: script_raise() sets `error`; after a helper that may fail the engine asks
 * vm_unwind() where to go on.  Each function that is left is added to the chain of calls.
 */
#ifndef SCRIPT_VM_INTERNAL_H
#define SCRIPT_VM_INTERNAL_H

#include <string.h>

#include "script/vm/vm.h"

enum {
	VM_NESTING_MOST = 10000,
	VM_CHAIN_MOST = 8,   /* calls that an error shows */
	VM_IN_REGISTERS = 5, /* arguments */
};

enum vm_error {
	VM_NO_ERROR,
	VM_ERROR,
	VM_END, /* not to be caught: the handler ends */
};

enum vm_operation {
#define OPERATION(name) VM_##name,
#include "script/vm/operations.def"
#undef OPERATION
	VM_OPERATIONS_N
};

/* An instruction, ready for the interpreter.  Their numbers are those of the instructions. */
struct vm_op {
	const void *go; /* label in interpret.c */
	int64_t imm;	/* number, address, or function */
	int32_t off;	/* of memory, or from this operation to the next one */
	uint8_t to, from;
};

/* A call of a helper whose array is known: values_direct(). */
struct vm_direct {
	script_help *help;
	uint64_t r1;
};

struct vm_activation {	/* of a caller, in the interpreter */
	uint32_t call;	/* its instruction */
	uint32_t bytes; /* of its stack */
	uint64_t kept[4];
};

/* A handler in native code; @stack: the end of the machine's own. */
typedef void vm_native(struct script_vm *vm, const struct script_frame *frame, uint8_t *stack);

struct vm_code { /* native code; memory NULL: none */
	uint8_t *memory;
	size_t size;
	uint32_t *at;		 /* of each instruction: its place in the code */
	uint32_t *start, *leave; /* of each function: its first byte, and where it returns */
};

struct script_vm {
	/* read and written by native code */
	int32_t error;		  /* enum vm_error */
	int32_t actions, nesting; /* left */
	const struct script_frame *frame;
	uint64_t pass[SCRIPT_PARAMETERS_MAX - VM_IN_REGISTERS];

	const struct script_unit *unit;
	struct script_values *values;
	struct script_limits limits;
	struct script_services services;
	uint8_t *stack, *stack_end;
	size_t stack_size; /* bytes */
	struct vm_activation *activations;
	struct vm_op *ops;
	struct vm_direct *direct; /* VM_HELP_DIRECT: `off` is the row */
	uint32_t n_direct;
	const bool *is_dirty; /* values_is_dirty() */
	struct vm_code code;
	bool is_exiting;

	char error_text[1024], caught[1024];
	uint32_t chain[VM_CHAIN_MOST], n_chain; /* instructions, innermost first */
	struct text report;			/* the last error in full */
	struct script_place place;
};

/* Bytes that a function takes of the stack. */
static inline uint32_t vm_frame_bytes(const struct script_function_code *f)
{
	uint32_t more = f->n_parameters > VM_IN_REGISTERS ? f->n_parameters - VM_IN_REGISTERS : 0;

	return f->stack + 8 * (f->is_handler ? 0 : more);
}
/* Where parameter @i >= 5 lies, from the end of the function's stack. */
static inline int32_t vm_parameter_at(const struct script_function_code *f, uint32_t i)
{
	return -(int32_t)f->stack - 8 * (int32_t)(i - VM_IN_REGISTERS + 1);
}

/* Division as BPF defines it: nothing traps. */
static inline uint64_t vm_sdiv(uint64_t a, uint64_t b)
{
	return !b ? 0 : b == UINT64_MAX ? -a : (uint64_t)((int64_t)a / (int64_t)b);
}
static inline uint64_t vm_smod(uint64_t a, uint64_t b)
{
	return !b ? a : b == UINT64_MAX ? 0 : (uint64_t)((int64_t)a % (int64_t)b);
}

/* vm_decode - fill vm->ops.  0, -ENOMEM, or -ENOSYS: a helper has no function. */
int vm_decode(struct script_vm *vm, struct diag *d);
/* vm_fuse - pairs of operations of @f become one.  @is_target: of each instruction. */
void vm_fuse(struct script_vm *vm, const struct script_function_code *f, const bool *is_target);
/* vm_direct_at - the row of vm->direct that instruction @insn calls; NULL: it is no such call. */
const struct vm_direct *vm_direct_at(const struct script_vm *vm, uint32_t insn);
/* vm_labels - of enum vm_operation. */
const void *const *vm_labels(void);
void vm_interpret(struct script_vm *vm, uint32_t function, const struct script_frame *frame);

/* vm_translate - make native code; -ENOTSUP, -EPERM, -ENOMEM: then it is interpreted. */
int vm_translate(struct script_vm *vm);
void vm_translate_undo(struct script_vm *vm);

/* vm_help - the C function of a helper or builtin; NULL: none. */
script_help *vm_help(uint32_t number);
bool vm_help_may_fail(uint32_t number);

/* The limits as errors. */
void vm_raise_actions(struct script_vm *vm);
void vm_raise_nesting(struct script_vm *vm);
/* vm_unwind - the error passes instruction @insn: the instruction that goes on, or -1: the function
 * is left. */
int64_t vm_unwind(struct script_vm *vm, uint32_t insn);
/* vm_report - put the error into words. */
void vm_report(struct script_vm *vm);
/* vm_function_at - the function that instruction @insn belongs to. */
uint32_t vm_function_at(const struct script_unit *u, uint32_t insn);

#endif
