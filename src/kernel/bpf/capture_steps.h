/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/capture_steps.h - steps that reading user memory into the stage is made of.
 *
 * Each emits instructions. Registers: see capture.h; R9 is the first word of a capture.
 */
#ifndef KERNEL_BPF_CAPTURE_STEPS_H
#define KERNEL_BPF_CAPTURE_STEPS_H

#include "kernel/bpf/capture.h"

enum { BPF_USER_PAGE = 4096 };

static inline int args_of(int stage)
{
	return stage == BPF_EXIT_STAGE ? stage + (int)offsetof(struct bpf_stage, args)
				       : bpf_stage_record(stage) + RECORD + KERNEL_SYSCALL_ARGS - 8;
}

static inline int words_of(int stage)
{
	return bpf_stage_record(stage) + RECORD +
	       (stage == BPF_EXIT_STAGE ? KERNEL_EXIT_WORDS : KERNEL_CAPTURE_WORDS);
}

/* R2 becomes a word that locates the bytes from STACK_BEGIN to R8. */
static inline void make_word(struct bpf_code *c)
{
	bpf_load(c, BPF_DW, R1, FP, STACK_BEGIN);
	bpf_alu(c, BPF_MOV, R2, R8);
	bpf_alu(c, BPF_SUB, R2, R1);
	bpf_alu_imm(c, BPF_LSH, R2, 16);
	bpf_alu(c, BPF_OR, R2, R1);
}

/* R1 becomes the address of byte R8 of the record in @stage. */
static inline void at_stage(struct bpf_code *c, int stage)
{
	bpf_alu(c, BPF_MOV, R1, R7);
	bpf_alu(c, BPF_ADD, R1, R8);
	bpf_alu_imm(c, BPF_ADD, R1, bpf_stage_record(stage) + RECORD);
}

/* Stores and reloads R8, so that the verifier knows only its bound and not how it was reached. */
static inline void bound_position(struct bpf_code *c, int stage, int is_full)
{
	bpf_store(c, BPF_DW, R7, stage, R8);
	bpf_load(c, BPF_DW, R8, R7, stage);
	bpf_jump_if_imm(c, BPF_JGT, R8, BPF_CAPTURE_BEGIN_MAX, is_full);
}

/* @to becomes the argument whose number, counted from 1, is in R9 at bit @shift. */
static inline void load_argument(struct bpf_code *c, int stage, int to, int shift)
{
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_RSH, R1, shift);
	bpf_alu_imm(c, BPF_AND, R1, BPF_CAPTURE_ARGUMENTS);
	bpf_alu_imm(c, BPF_LSH, R1, 3);
	bpf_alu(c, BPF_ADD, R1, R7);
	bpf_load(c, BPF_DW, to, R1, args_of(stage));
}

/* Reads R2 bytes from R3 to position R8. R0 is not 0 on failure. */
static inline void read_here(struct bpf_code *c, int stage)
{
	at_stage(c, stage);
	bpf_call(c, BPF_FUNC_probe_read_user);
}

/* Reads @size bytes from R3 into STACK_WORD. */
static inline void read_word(struct bpf_code *c, int size, int is_bad)
{
	bpf_alu(c, BPF_MOV, R1, FP);
	bpf_alu_imm(c, BPF_ADD, R1, STACK_WORD);
	bpf_alu_imm(c, BPF_MOV, R2, size);
	bpf_call(c, BPF_FUNC_probe_read_user);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, is_bad);
}

/* Reads @size bytes at R6 + @offset into STACK_WORD. */
static inline void read_kernel_word(struct bpf_code *c, int offset, int size, int is_bad)
{
	bpf_alu(c, BPF_MOV, R1, FP);
	bpf_alu_imm(c, BPF_ADD, R1, STACK_WORD);
	bpf_alu_imm(c, BPF_MOV, R2, size);
	bpf_alu(c, BPF_MOV, R3, R6);
	bpf_alu_imm(c, BPF_ADD, R3, offset);
	bpf_call(c, BPF_FUNC_probe_read_kernel);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, is_bad);
}

/* R6 becomes the pointer at R6 + @offset. */
static inline void follow(struct bpf_code *c, int offset, int is_none)
{
	read_kernel_word(c, offset, 8, is_none);
	bpf_load(c, BPF_DW, R6, FP, STACK_WORD);
	bpf_jump_if_imm(c, BPF_JEQ, R6, 0, is_none);
}

/* R6 becomes the table of the descriptors of this process, R1 the number of its places. */
static inline void find_descriptors(struct bpf_code *c, const struct bpf_plan *p, int is_none)
{
	bpf_call(c, BPF_FUNC_get_current_task);
	bpf_alu(c, BPF_MOV, R6, R0);
	follow(c, p->file.files, is_none);
	follow(c, p->file.fdt, is_none);
	read_kernel_word(c, p->file.max_fds, 4, is_none);
	bpf_load(c, BPF_W, R1, FP, STACK_WORD);
}

/* Limits R2 to @most. */
static inline void limit_r2(struct bpf_code *c, int most)
{
	int fits = bpf_label(c);

	bpf_jump_if_imm(c, BPF_JLE, R2, most, fits);
	bpf_alu_imm(c, BPF_MOV, R2, most);
	bpf_put_label(c, fits);
}

/* R3 becomes the pointer of STACK_POINTER, R2 the bytes from there to the end of its page.  Jumps to @fits if the
 * STACK_COUNT bytes that could not be read lie in that page. */
static inline void limit_to_page(struct bpf_code *c, int fits)
{
	bpf_load(c, BPF_DW, R3, FP, STACK_POINTER);
	bpf_alu(c, BPF_MOV, R1, R3);
	bpf_alu_imm(c, BPF_AND, R1, BPF_USER_PAGE - 1);
	bpf_alu_imm(c, BPF_MOV, R2, BPF_USER_PAGE);
	bpf_alu(c, BPF_SUB, R2, R1);
	bpf_load(c, BPF_DW, R1, FP, STACK_COUNT);
	bpf_jump_if(c, BPF_JGE, R2, R1, fits);
}

static inline void sign_extend(struct bpf_code *c, int reg)
{
	bpf_alu_imm(c, BPF_LSH, reg, 32);
	bpf_alu_imm(c, BPF_ARSH, reg, 32);
}

#endif
