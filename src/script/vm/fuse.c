/* SPDX-License-Identifier: MIT */
/*
 * vm/fuse.c - neighbouring operations of the interpreter become one.
 *
 * They are those of most handlers: a cell is compared with a number, a cell becomes a key, a
 * constant and the address of keys are arguments, and a known array is counted in.  Only the first
 * operation changes; the others stay where they are, and are stepped over.  Nothing jumps to them.
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

/* rX = a cell; if rX op n goto something behind */
static enum vm_operation load_and_jump(const struct bpf_insn *i, const bool *is_target)
{
	static const enum vm_operation operations[16] = {
		[BPF_JEQ >> 4] = VM_LOAD_JEQ,	[BPF_JNE >> 4] = VM_LOAD_JNE,
		[BPF_JGT >> 4] = VM_LOAD_JGT,	[BPF_JGE >> 4] = VM_LOAD_JGE,
		[BPF_JLT >> 4] = VM_LOAD_JLT,	[BPF_JLE >> 4] = VM_LOAD_JLE,
		[BPF_JSGT >> 4] = VM_LOAD_JSGT, [BPF_JSGE >> 4] = VM_LOAD_JSGE,
		[BPF_JSLT >> 4] = VM_LOAD_JSLT, [BPF_JSLE >> 4] = VM_LOAD_JSLE,
	};
	bool is_jump = BPF_CLASS(i[1].code) == BPF_JMP && BPF_SRC(i[1].code) == BPF_K;

	return is_load(i) && !is_target[1] && is_jump && i[1].off >= 0 && i[1].dst_reg == i->dst_reg
		       ? operations[BPF_OP(i[1].code) >> 4]
		       : 0;
}

static int64_t both(int32_t low, int32_t high)
{
	return (int64_t)((uint64_t)(uint32_t)low | (uint64_t)(uint32_t)high << 32);
}

static bool are_targets(const bool *is_target, int n)
{
	for (int k = 1; k < n; k++)
		if (is_target[k])
			return true;
	return false;
}

/* r1 = the array; r2 = a register; r2 += n; r3 = a number or a cell; the call */
static bool fuse_direct(const struct bpf_insn *i, struct vm_op *op, const bool *is_target,
			const void *const *labels)
{
	bool is_number = i[3].code == (BPF_ALU64 | BPF_MOV | BPF_K);

	if (op[4].go != labels[VM_HELP_DIRECT] || are_targets(is_target, 5) || i->dst_reg != 1 ||
	    !is_constant_and_address(i, is_target) || i[1].dst_reg != 2 || i[1].src_reg < 6 ||
	    i[3].dst_reg != 3 || (!is_number && (!is_load(&i[3]) || i[3].src_reg < 6)))
		return false;
	*op = (struct vm_op){ .go = labels[is_number ? VM_DIRECT_NUMBER : VM_DIRECT_CELL],
			      .to = i[3].src_reg,
			      .from = i[1].src_reg,
			      .off = op[4].off,
			      .imm = both(is_number ? i[3].imm : i[3].off, i[2].imm) };
	return true;
}

/* Returns how many instructions became one. */
static uint32_t fuse(const struct bpf_insn *i, struct vm_op *op, const bool *is_target,
		     uint32_t n_left, const void *const *labels)
{
	enum vm_operation jump = load_and_jump(i, is_target);

	if (n_left > 4 && fuse_direct(i, op, is_target, labels))
		return 5;
	if (jump) {
		op->go = labels[jump];
		op->imm = both(i[1].imm, i[1].off + 2);
		return 2;
	}
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
			     : fuse(&insns[n], &vm->ops[n], &is_target[n], f->end - n, vm_labels());
}
