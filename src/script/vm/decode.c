/* SPDX-License-Identifier: MIT */
/* vm/decode.c - byte code into operations of the interpreter, one for one. */
#include <errno.h>
#include <stdlib.h>

#include "script/vm/internal.h"

enum { A_REGISTER = 1, NO_OPERATION = VM_OPERATIONS_N };

struct decoder {
	struct script_vm *vm;
	const struct script_function_code *f;
	bool *is_target; /* of each instruction: of a jump or catch */
};

static uint32_t alu_operation(const struct bpf_insn *i)
{
	bool is_signed = i->off == 1;

	switch (BPF_OP(i->code)) {
	case BPF_ADD:
		return VM_ADD_K;
	case BPF_SUB:
		return VM_SUB_K;
	case BPF_MUL:
		return VM_MUL_K;
	case BPF_DIV:
		return is_signed ? VM_SDIV_K : VM_DIV_K;
	case BPF_MOD:
		return is_signed ? VM_SMOD_K : VM_MOD_K;
	case BPF_OR:
		return VM_OR_K;
	case BPF_AND:
		return VM_AND_K;
	case BPF_XOR:
		return VM_XOR_K;
	case BPF_LSH:
		return VM_LSH_K;
	case BPF_RSH:
		return VM_RSH_K;
	case BPF_ARSH:
		return VM_ARSH_K;
	case BPF_MOV:
		return VM_MOV_K;
	default:
		return NO_OPERATION;
	}
}

static uint32_t jump_operation(const struct bpf_insn *i)
{
	switch (BPF_OP(i->code)) {
	case BPF_JEQ:
		return VM_JEQ_K;
	case BPF_JNE:
		return VM_JNE_K;
	case BPF_JGT:
		return VM_JGT_K;
	case BPF_JGE:
		return VM_JGE_K;
	case BPF_JLT:
		return VM_JLT_K;
	case BPF_JLE:
		return VM_JLE_K;
	case BPF_JSGT:
		return VM_JSGT_K;
	case BPF_JSGE:
		return VM_JSGE_K;
	case BPF_JSLT:
		return VM_JSLT_K;
	case BPF_JSLE:
		return VM_JSLE_K;
	case BPF_JSET:
		return VM_JSET_K;
	default:
		return NO_OPERATION;
	}
}

static uint32_t decode_alu(const struct bpf_insn *i)
{
	if (BPF_OP(i->code) == BPF_NEG)
		return VM_NEG;
	return alu_operation(i) + (BPF_SRC(i->code) == BPF_X ? A_REGISTER : 0);
}

static uint32_t decode_jump(const struct bpf_insn *i, struct vm_op *op)
{
	op->off = i->off + 1;
	if (BPF_OP(i->code) != BPF_JA)
		return jump_operation(i) + (BPF_SRC(i->code) == BPF_X ? A_REGISTER : 0);
	if (BPF_CLASS(i->code) == BPF_JMP32)
		op->off = i->imm + 1;
	return VM_JA;
}

enum { SCAN_MOST = 64 };

/* The number that R1 holds at call @n because an instruction shortly before says so; or -1. */
static int64_t known_r1(const struct decoder *c, uint32_t n)
{
	const struct bpf_insn *i = c->vm->unit->insns;
	uint32_t k, least = n - c->f->entry > SCAN_MOST ? n - SCAN_MOST : c->f->entry;
	uint8_t class;

	for (k = n; k > least && !c->is_target[k]; k--) {
		class = BPF_CLASS(i[k - 1].code);
		if (i[k - 1].code == (BPF_ALU64 | BPF_MOV | BPF_K) && i[k - 1].dst_reg == 1)
			return i[k - 1].imm;
		if (class == BPF_JMP || class == BPF_JMP32 || i[k - 1].dst_reg == 1)
			return -1;
	}
	return -1;
}

static bool decode_direct(struct decoder *c, uint32_t n, uint32_t number, struct vm_op *op)
{
	struct vm_direct *direct = &c->vm->direct[c->vm->n_direct];
	int64_t array;

	if (number < SCRIPT_HELPER_ARRAY_GET || number > SCRIPT_HELPER_STAT_ADD)
		return false;
	array = known_r1(c, n);
	if (array < 0)
		return false;
	direct->help = values_direct(c->vm->values, number, (uint32_t)array, &direct->r1);
	if (!direct->help)
		return false;
	op->off = (int32_t)c->vm->n_direct++;
	return true;
}

static uint32_t decode_help(struct decoder *c, uint32_t n, uint32_t number, struct vm_op *op)
{
	script_help *help;

	switch (number) {
	case SCRIPT_HELPER_STANDARD_LONG:
	case SCRIPT_HELPER_STANDARD_STRING:
		return VM_STANDARD;
	case SCRIPT_HELPER_ARGUMENT_LONG:
	case SCRIPT_HELPER_ARGUMENT_STRING:
		op->imm = vm_parameter_at(c->f, 0);
		return VM_ARGUMENT;
	case SCRIPT_HELPER_PASS_LONG:
	case SCRIPT_HELPER_PASS_STRING:
		return VM_PASS;
	default:
		if (decode_direct(c, n, number, op))
			return VM_HELP_DIRECT;
		help = vm_help(number);
		op->imm = (int64_t)(uintptr_t)help;
		if (!help)
			return NO_OPERATION;
		return vm_help_may_fail(number) ? VM_HELP_MAY_FAIL : VM_HELP;
	}
}

static uint32_t decode_call(struct decoder *c, uint32_t n, struct vm_op *op)
{
	const struct bpf_insn *i = &c->vm->unit->insns[n];

	if (i->src_reg != BPF_PSEUDO_CALL)
		return decode_help(c, n, (uint32_t)i->imm, op);
	op->off = (int32_t)vm_frame_bytes(c->f);
	return VM_CALL;
}

/* What LD_IMM64 loads. */
static int64_t constant(const struct script_vm *vm, const struct bpf_insn *i)
{
	switch (i->src_reg) {
	case SCRIPT_LD_STRING:
		return (int64_t)(uintptr_t)vm->unit->strings[i->imm];
	case SCRIPT_LD_GLOBAL:
		return (int64_t)(uintptr_t)&values_globals(vm->values)[i->imm];
	default:
		return (int64_t)((uint32_t)i[0].imm | (uint64_t)(uint32_t)i[1].imm << 32);
	}
}

static uint32_t decode(struct decoder *c, uint32_t n)
{
	const struct bpf_insn *i = &c->vm->unit->insns[n];
	struct vm_op *op = &c->vm->ops[n];

	*op = (struct vm_op){ .imm = i->imm, .off = i->off, .to = i->dst_reg, .from = i->src_reg };
	switch (BPF_CLASS(i->code)) {
	case BPF_ALU64:
		return decode_alu(i);
	case BPF_LDX:
		return VM_LOAD;
	case BPF_STX:
		return VM_STORE;
	case BPF_ST:
		return VM_STORE_K;
	case BPF_LD:
		op->imm = constant(c->vm, i);
		return VM_LOAD_IMM64;
	default:
		if (BPF_OP(i->code) == BPF_CALL)
			return decode_call(c, n, op);
		return BPF_OP(i->code) == BPF_EXIT ? VM_EXIT : decode_jump(i, op);
	}
}

static int decode_function(struct decoder *c, struct diag *d)
{
	const void *const *labels = vm_labels();
	uint32_t n, operation;

	for (n = c->f->entry; n < c->f->end; n++) {
		operation = decode(c, n);
		if (operation >= NO_OPERATION)
			return diag_fail(d, -ENOSYS,
					 "instruction %u calls function %d, which this duet does "
					 "not have",
					 n, c->vm->unit->insns[n].imm);
		c->vm->ops[n].go = labels[operation];
		n += operation == VM_LOAD_IMM64;
	}
	return 0;
}

static bool is_helper_call(const struct bpf_insn *i)
{
	return i->code == (BPF_JMP | BPF_CALL) && i->src_reg != BPF_PSEUDO_CALL;
}

static bool is_jump(const struct bpf_insn *i)
{
	uint8_t op = BPF_OP(i->code), class = BPF_CLASS(i->code);

	return class == BPF_JMP32 || (class == BPF_JMP && op != BPF_CALL && op != BPF_EXIT);
}

static void find_targets(struct decoder *c)
{
	const struct script_unit *u = c->vm->unit;
	uint32_t n;

	for (n = 0; n < u->n_catches; n++)
		c->is_target[u->catches[n].target] = true;
	for (c->f = u->functions; c->f < u->functions + u->n_functions; c->f++)
		for (n = c->f->entry; n < c->f->end; n++) {
			if (is_jump(&u->insns[n]))
				c->is_target[n + 1 +
					     (BPF_CLASS(u->insns[n].code) == BPF_JMP32
						      ? u->insns[n].imm
						      : u->insns[n].off)] = true;
			n += u->insns[n].code == (BPF_LD | BPF_IMM | BPF_DW);
		}
}

static int decode_all(struct decoder *c, struct diag *d)
{
	const struct script_unit *u = c->vm->unit;
	uint32_t n, n_calls = 0;
	int err = 0;

	for (n = 0; n < u->n_insns; n++)
		n_calls += is_helper_call(&u->insns[n]);
	c->vm->ops = calloc(u->n_insns + 1u, sizeof *c->vm->ops);
	c->vm->direct = calloc(n_calls + 1u, sizeof *c->vm->direct);
	c->is_target = calloc(u->n_insns + 1u, sizeof *c->is_target);
	if (!c->vm->ops || !c->vm->direct || !c->is_target)
		return diag_fail(d, -ENOMEM, "no memory for a script of %u instructions",
				 u->n_insns);
	find_targets(c);
	for (n = 0; n < u->n_functions && !err; n++) {
		c->f = &u->functions[n];
		err = decode_function(c, d);
		if (!err)
			vm_fuse(c->vm, c->f, c->is_target);
	}
	return err;
}

int vm_decode(struct script_vm *vm, struct diag *d)
{
	struct decoder c = { .vm = vm };
	int err = decode_all(&c, d);

	free(c.is_target);
	return err;
}

const struct vm_direct *vm_direct_at(const struct script_vm *vm, uint32_t insn)
{
	const struct vm_op *op = &vm->ops[insn];

	return op->go == vm_labels()[VM_HELP_DIRECT] ? &vm->direct[op->off] : NULL;
}
