/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/capture_set.c - captures of sets of descriptors, as select() gets them.
 *
 * A program may pass any number of descriptors, and the kernel looks at no more than the table of the
 * process has. So only the bits of these are recorded: what lies behind them may be anything. The
 * program's own size is read all the same, up to the most that is recorded, and dropped if that
 * fails: a set that is not in memory as a whole is shown as its address.
 */
#include "kernel/bpf/capture.h"

#include "kernel/bpf/capture_steps.h"

enum { LONG_BITS = 64, LONG_BYTES = 8 };

/* R2 becomes bytes of whole longs for as many bits as @from has. */
static void round_up(struct bpf_code *c, int from)
{
	bpf_alu(c, BPF_MOV, R2, from);
	bpf_alu_imm(c, BPF_ADD, R2, LONG_BITS - 1);
	bpf_alu_imm(c, BPF_RSH, R2, __builtin_ctz(LONG_BITS));
	bpf_alu_imm(c, BPF_LSH, R2, __builtin_ctz(LONG_BYTES));
}

/* Limits R2 to the maximum of the capture; R3 becomes whether it was larger. */
static void limit_to_most(struct bpf_code *c)
{
	int fits = bpf_label(c);

	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_RSH, R1, BPF_CAPTURE_MOST);
	bpf_alu_imm(c, BPF_AND, R1, 0xffff);
	bpf_alu_imm(c, BPF_MOV, R3, ABI_CAPTURE_SET_WHOLE);
	bpf_jump_if(c, BPF_JLE, R2, R1, fits);
	bpf_alu(c, BPF_MOV, R2, R1);
	bpf_alu_imm(c, BPF_MOV, R3, ABI_CAPTURE_SET_MORE);
	bpf_put_label(c, fits);
	limit_r2(c, ABI_CAPTURE_BUFFER_MAX);
}

/* Reads the bytes that the number of descriptors stands for; they remain in STACK_COUNT. */
static void read_claimed(struct bpf_code *c, int stage, int done)
{
	load_argument(c, stage, R4, BPF_CAPTURE_SIZE);
	sign_extend(c, R4);
	bpf_jump_if_imm(c, BPF_JSLT, R4, 1, done);
	round_up(c, R4);
	bpf_store(c, BPF_DW, FP, STACK_COUNT, R2);
	limit_to_most(c);
	load_argument(c, stage, R3, 0);
	bpf_jump_if_imm(c, BPF_JLT, R3, BPF_USER_PAGE, done);
	read_here(c, stage);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, done);
}

/* R2 becomes the bytes that the kernel reads. Each table has places for the bits of a long. */
static void limit_to_table(struct bpf_code *c, const struct bpf_plan *p, int done)
{
	int is_known = bpf_label(c);

	bpf_load(c, BPF_DW, R2, FP, STACK_COUNT);
	bpf_jump_if_imm(c, BPF_JLE, R2, LONG_BYTES, is_known);
	if (!p->has_table) {
		bpf_jump(c, done);
	} else {
		find_descriptors(c, p, done);
		round_up(c, R1);
		bpf_load(c, BPF_DW, R1, FP, STACK_COUNT);
		bpf_jump_if(c, BPF_JLE, R2, R1, is_known);
		bpf_alu(c, BPF_MOV, R2, R1);
	}
	bpf_put_label(c, is_known);
}

void bpf_capture_set(const struct bpf_captures *k, int done)
{
	struct bpf_code *c = k->c;
	int is_other = bpf_label(c);

	bpf_jump_if_imm(c, BPF_JNE, R1, ABI_CAPTURE_SET, is_other);
	read_claimed(c, k->stage, done);
	limit_to_table(c, k->p, done);
	limit_to_most(c);
	bpf_alu(c, BPF_ADD, R8, R2);
	at_stage(c, k->stage);
	bpf_store(c, BPF_B, R1, 0, R3);
	bpf_alu_imm(c, BPF_ADD, R8, 1);
	bpf_jump(c, done);
	bpf_put_label(c, is_other);
}
