/* SPDX-License-Identifier: MIT */
/*
 * vm/translate_arithmetic.c - operations on numbers as x86-64.
 *
 * Shifts and divisions use rcx, rax and rdx, which hold registers of the program: r10, r11 and rdi
 * keep these meanwhile.  As in BPF a division by 0 gives 0, and its remainder the dividend.
 */
#include "script/vm/translate.h"

const uint8_t vm_registers[] = { RAX, RSI, RDX, RCX, R8, R9, RBX, R13, R14, R15, RBP };

static void shift(struct x86 *x, enum x86_shift op, int to, int from)
{
	int target = to == RCX ? R11 : to;

	if (from == RCX && to != RCX) {
		x86_shift_cl(x, op, to);
		return;
	}
	x86_mov(x, R11, RCX);
	x86_mov(x, RCX, from);
	x86_shift_cl(x, op, target);
	x86_mov(x, RCX, R11);
}

/* r11: the divisor, neither 0 nor -1. */
static void divide_plainly(struct x86 *x, int to, bool is_signed, bool is_modulo)
{
	x86_mov(x, R10, RAX);
	x86_mov(x, RDI, RDX);
	x86_mov(x, RAX, to);
	if (is_signed)
		x86_bytes(x, 0x9948, 2); /* cqo */
	else
		x86_rr(x, false, X86_XOR, RDX, RDX);
	x86_unary(x, is_signed ? X86_IDIV : X86_DIV, R11);
	x86_mov(x, R11, is_modulo ? RDX : RAX);
	x86_mov(x, RAX, R10);
	x86_mov(x, RDX, RDI);
	x86_mov(x, to, R11);
}

static void divide_by_minus_1(struct x86 *x, int to, bool is_modulo)
{
	if (is_modulo)
		x86_mov_imm(x, to, 0);
	else
		x86_unary(x, X86_NEG, to);
}

static void divide_imm(struct x86 *x, int to, int32_t by, bool is_signed, bool is_modulo)
{
	if (!by) {
		if (!is_modulo)
			x86_mov_imm(x, to, 0);
	} else if (is_signed && by == -1) {
		divide_by_minus_1(x, to, is_modulo);
	} else {
		x86_mov_imm(x, R11, (uint64_t)(int64_t)by);
		divide_plainly(x, to, is_signed, is_modulo);
	}
}

static void divide(struct x86 *x, int to, int from, bool is_signed, bool is_modulo)
{
	uint32_t zero, minus_1 = 0, done, done_2 = 0;

	x86_mov(x, R11, from);
	x86_rr(x, true, X86_TEST, R11, R11);
	zero = x86_skip_if(x, 0x70 | CC_EQUAL);
	if (is_signed) {
		x86_ri(x, X86_CMP, R11, -1);
		minus_1 = x86_skip_if(x, 0x70 | CC_EQUAL);
	}
	divide_plainly(x, to, is_signed, is_modulo);
	done = x86_skip_if(x, 0xeb);
	if (is_signed) {
		x86_land(x, minus_1);
		divide_by_minus_1(x, to, is_modulo);
		done_2 = x86_skip_if(x, 0xeb);
	}
	x86_land(x, zero);
	if (!is_modulo)
		x86_mov_imm(x, to, 0);
	x86_land(x, done);
	if (is_signed)
		x86_land(x, done_2);
}

void vm_translate_register(struct x86 *x, const struct bpf_insn *i)
{
	int to = vm_registers[i->dst_reg], from = vm_registers[i->src_reg];

	switch (BPF_OP(i->code)) {
	case BPF_ADD:
		x86_rr(x, true, X86_ADD, from, to);
		break;
	case BPF_SUB:
		x86_rr(x, true, X86_SUB, from, to);
		break;
	case BPF_OR:
		x86_rr(x, true, X86_OR, from, to);
		break;
	case BPF_AND:
		x86_rr(x, true, X86_AND, from, to);
		break;
	case BPF_XOR:
		x86_rr(x, true, X86_XOR, from, to);
		break;
	case BPF_MOV:
		x86_mov(x, to, from);
		break;
	case BPF_MUL:
		x86_multiply(x, to, from);
		break;
	case BPF_LSH:
		shift(x, X86_SHL, to, from);
		break;
	case BPF_RSH:
		shift(x, X86_SHR, to, from);
		break;
	case BPF_ARSH:
		shift(x, X86_SAR, to, from);
		break;
	case BPF_DIV:
		divide(x, to, from, i->off == 1, false);
		break;
	case BPF_MOD:
		divide(x, to, from, i->off == 1, true);
		break;
	}
}

void vm_translate_number(struct x86 *x, const struct bpf_insn *i)
{
	int to = vm_registers[i->dst_reg];

	switch (BPF_OP(i->code)) {
	case BPF_ADD:
		x86_ri(x, X86_ADD, to, i->imm);
		break;
	case BPF_SUB:
		x86_ri(x, X86_SUB, to, i->imm);
		break;
	case BPF_OR:
		x86_ri(x, X86_OR, to, i->imm);
		break;
	case BPF_AND:
		x86_ri(x, X86_AND, to, i->imm);
		break;
	case BPF_XOR:
		x86_ri(x, X86_XOR, to, i->imm);
		break;
	case BPF_MOV:
		x86_mov_imm(x, to, (uint64_t)(int64_t)i->imm);
		break;
	case BPF_MUL:
		x86_multiply_imm(x, to, i->imm);
		break;
	case BPF_LSH:
		x86_shift_imm(x, X86_SHL, to, i->imm & 63);
		break;
	case BPF_RSH:
		x86_shift_imm(x, X86_SHR, to, i->imm & 63);
		break;
	case BPF_ARSH:
		x86_shift_imm(x, X86_SAR, to, i->imm & 63);
		break;
	case BPF_DIV:
		divide_imm(x, to, i->imm, i->off == 1, false);
		break;
	case BPF_MOD:
		divide_imm(x, to, i->imm, i->off == 1, true);
		break;
	case BPF_NEG:
		x86_unary(x, X86_NEG, to);
		break;
	}
}
