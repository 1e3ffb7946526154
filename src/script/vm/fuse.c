/* SPDX-License-Identifier: MIT */
/*
 * vm/fuse.c - neighbouring operations of the interpreter become one.
 *
 * The pairs are those that come before most calls: a constant and the address of keys, and a cell
 * that becomes a key.  The second operation of a pair stays where it is, and is stepped over; a pair
 * is made only if nothing jumps to the second.
 */
#include "script/vm/internal.h"

static bool is_move(const struct bpf_insn *i)
{
	return i->code == (BPF_ALU64 | BPF_MOV | BPF_X);
}

/* rX = rY; rX += n */
static bool is_address(const struct bpf_insn *i, const bool *is_target)
{
	return is_move(i) && !is_target[1] && i[1].code == (BPF_ALU64 | BPF_ADD | BPF_K) &&
	       i[1].dst_reg == i->dst_reg;
}

static bool is_load(const struct bpf_insn *i)
{
	return i->code == (BPF_LDX | BPF_MEM | BPF_DW);
}

/* rX = a cell; a cell = rX */
static bool is_copy(const struct bpf_insn *i, const bool *is_target)
{
	return is_load(i) && !is_target[1] && i[1].code == (BPF_STX | BPF_MEM | BPF_DW) &&
	       i[1].src_reg == i->dst_reg;
}

static bool is_constant_and_address(const struct bpf_insn *i, const bool *is_target)
{
	return i->code == (BPF_ALU64 | BPF_MOV | BPF_K) && !is_target[1] &&
	       is_address(i + 1, is_target + 1) && i[1].src_reg != i->dst_reg;
}

static int64_t both(int32_t low, int32_t high)
{
	return (int64_t)((uint64_t)(uint32_t)low | (uint64_t)(uint32_t)high << 32);
}

/* Returns how many instructions became one. */
static uint32_t fuse(const struct bpf_insn *i, struct vm_op *op, const bool *is_target,
		     const void *const *labels)
{
	if (is_constant_and_address(i, is_target)) {
		*op = (struct vm_op){ .go = labels[VM_CONSTANT_AND_ADDRESS],
				      .to = i->dst_reg,
				      .from = i[1].dst_reg,
				      .off = i[1].src_reg,
				      .imm = both(i->imm, i[2].imm) };
		return 3;
	}
	if (is_address(i, is_target)) {
		*op = (struct vm_op){ .go = labels[VM_ADDRESS],
				      .to = i->dst_reg,
				      .from = i->src_reg,
				      .imm = i[1].imm };
		return 2;
	}
	if (is_copy(i, is_target)) {
		*op = (struct vm_op){ .go = labels[VM_COPY],
				      .to = i->dst_reg,
				      .from = i->src_reg,
				      .off = i->off,
				      .imm = both(i[1].off, i[1].dst_reg) };
		return 2;
	}
	return 1;
}

void vm_fuse(struct script_vm *vm, const struct script_function_code *f, const bool *is_target)
{
	const struct bpf_insn *insns = vm->unit->insns;
	uint32_t n = f->entry;

	/* The last instruction of a function is an exit or a jump, which is in no pair. */
	while (n < f->end)
		n += insns[n].code == (BPF_LD | BPF_IMM | BPF_DW)
			     ? 2
			     : fuse(&insns[n], &vm->ops[n], &is_target[n], vm_labels());
}
