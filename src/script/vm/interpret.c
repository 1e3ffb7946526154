/* SPDX-License-Identifier: MIT */
/*
 * vm/interpret.c - runs byte code operation by operation.
 *
 * Each operation jumps to the code of the next one by its address, so that the processor predicts
 * each of these jumps on its own.  The code is verified: nothing is checked here but limits.
 */
#include <string.h>

#include "script/vm/internal.h"

/* Called without a machine it returns the labels. */
static const void *const *interpret(struct script_vm *vm, uint32_t function,
				    const struct script_frame *frame)
{
	static const void *const labels[VM_OPERATIONS_N] = {
#define OPERATION(name) [VM_##name] = &&do_##name,
#include "script/vm/operations.def"
#undef OPERATION
	};
	const struct script_function_code *f;
	uint64_t r[11];
	struct vm_activation *a;
	const struct vm_op *op;
	int64_t next;
	uint32_t n;

	if (!vm)
		return labels;
	a = vm->activations;
	f = &vm->unit->functions[function];
	op = &vm->ops[f->entry];
	/* One by one: for an array of this size the compiler would use `rep stos`, which takes longer
	 * than a handler. */
	r[0] = r[2] = r[3] = r[4] = r[5] = r[6] = r[7] = r[8] = r[9] = 0;
	r[1] = (uint64_t)(uintptr_t)frame;
	r[10] = (uint64_t)(uintptr_t)vm->stack_end;

#define GO goto * op->go
#define NEXT                                                                                       \
	do {                                                                                       \
		op++;                                                                              \
		GO;                                                                                \
	} while (0)
	GO;

#define ALU(name, value)                                                                           \
	do_##name##_K:                                                                             \
	{                                                                                          \
		uint64_t to = r[op->to], from = (uint64_t)op->imm;                                 \
		(void)to;                                                                          \
		r[op->to] = value;                                                                 \
		NEXT;                                                                              \
	}                                                                                          \
	do_##name##_X:                                                                             \
	{                                                                                          \
		uint64_t to = r[op->to], from = r[op->from];                                       \
		(void)to;                                                                          \
		r[op->to] = value;                                                                 \
		NEXT;                                                                              \
	}
	ALU(ADD, to + from)
	ALU(SUB, to - from)
	ALU(MUL, to * from)
	ALU(DIV, from ? to / from : 0)
	ALU(MOD, from ? to % from : to)
	ALU(SDIV, vm_sdiv(to, from))
	ALU(SMOD, vm_smod(to, from))
	ALU(OR, to | from)
	ALU(AND, to & from)
	ALU(XOR, to ^ from)
	ALU(LSH, to << (from & 63))
	ALU(RSH, to >> (from & 63))
	ALU(ARSH, (uint64_t)((int64_t)to >> (from & 63)))
	ALU(MOV, from)
do_NEG:
	r[op->to] = -r[op->to];
	NEXT;

	/* A round of a loop is an action. */
#define JUMP                                                                                       \
	do {                                                                                       \
		if (op->off <= 0 && --vm->actions < 0)                                             \
			goto no_actions;                                                           \
		op += op->off;                                                                     \
		GO;                                                                                \
	} while (0)
#define COMPARE(name, type, condition)                                                             \
	do_##name##_K:                                                                             \
	{                                                                                          \
		type to = (type)r[op->to], from = (type)op->imm;                                   \
		if (condition)                                                                     \
			JUMP;                                                                      \
		NEXT;                                                                              \
	}                                                                                          \
	do_##name##_X:                                                                             \
	{                                                                                          \
		type to = (type)r[op->to], from = (type)r[op->from];                               \
		if (condition)                                                                     \
			JUMP;                                                                      \
		NEXT;                                                                              \
	}
	COMPARE(JEQ, uint64_t, to == from)
	COMPARE(JNE, uint64_t, to != from)
	COMPARE(JGT, uint64_t, to > from)
	COMPARE(JGE, uint64_t, to >= from)
	COMPARE(JLT, uint64_t, to < from)
	COMPARE(JLE, uint64_t, to <= from)
	COMPARE(JSGT, int64_t, to > from)
	COMPARE(JSGE, int64_t, to >= from)
	COMPARE(JSLT, int64_t, to < from)
	COMPARE(JSLE, int64_t, to <= from)
	COMPARE(JSET, uint64_t, to & from)
do_JA:
	JUMP;

do_LOAD:
	r[op->to] = *(const uint64_t *)(uintptr_t)(r[op->from] + (uint64_t)(int64_t)op->off);
	NEXT;
do_STORE:
	*(uint64_t *)(uintptr_t)(r[op->to] + (uint64_t)(int64_t)op->off) = r[op->from];
	NEXT;
do_STORE_K:
	*(uint64_t *)(uintptr_t)(r[op->to] + (uint64_t)(int64_t)op->off) = (uint64_t)op->imm;
	NEXT;
do_LOAD_IMM64:
	r[op->to] = (uint64_t)op->imm;
	op += 2;
	GO;

do_HELP:
	r[0] = ((script_help *)(uintptr_t)op->imm)(vm, r[1], r[2], r[3], r[4], r[5]);
	NEXT;
do_HELP_MAY_FAIL:
	r[0] = ((script_help *)(uintptr_t)op->imm)(vm, r[1], r[2], r[3], r[4], r[5]);
	if (__builtin_expect(vm->error, 0))
		goto unwind;
	NEXT;
do_HELP_DIRECT : {
	const struct vm_direct *direct = &vm->direct[op->off];

	r[0] = direct->help(vm, direct->r1, r[2], r[3], r[4], r[5]);
	if (__builtin_expect(vm->error, 0))
		goto unwind;
	NEXT;
}
do_STANDARD:
	r[0] = (uint64_t)vm->frame->standard[r[1]].number;
	NEXT;
do_ARGUMENT: /* imm: from the end of the stack to one above the first of them */
	r[0] = *(const uint64_t *)(uintptr_t)(r[10] + (uint64_t)op->imm - 8 * r[1]);
	NEXT;
do_PASS:
	vm->pass[r[1] - VM_IN_REGISTERS] = r[2];
	NEXT;

do_CONSTANT_AND_ADDRESS:
	r[op->to] = (uint64_t)(int64_t)(int32_t)op->imm;
	r[op->from] = r[op->off] + (uint64_t)(op->imm >> 32);
	op += 3;
	GO;
do_ADDRESS:
	r[op->to] = r[op->from] + (uint64_t)op->imm;
	op += 2;
	GO;
do_COPY:
	r[op->to] = *(const uint64_t *)(uintptr_t)(r[op->from] + (uint64_t)(int64_t)op->off);
	*(uint64_t *)(uintptr_t)(r[op->imm >> 32] + (uint64_t)(int64_t)(int32_t)op->imm) =
		r[op->to];
	op += 2;
	GO;

	/* imm: the number, and how far it jumps, forward. */
#define LOAD_COMPARE(name, type, operator)                                                         \
	do_LOAD_##name:                                                                            \
	{                                                                                          \
		type to = *(const type *)(uintptr_t)(r[op->from] + (uint64_t)(int64_t)op->off);    \
		r[op->to] = (uint64_t)to;                                                          \
		op += to operator(type)(int64_t)(int32_t) op->imm ? op->imm >> 32 : 2;             \
		GO;                                                                                \
	}
	LOAD_COMPARE(JEQ, uint64_t, ==)
	LOAD_COMPARE(JNE, uint64_t, !=)
	LOAD_COMPARE(JGT, uint64_t, >)
	LOAD_COMPARE(JGE, uint64_t, >=)
	LOAD_COMPARE(JLT, uint64_t, <)
	LOAD_COMPARE(JLE, uint64_t, <=)
	LOAD_COMPARE(JSGT, int64_t, >)
	LOAD_COMPARE(JSGE, int64_t, >=)
	LOAD_COMPARE(JSLT, int64_t, <)
	LOAD_COMPARE(JSLE, int64_t, <=)
	/* R1 to R3 are not kept by the call, so they need not be written before it. */
#define DIRECT(r3)                                                                                 \
	const struct vm_direct *direct = &vm->direct[op->off];                                     \
	r[0] = direct->help(vm, direct->r1, r[op->from] + (uint64_t)(op->imm >> 32), r3, r[4],     \
			    r[5]);                                                                 \
	op += 4; /* the call itself: an error happens there */                                     \
	if (__builtin_expect(vm->error, 0))                                                        \
		goto unwind;                                                                       \
	NEXT
do_DIRECT_NUMBER : {
	DIRECT((uint64_t)(int64_t)(int32_t)op->imm);
}
do_DIRECT_CELL : {
	DIRECT(*(const uint64_t *)(uintptr_t)(r[op->to] + (uint64_t)(int64_t)(int32_t)op->imm));
}

do_CALL:
	if (--vm->actions < 0)
		goto no_actions;
	if (!vm->nesting)
		goto no_nesting;
	vm->nesting--;
	a->call = (uint32_t)(op - vm->ops);
	a->bytes = (uint32_t)op->off;
	memcpy(a->kept, &r[6], sizeof a->kept);
	a++;
	r[10] -= (uint64_t)op->off;
	f = &vm->unit->functions[op->imm];
	for (n = VM_IN_REGISTERS; n < f->n_parameters; n++)
		*(uint64_t *)(uintptr_t)(r[10] + (uint64_t)(int64_t)vm_parameter_at(f, n)) =
			vm->pass[n - VM_IN_REGISTERS];
	op = &vm->ops[f->entry];
	GO;
do_EXIT:
	if (a == vm->activations)
		return NULL;
	a--;
	vm->nesting++;
	r[10] += a->bytes;
	memcpy(&r[6], a->kept, sizeof a->kept);
	op = &vm->ops[a->call + 1];
	GO;

no_actions:
	vm_raise_actions(vm);
	goto unwind;
no_nesting:
	vm_raise_nesting(vm);
unwind:
	n = (uint32_t)(op - vm->ops);
	while ((next = vm_unwind(vm, n)) < 0) {
		if (a == vm->activations)
			return NULL;
		a--;
		vm->nesting++;
		r[10] += a->bytes;
		memcpy(&r[6], a->kept, sizeof a->kept);
		n = a->call;
	}
	op = &vm->ops[next];
	GO;
}

const void *const *vm_labels(void)
{
	return interpret(NULL, 0, NULL);
}

void vm_interpret(struct script_vm *vm, uint32_t function, const struct script_frame *frame)
{
	interpret(vm, function, frame);
}
