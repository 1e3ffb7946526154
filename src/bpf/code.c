/* SPDX-License-Identifier: MIT */
/* bpf/code.c - writes instructions into a fixed array and resolves jumps at the end.
 *
 * A program that is too long, or a jump that is too far, sets `failed`. Later calls stay harmless,
 * so callers do not check each instruction. */
#include "bpf/code.h"

#include <assert.h>
#include <errno.h>

void bpf_code_begin(struct bpf_code *c)
{
	c->n = c->n_labels = c->n_jumps = c->n_functions = 0;
	c->failed = false;
}

static void add(struct bpf_code *c, int code, int to, int from, int offset, int32_t value)
{
	assert(c->n >= 0 && c->n <= BPF_CODE_MAX);
	assert(to >= 0 && to <= 10 && from >= 0 && from <= 10);
	if (c->n == BPF_CODE_MAX || offset < INT16_MIN || offset > INT16_MAX) {
		c->failed = true;
		return;
	}
	c->insns[c->n++] = (struct bpf_insn){ .code = (uint8_t)code,
					      .dst_reg = (uint8_t)to & 15,
					      .src_reg = (uint8_t)from & 15,
					      .off = (int16_t)offset,
					      .imm = value };
}

int bpf_label(struct bpf_code *c)
{
	if (c->n_labels == BPF_LABELS_MAX) {
		c->failed = true;
		return 0;
	}
	c->labels[c->n_labels] = -1;
	return c->n_labels++;
}

void bpf_put_label(struct bpf_code *c, int label)
{
	assert(label >= 0 && label < BPF_LABELS_MAX);
	assert(c->failed || c->labels[label] < 0); /* placed once */
	c->labels[label] = c->n;
}

int bpf_code_end(struct bpf_code *c)
{
	for (int i = 0; i < c->n_jumps && !c->failed; i++) {
		int to = c->labels[c->jumps[i].label], distance = to - c->jumps[i].insn - 1;
		struct bpf_insn *insn = &c->insns[c->jumps[i].insn];

		if (to < 0 || distance < INT16_MIN || distance > INT16_MAX)
			c->failed = true;
		else if (insn->code == (BPF_JMP | BPF_CALL))
			insn->imm = distance;
		else
			insn->off = (int16_t)distance;
	}
	return c->failed ? -E2BIG : 0;
}

void bpf_alu(struct bpf_code *c, int op, int to, int from)
{
	add(c, BPF_ALU64 | op | BPF_X, to, from, 0, 0);
}

void bpf_alu_imm(struct bpf_code *c, int op, int to, int32_t value)
{
	add(c, BPF_ALU64 | op | BPF_K, to, 0, 0, value);
}

/* An instruction of two words. @kind: the meaning of the value. */
static void load_long(struct bpf_code *c, int to, int kind, uint32_t low, uint32_t high)
{
	add(c, BPF_LD | BPF_IMM | BPF_DW, to, kind, 0, (int32_t)low);
	add(c, 0, 0, 0, 0, (int32_t)high);
}

void bpf_mov64(struct bpf_code *c, int to, uint64_t value)
{
	load_long(c, to, 0, (uint32_t)value, (uint32_t)(value >> 32));
}

void bpf_load_map(struct bpf_code *c, int to, int fd)
{
	load_long(c, to, BPF_PSEUDO_MAP_FD, (uint32_t)fd, 0);
}

void bpf_load_map_value(struct bpf_code *c, int to, int fd, uint32_t offset)
{
	load_long(c, to, BPF_PSEUDO_MAP_VALUE, (uint32_t)fd, offset);
}

void bpf_load(struct bpf_code *c, int size, int to, int from, int offset)
{
	assert(BPF_SIZE(size) == size);
	add(c, BPF_LDX | BPF_MEM | size, to, from, offset, 0);
}

void bpf_store(struct bpf_code *c, int size, int to, int offset, int from)
{
	assert(BPF_SIZE(size) == size);
	add(c, BPF_STX | BPF_MEM | size, to, from, offset, 0);
}

void bpf_store_imm(struct bpf_code *c, int size, int to, int offset, int32_t value)
{
	assert(BPF_SIZE(size) == size);
	add(c, BPF_ST | BPF_MEM | size, to, 0, offset, value);
}

void bpf_compare_exchange(struct bpf_code *c, int to, int offset, int from)
{
	add(c, BPF_STX | BPF_ATOMIC | BPF_DW, to, from, offset, BPF_CMPXCHG);
}

void bpf_atomic(struct bpf_code *c, int op, int to, int offset, int from)
{
	add(c, BPF_STX | BPF_ATOMIC | BPF_DW, to, from, offset, op);
}

static void add_jump(struct bpf_code *c, int code, int a, int b, int32_t value, int label)
{
	assert(label >= 0 && label < BPF_LABELS_MAX);
	if (c->n == BPF_CODE_MAX) {
		c->failed = true;
		return;
	}
	c->jumps[c->n_jumps].insn = c->n;
	c->jumps[c->n_jumps++].label = label;
	add(c, code, a, b, 0, value);
}

void bpf_jump(struct bpf_code *c, int label)
{
	add_jump(c, BPF_JMP | BPF_JA, 0, 0, 0, label);
}

void bpf_jump_if(struct bpf_code *c, int op, int a, int b, int label)
{
	add_jump(c, BPF_JMP | op | BPF_X, a, b, 0, label);
}

void bpf_jump_if_imm(struct bpf_code *c, int op, int a, int32_t value, int label)
{
	add_jump(c, BPF_JMP | op | BPF_K, a, 0, value, label);
}

void bpf_call(struct bpf_code *c, int helper)
{
	add(c, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

void bpf_exit(struct bpf_code *c)
{
	add(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

void bpf_function(struct bpf_code *c, int label, const char *name, int n_arguments)
{
	assert(n_arguments >= 0 && n_arguments <= BPF_ARGUMENTS_MAX);
	bpf_put_label(c, label);
	if (c->n_functions == BPF_FUNCTIONS_MAX) {
		c->failed = true;
		return;
	}
	c->functions[c->n_functions++] = (struct bpf_function){ name, c->n, n_arguments };
}

void bpf_call_function(struct bpf_code *c, int label)
{
	add_jump(c, BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, label);
}
