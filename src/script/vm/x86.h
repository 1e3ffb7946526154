/* SPDX-License-Identifier: MIT */
/*
 * vm/x86.h - encodes x86-64 instructions (Intel SDM, volume 2), shortest forms first.
 *
 * Bytes beyond the buffer are counted and not written: a first pass needs no memory.
 */
#ifndef SCRIPT_VM_X86_H
#define SCRIPT_VM_X86_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum x86_register { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

enum x86_condition {
	CC_BELOW = 2,
	CC_NOT_BELOW,
	CC_EQUAL,
	CC_NOT_EQUAL,
	CC_NOT_ABOVE,
	CC_ABOVE,
	CC_NEGATIVE,
	CC_LESS = 12,
	CC_NOT_LESS,
	CC_NOT_GREATER,
	CC_GREATER,
	CC_ALWAYS = 16
};

/* The numbers of operations on r/m and register; the immediate forms have the same, over 8. */
enum x86_op {
	X86_ADD = 0x01,
	X86_OR = 0x09,
	X86_AND = 0x21,
	X86_SUB = 0x29,
	X86_XOR = 0x31,
	X86_CMP = 0x39,
	X86_TEST = 0x85,
	X86_MOV = 0x89
};
enum x86_shift { X86_SHL = 4, X86_SHR = 5, X86_SAR = 7 };
enum x86_unary { X86_NEG = 3, X86_DIV = 6, X86_IDIV = 7 };

struct x86 {
	uint8_t *bytes;
	uint32_t n, capacity;
};

static inline void x86_byte(struct x86 *x, int byte)
{
	if (x->n < x->capacity)
		x->bytes[x->n] = (uint8_t)byte;
	x->n++;
}

static inline void x86_bytes(struct x86 *x, uint64_t value, int n)
{
	for (; n--; value >>= 8)
		x86_byte(x, value & 255);
}

static inline bool x86_fits8(int64_t value)
{
	return value == (int8_t)value;
}

/* @wide: 64 bits.  A prefix that says nothing is left out. */
static inline void x86_rex(struct x86 *x, bool wide, int reg, int rm)
{
	int rex = 0x40 | wide << 3 | (reg >> 3) << 2 | rm >> 3;

	if (rex != 0x40)
		x86_byte(x, rex);
}

/* @op's operands are registers. */
static inline void x86_rr(struct x86 *x, bool wide, int op, int reg, int rm)
{
	x86_rex(x, wide, reg, rm);
	x86_byte(x, op);
	x86_byte(x, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

/* The operand [base + offset] behind an opcode. */
static inline void x86_memory(struct x86 *x, int reg, int base, int32_t offset)
{
	int mode = offset == 0 && (base & 7) != RBP ? 0 : x86_fits8(offset) ? 1 : 2;

	x86_byte(x, mode << 6 | (reg & 7) << 3 | (base & 7));
	if ((base & 7) == RSP)
		x86_byte(x, 0x24);
	if (mode)
		x86_bytes(x, (uint64_t)(int64_t)offset, mode == 1 ? 1 : 4);
}

static inline void x86_load(struct x86 *x, int to, int base, int32_t offset)
{
	x86_rex(x, true, to, base);
	x86_byte(x, 0x8b);
	x86_memory(x, to, base, offset);
}

static inline void x86_store(struct x86 *x, int base, int32_t offset, int from)
{
	x86_rex(x, true, from, base);
	x86_byte(x, 0x89);
	x86_memory(x, from, base, offset);
}

static inline void x86_store_imm(struct x86 *x, int base, int32_t offset, int32_t value)
{
	x86_rex(x, true, 0, base);
	x86_byte(x, 0xc7);
	x86_memory(x, 0, base, offset);
	x86_bytes(x, (uint64_t)(int64_t)value, 4);
}

/* @op: ADD, OR, AND, SUB, XOR, CMP; the number has its sign extended. */
static inline void x86_ri(struct x86 *x, int op, int rm, int32_t value)
{
	x86_rex(x, true, 0, rm);
	x86_byte(x, x86_fits8(value) ? 0x83 : 0x81);
	x86_byte(x, 0xc0 | op >> 3 << 3 | (rm & 7));
	x86_bytes(x, (uint64_t)(int64_t)value, x86_fits8(value) ? 1 : 4);
}

/* 32 bits in memory: ADD, SUB, CMP. */
static inline void x86_mi32(struct x86 *x, int op, int base, int32_t offset, int8_t value)
{
	x86_rex(x, false, 0, base);
	x86_byte(x, 0x83);
	x86_memory(x, op >> 3, base, offset);
	x86_byte(x, value);
}

static inline void x86_mov(struct x86 *x, int to, int from)
{
	if (to != from)
		x86_rr(x, true, X86_MOV, from, to);
}

static inline void x86_mov_imm(struct x86 *x, int to, uint64_t value)
{
	if (!value) {
		x86_rr(x, false, X86_XOR, to, to);
	} else if (value == (uint32_t)value) {
		x86_rex(x, false, 0, to);
		x86_byte(x, 0xb8 | (to & 7));
		x86_bytes(x, value, 4);
	} else if ((int64_t)value == (int32_t)value) {
		x86_rex(x, true, 0, to);
		x86_byte(x, 0xc7);
		x86_byte(x, 0xc0 | (to & 7));
		x86_bytes(x, value, 4);
	} else {
		x86_rex(x, true, 0, to);
		x86_byte(x, 0xb8 | (to & 7));
		x86_bytes(x, value, 8);
	}
}

static inline void x86_unary(struct x86 *x, enum x86_unary op, int rm)
{
	x86_rr(x, true, 0xf7, op, rm);
}

static inline void x86_shift_imm(struct x86 *x, enum x86_shift op, int rm, int count)
{
	x86_rr(x, true, 0xc1, op, rm);
	x86_byte(x, count);
}

static inline void x86_shift_cl(struct x86 *x, enum x86_shift op, int rm)
{
	x86_rr(x, true, 0xd3, op, rm);
}

static inline void x86_multiply(struct x86 *x, int to, int from)
{
	x86_rex(x, true, to, from);
	x86_byte(x, 0x0f);
	x86_byte(x, 0xaf);
	x86_byte(x, 0xc0 | (to & 7) << 3 | (from & 7));
}

static inline void x86_multiply_imm(struct x86 *x, int to, int32_t value)
{
	x86_rr(x, true, x86_fits8(value) ? 0x6b : 0x69, to, to);
	x86_bytes(x, (uint64_t)(int64_t)value, x86_fits8(value) ? 1 : 4);
}

static inline void x86_push(struct x86 *x, int reg)
{
	x86_rex(x, false, 0, reg);
	x86_byte(x, 0x50 | (reg & 7));
}

static inline void x86_pop(struct x86 *x, int reg)
{
	x86_rex(x, false, 0, reg);
	x86_byte(x, 0x58 | (reg & 7));
}

static inline void x86_call_register(struct x86 *x, int reg)
{
	x86_rex(x, false, 0, reg);
	x86_byte(x, 0xff);
	x86_byte(x, 0xd0 | (reg & 7));
}

static inline void x86_jump_register(struct x86 *x, int reg)
{
	x86_rex(x, false, 0, reg);
	x86_byte(x, 0xff);
	x86_byte(x, 0xe0 | (reg & 7));
}

/* To @target in the same code; in one byte if it is near and @may_be_short. */
static inline void x86_jump(struct x86 *x, enum x86_condition c, uint32_t target, bool may_be_short)
{
	int64_t distance = (int64_t)target - (int64_t)x->n - 2;
	int length = c == CC_ALWAYS ? 5 : 6;

	if (may_be_short && x86_fits8(distance)) {
		x86_byte(x, c == CC_ALWAYS ? 0xeb : 0x70 | (int)c);
		x86_byte(x, (int)distance);
		return;
	}
	distance = (int64_t)target - (int64_t)x->n - length;
	if (c != CC_ALWAYS)
		x86_byte(x, 0x0f);
	x86_byte(x, c == CC_ALWAYS ? 0xe9 : 0x80 | (int)c);
	x86_bytes(x, (uint64_t)distance, 4);
}

static inline void x86_call(struct x86 *x, uint32_t target)
{
	int64_t distance = (int64_t)target - (int64_t)x->n - 5;

	x86_byte(x, 0xe8);
	x86_bytes(x, (uint64_t)distance, 4);
}

/* A short forward jump with this opcode; x86_land() completes it. */
static inline uint32_t x86_skip_if(struct x86 *x, int opcode)
{
	x86_byte(x, opcode);
	x86_byte(x, 0);
	return x->n;
}

static inline void x86_land(struct x86 *x, uint32_t from)
{
	if (from <= x->capacity)
		x->bytes[from - 1] = (uint8_t)(x->n - from);
}

#endif
