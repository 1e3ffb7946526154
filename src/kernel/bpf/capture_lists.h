/* SPDX-License-Identifier: MIT */
/* kernel/bpf/capture_lists.h - captures of lists: texts, pointers, iovecs, messages, iocbs. */
#ifndef KERNEL_BPF_CAPTURE_LISTS_H
#define KERNEL_BPF_CAPTURE_LISTS_H

#include "kernel/bpf/capture_steps.h"

/* bpf_capture_list - if the capture in R9 is a list: read it to position R8, and jump to @done.
 * R1 becomes the kind of its size. */
void bpf_capture_list(const struct bpf_captures *k, int done);
/* bpf_capture_lists - the functions for that. */
void bpf_capture_lists(const struct bpf_captures *k);
/* bpf_capture_messages - those for iovecs and messages: capture_messages.c. */
void bpf_capture_messages(const struct bpf_captures *k);
/* bpf_begin_moved - the capture in R9 begins: how many bytes its iovecs have together, and its names
 * each. */
void bpf_begin_moved(struct bpf_code *c, int stage);

/* ---------------------------------------------------------------- steps */

/* R7 becomes the ring of the CPU in R1, and the position R8 is checked. */
static inline void enter_at(const struct bpf_captures *k, int most, int leave)
{
	struct bpf_code *c = k->c;
	int has_ring = bpf_label(c);

	bpf_store(c, BPF_DW, FP, STACK_CPU, R1);
	bpf_find_ring(c, k->p, has_ring);
	bpf_jump(c, leave); /* never */
	bpf_put_label(c, has_ring);
	bpf_jump_if_imm(c, BPF_JGT, R8, most, leave);
}

static inline void enter(const struct bpf_captures *k, int leave)
{
	enter_at(k, BPF_CAPTURE_BEGIN_MAX, leave);
}

static inline void return_register(struct bpf_code *c, int reg)
{
	bpf_alu(c, BPF_MOV, R0, reg);
	bpf_exit(c);
}

static inline void return_number(struct bpf_code *c, int label, int number)
{
	bpf_put_label(c, label);
	bpf_alu_imm(c, BPF_MOV, R0, number);
	bpf_exit(c);
}

/* Stores a u16 size and R2 bytes from R3; size 0 if they cannot be read. */
static inline void stage_counted(struct bpf_code *c, int stage)
{
	bpf_alu_imm(c, BPF_ADD, R8, 2);
	bpf_store(c, BPF_DW, FP, STACK_WORD, R2);
	read_here(c, stage);
	bpf_load(c, BPF_DW, R2, FP, STACK_WORD);
	bpf_alu_imm(c, BPF_ARSH, R0, 63); /* all bits if it failed */
	bpf_alu_imm(c, BPF_XOR, R0, -1);
	bpf_alu(c, BPF_AND, R2, R0);
	at_stage(c, stage);
	bpf_store(c, BPF_H, R1, -2, R2);
	bpf_alu(c, BPF_ADD, R8, R2);
}

/* Limits R2, any number, to R1, which has 16 bits. No branches: see stage_text(). */
static inline void take_smaller(struct bpf_code *c)
{
	bpf_alu(c, BPF_MOV, R4, R2);
	bpf_alu_imm(c, BPF_RSH, R4, 16);
	bpf_alu(c, BPF_MOV, R5, R4);
	bpf_alu_imm(c, BPF_MUL, R5, -1);
	bpf_alu(c, BPF_OR, R4, R5);
	bpf_alu_imm(c, BPF_ARSH, R4, 63); /* all bits if R2 has more than 16 */
	bpf_alu(c, BPF_OR, R2, R4);
	bpf_alu_imm(c, BPF_AND, R2, 0xffff);
	bpf_alu(c, BPF_SUB, R2, R1);
	bpf_alu(c, BPF_MOV, R4, R2);
	bpf_alu_imm(c, BPF_ARSH, R4, 63);
	bpf_alu(c, BPF_AND, R2, R4);
	bpf_alu(c, BPF_ADD, R2, R1);
}

/* Stores a u16 size and that many of the R2 bytes at R3, at most as many as the capture wants. */
static inline void stage_data(struct bpf_code *c, int stage, int done)
{
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_RSH, R1, BPF_CAPTURE_MOST);
	bpf_alu_imm(c, BPF_AND, R1, 0xffff);
	take_smaller(c);
	bpf_jump_if_imm(c, BPF_JGT, R2, ABI_CAPTURE_BUFFER_MAX, done); /* never */
	stage_counted(c, stage);
}

#endif
