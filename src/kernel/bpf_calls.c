/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf_calls.c - the programs that record system calls: see bpf_program.h.
 *
 * How long what an argument points to is, is known when it is read.  So a record with such bytes is made in the ring's
 * stage first.  There are two, since an entry's program may be preempted by an end's; each is one program's
 * alone: no CPU runs a program that it runs already.
 */
#include "kernel/bpf_program.h"

#include <asm/ptrace.h>
#include <stddef.h>

#include "kernel/bpf_parts.h"

#if defined __x86_64__
enum { STAGE = offsetof(struct bpf_ring, stage), EXIT_STAGE = offsetof(struct bpf_ring, exit_stage) };
enum { COMPAT = 2 }; /* TS_COMPAT: the call came as those of 32-bit programs do */
static const int arguments[KERNEL_SYSCALL_N_ARGS] = {
	offsetof(struct pt_regs, rdi), offsetof(struct pt_regs, rsi), offsetof(struct pt_regs, rdx),
	offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r8),  offsetof(struct pt_regs, r9),
};
static const int arguments_32[KERNEL_SYSCALL_N_ARGS] = {
	offsetof(struct pt_regs, rbx), offsetof(struct pt_regs, rcx), offsetof(struct pt_regs, rdx),
	offsetof(struct pt_regs, rsi), offsetof(struct pt_regs, rdi), offsetof(struct pt_regs, rbp),
};
enum { NUMBER = offsetof(struct pt_regs, orig_rax) };

/* R9 becomes what control->calls says of the call with the number in R1. */
static void look_up_call(struct bpf_code *c, const struct bpf_plan *p)
{
	int is_known = bpf_label(c);

	bpf_jump_if_imm(c, BPF_JLT, R1, KERNEL_SYSCALLS_MAX, is_known);
	bpf_alu_imm(c, BPF_MOV, R1, KERNEL_SYSCALLS_MAX);
	bpf_put_label(c, is_known);
	bpf_alu_imm(c, BPF_LSH, R1, 3);
	bpf_load_map_value(c, R2, p->control, offsetof(struct bpf_control, calls));
	bpf_alu(c, BPF_ADD, R2, R1);
	bpf_load(c, BPF_DW, R9, R2, 0);
}

/* ---------------------------------------------------------------- the record */

static void copy_arguments(struct bpf_code *c, const int *from, int to, int at)
{
	for (int i = 0; i < KERNEL_SYSCALL_N_ARGS; i++) {
		bpf_load(c, BPF_DW, R1, R6, from[i]);
		bpf_store(c, BPF_DW, to, at + RECORD + KERNEL_SYSCALL_ARGS + 8 * i, R1);
	}
}

/* A record of the call with number R8, registers R6: at @at from @to. */
static void store_call(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id, int to, int at)
{
	int is_32 = bpf_label(c), done = bpf_label(c);

	bpf_store_common(c, to, at, kernel_id);
	bpf_store(c, BPF_DW, to, at + RECORD + KERNEL_SYSCALL_NR, R8);
	if (p->task_status >= 0) {
		bpf_call(c, BPF_FUNC_get_current_task_btf);
		bpf_load(c, BPF_W, R1, R0, p->task_status);
		bpf_jump_if_imm(c, BPF_JSET, R1, COMPAT, is_32);
	}
	copy_arguments(c, arguments, to, at);
	bpf_jump(c, done);
	bpf_put_label(c, is_32);
	if (p->task_status >= 0)
		copy_arguments(c, arguments_32, to, at);
	bpf_put_label(c, done);
}

/* R1 becomes byte R8 of the record in @stage. */
static void at_stage(struct bpf_code *c, int stage)
{
	bpf_alu(c, BPF_MOV, R1, R7);
	bpf_alu(c, BPF_ADD, R1, R8);
	bpf_alu_imm(c, BPF_ADD, R1, stage + RECORD);
}

/* @to becomes the argument with the number, counted from 1, that R9 has at bit @shift. */
static void load_argument(struct bpf_code *c, int stage, int to, int shift)
{
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_RSH, R1, shift);
	bpf_alu_imm(c, BPF_AND, R1, 7);
	bpf_alu_imm(c, BPF_LSH, R1, 3);
	bpf_alu(c, BPF_ADD, R1, R7);
	bpf_load(c, BPF_DW, to, R1, stage + RECORD + KERNEL_SYSCALL_ARGS - 8);
}

/*
 * A text of at most @max bytes with its end, from R3 to behind what the stage has: R8 bytes of a record.  R0 is
 * how many it is.  The last of one that is longer are dots.
 */
static void stage_text(struct bpf_code *c, int max, int is_bad)
{
	int is_long = bpf_label(c), is_whole = bpf_label(c);

	at_stage(c, STAGE);
	bpf_alu_imm(c, BPF_MOV, R2, max + 1);
	bpf_call(c, BPF_FUNC_probe_read_user_str);
	bpf_jump_if_imm(c, BPF_JSLT, R0, 1, is_bad);
	bpf_jump_if_imm(c, BPF_JGT, R0, max, is_long);
	bpf_jump(c, is_whole); /* what a verifier sees first includes the other case */
	bpf_put_label(c, is_long);
	at_stage(c, STAGE);
	for (int k = max - 4; k < max - 1; k++)
		bpf_store_imm(c, BPF_B, R1, k, '.');
	bpf_store_imm(c, BPF_B, R1, max - 1, 0);
	bpf_alu_imm(c, BPF_MOV, R0, max);
	bpf_put_label(c, is_whole);
	bpf_alu(c, BPF_ADD, R8, R0);
}

/* The text that argument R9 & 7 points to; its word is number @i.  What is not in memory cannot be read here: its
 * size is 0. */
static void stage_argument(struct bpf_code *c, int i, int done)
{
	int is_bad = bpf_label(c);

	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_AND, R1, 255);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, done);
	load_argument(c, STAGE, R3, 0);
	bpf_store(c, BPF_W, R7, STAGE + RECORD + KERNEL_SYSCALL_WORDS + 4 * i, R8);
	stage_text(c, BPF_TEXT_MAX, is_bad);
	bpf_alu_imm(c, BPF_LSH, R0, 16);
	bpf_load(c, BPF_W, R1, R7, STAGE + RECORD + KERNEL_SYSCALL_WORDS + 4 * i);
	bpf_alu(c, BPF_OR, R1, R0);
	bpf_store(c, BPF_W, R7, STAGE + RECORD + KERNEL_SYSCALL_WORDS + 4 * i, R1);
	bpf_put_label(c, is_bad);
	bpf_alu_imm(c, BPF_RSH, R9, 8);
}

/* ---------------------------------------------------------------- what else is captured */

/* @size bytes, or as many as the stack's word says, of what argument R9 points to. */
static void capture_bytes(struct bpf_code *c, int stage, int size, int done)
{
	load_argument(c, stage, R3, 0);
	at_stage(c, stage);
	if (size)
		bpf_alu_imm(c, BPF_MOV, R2, size);
	else
		bpf_load(c, BPF_DW, R2, FP, STACK_WORD);
	bpf_call(c, BPF_FUNC_probe_read_user);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, done);
	if (size)
		bpf_alu_imm(c, BPF_MOV, R2, size);
	else
		bpf_load(c, BPF_DW, R2, FP, STACK_WORD);
	bpf_alu(c, BPF_ADD, R8, R2);
	bpf_jump(c, done);
}

/* A length is an int, at an end in memory. */
static void capture_address(struct bpf_code *c, int stage, int done)
{
	int fits = bpf_label(c);

	load_argument(c, stage, R3, BPF_CAPTURE_SIZE);
	if (stage == EXIT_STAGE) {
		bpf_alu(c, BPF_MOV, R1, FP);
		bpf_alu_imm(c, BPF_ADD, R1, STACK_WORD);
		bpf_alu_imm(c, BPF_MOV, R2, 4);
		bpf_call(c, BPF_FUNC_probe_read_user);
		bpf_jump_if_imm(c, BPF_JNE, R0, 0, done);
		bpf_load(c, BPF_W, R3, FP, STACK_WORD);
	}
	bpf_alu_imm(c, BPF_LSH, R3, 32);
	bpf_alu_imm(c, BPF_ARSH, R3, 32);
	bpf_jump_if_imm(c, BPF_JSLT, R3, 1, done);
	bpf_jump_if_imm(c, BPF_JSLE, R3, KERNEL_CAPTURE_ADDRESS_MAX, fits);
	bpf_alu_imm(c, BPF_MOV, R3, KERNEL_CAPTURE_ADDRESS_MAX);
	bpf_put_label(c, fits);
	bpf_store(c, BPF_DW, FP, STACK_WORD, R3);
	capture_bytes(c, stage, 0, done);
}

/* R6 counts, R9 is where the next pointer lies. */
static void capture_argv(struct bpf_code *c, int done)
{
	int again = bpf_label(c), more = bpf_label(c);

	load_argument(c, STAGE, R9, 0);
	bpf_alu_imm(c, BPF_MOV, R6, 0);
	bpf_put_label(c, again);
	bpf_alu(c, BPF_MOV, R1, FP);
	bpf_alu_imm(c, BPF_ADD, R1, STACK_WORD);
	bpf_alu_imm(c, BPF_MOV, R2, 8);
	bpf_alu(c, BPF_MOV, R3, R9);
	bpf_call(c, BPF_FUNC_probe_read_user);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, done);
	bpf_load(c, BPF_DW, R3, FP, STACK_WORD);
	bpf_jump_if_imm(c, BPF_JEQ, R3, 0, done);
	bpf_jump_if_imm(c, BPF_JEQ, R6, KERNEL_CAPTURE_ARGS, more);
	stage_text(c, KERNEL_CAPTURE_ARG_MAX, more);
	bpf_alu_imm(c, BPF_ADD, R9, 8);
	bpf_alu_imm(c, BPF_ADD, R6, 1);
	bpf_jump(c, again);
	bpf_put_label(c, more);
	at_stage(c, STAGE);
	for (int k = 0; k < 3; k++)
		bpf_store_imm(c, BPF_B, R1, k, '.');
	bpf_alu_imm(c, BPF_ADD, R8, 3);
	bpf_jump(c, done);
}

/* What the lowest byte of R9 tells; its word begins as no bytes at R8. */
static void capture(struct bpf_code *c, int stage)
{
	int done = bpf_label(c), is_time = bpf_label(c), is_argv = bpf_label(c);

	bpf_store(c, BPF_DW, FP, STACK_BEGIN, R8);
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_RSH, R1, BPF_CAPTURE_KIND);
	bpf_alu_imm(c, BPF_AND, R1, 3);
	bpf_jump_if_imm(c, BPF_JEQ, R1, KERNEL_CAPTURE_TIME, is_time);
	bpf_jump_if_imm(c, BPF_JEQ, R1, KERNEL_CAPTURE_ARGV, is_argv);
	capture_address(c, stage, done);
	bpf_put_label(c, is_time);
	capture_bytes(c, stage, KERNEL_CAPTURE_TIME_SIZE, done);
	bpf_put_label(c, is_argv);
	if (stage == STAGE)
		capture_argv(c, done);
	bpf_put_label(c, done);
	bpf_load(c, BPF_DW, R1, FP, STACK_BEGIN);
	bpf_alu(c, BPF_MOV, R2, R8);
	bpf_alu(c, BPF_SUB, R2, R1);
	bpf_alu_imm(c, BPF_LSH, R2, 16);
	bpf_alu(c, BPF_OR, R2, R1);
	bpf_store(c, BPF_W, R7, stage + RECORD + KERNEL_CAPTURE_WORD, R2);
}

/* ---------------------------------------------------------------- the programs */

/* What lies in the stage, R8 bytes from the common fields on, becomes a record. */
static void move_to_ring(struct bpf_code *c, const struct bpf_plan *p, int stage, int leave)
{
	bpf_alu_imm(c, BPF_ADD, R8, RECORD + 7);
	bpf_alu_imm(c, BPF_AND, R8, 0x3f8); /* it is no more: for the verifier, which does not see so */
	bpf_reserve(c, p, 0, leave);
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_ADD, R1, RECORD);
	bpf_alu(c, BPF_MOV, R2, R8);
	bpf_alu_imm(c, BPF_SUB, R2, RECORD);
	bpf_alu_imm(c, BPF_AND, R2, 1023);
	bpf_alu(c, BPF_MOV, R3, R7);
	bpf_alu_imm(c, BPF_ADD, R3, stage + RECORD);
	bpf_call(c, BPF_FUNC_probe_read_kernel);
	bpf_publish(c, 0);
	bpf_jump(c, leave);
}

_Static_assert(BPF_RING_SLACK >= 1024 + RECORD, "a record goes on behind the ring's end");

static void record_pointed_to(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id, int leave)
{
	int done = bpf_label(c), is_over = bpf_label(c);

	bpf_store(c, BPF_DW, FP, STACK_CALL, R9);
	store_call(c, p, kernel_id, R7, STAGE);
	bpf_alu_imm(c, BPF_MOV, R8, BPF_TEXTS_AT);
	for (int i = 0; i < KERNEL_SYSCALL_TEXTS; i++)
		stage_argument(c, i, done);
	bpf_put_label(c, done);
	bpf_load(c, BPF_DW, R9, FP, STACK_CALL);
	bpf_alu_imm(c, BPF_RSH, R9, BPF_CALL_CAPTURE - BPF_CALL_TEXTS);
	bpf_jump_if_imm(c, BPF_JEQ, R9, 0, is_over);
	capture(c, STAGE);
	bpf_put_label(c, is_over);
	move_to_ring(c, p, STAGE, leave);
}

void bpf_program_sys_enter(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id)
{
	enum { SIZE = RECORD + KERNEL_SYSCALL_ARGS + 8 * KERNEL_SYSCALL_N_ARGS };
	int leave, points;

	bpf_code_begin(c);
	leave = bpf_label(c);
	points = bpf_label(c);
	bpf_load(c, BPF_DW, R6, R1, 0); /* registers */
	bpf_load(c, BPF_DW, R8, R1, 8); /* number */
	bpf_leave_if_off(c, p, leave);
	bpf_alu(c, BPF_MOV, R1, R8);
	look_up_call(c, p);
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_AND, R1, BPF_CALL_ENTRY);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, leave);
	bpf_leave_if_not_followed(c, p, leave);
	bpf_get_ring(c, p, leave);
	/* What is to be done at the entry alone. */
	bpf_alu_imm(c, BPF_LSH, R9, 64 - BPF_CALL_EXIT_CAPTURE);
	bpf_alu_imm(c, BPF_RSH, R9, 64 - BPF_CALL_EXIT_CAPTURE + BPF_CALL_TEXTS);
	bpf_jump_if_imm(c, BPF_JNE, R9, 0, points);
	bpf_reserve(c, p, SIZE, leave);
	store_call(c, p, kernel_id, R9, 0);
	bpf_publish(c, SIZE);
	bpf_jump(c, leave);
	bpf_put_label(c, points);
	record_pointed_to(c, p, kernel_id, leave);
	bpf_end(c, leave);
}

/* The end of a call whose result is R8, registers R6, with what it has written for its caller: if it went well. */
static void record_captured(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id, int leave)
{
	int has_failed = bpf_label(c);

	bpf_store_common(c, R7, EXIT_STAGE, kernel_id);
	bpf_load(c, BPF_DW, R1, FP, STACK_CALL);
	bpf_store(c, BPF_DW, R7, EXIT_STAGE + RECORD + KERNEL_SYSCALL_NR, R1);
	copy_arguments(c, arguments, R7, EXIT_STAGE);
	bpf_alu(c, BPF_MOV, R6, R8);
	bpf_alu_imm(c, BPF_MOV, R8, BPF_TEXTS_AT);
	bpf_store_imm(c, BPF_W, R7, EXIT_STAGE + RECORD + KERNEL_CAPTURE_WORD, BPF_TEXTS_AT);
	bpf_jump_if_imm(c, BPF_JSLT, R6, 0, has_failed);
	capture(c, EXIT_STAGE);
	bpf_put_label(c, has_failed);
	bpf_store(c, BPF_DW, R7, EXIT_STAGE + RECORD + KERNEL_SYSCALL_ARGS, R6);
	move_to_ring(c, p, EXIT_STAGE, leave);
}

void bpf_program_sys_exit(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id)
{
	enum { SIZE = RECORD + KERNEL_SYSCALL_ARGS + 8 };
	int leave, points;

	bpf_code_begin(c);
	leave = bpf_label(c);
	points = bpf_label(c);
	bpf_load(c, BPF_DW, R6, R1, 0); /* registers */
	bpf_load(c, BPF_DW, R8, R1, 8); /* result */
	bpf_leave_if_off(c, p, leave);
	bpf_load(c, BPF_DW, R1, R6, NUMBER);
	bpf_alu_imm(c, BPF_LSH, R1, 32);
	bpf_alu_imm(c, BPF_ARSH, R1, 32);
	bpf_store(c, BPF_DW, FP, STACK_CALL, R1);
	look_up_call(c, p);
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_AND, R1, BPF_CALL_EXIT);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, leave);
	bpf_leave_if_not_followed(c, p, leave);
	bpf_get_ring(c, p, leave);
	bpf_alu_imm(c, BPF_RSH, R9, BPF_CALL_EXIT_CAPTURE);
	bpf_jump_if_imm(c, BPF_JNE, R9, 0, points);
	bpf_reserve(c, p, SIZE, leave);
	bpf_store_common(c, R9, 0, kernel_id);
	bpf_load(c, BPF_DW, R1, FP, STACK_CALL);
	bpf_store(c, BPF_DW, R9, RECORD + KERNEL_SYSCALL_NR, R1);
	bpf_store(c, BPF_DW, R9, RECORD + KERNEL_SYSCALL_ARGS, R8);
	bpf_publish(c, SIZE);
	bpf_jump(c, leave);
	bpf_put_label(c, points);
	record_captured(c, p, kernel_id, leave);
	bpf_end(c, leave);
}
#else
/* Where registers are, and that stores become visible in their order, is known of x86 alone. */
void bpf_program_sys_enter(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id)
{
	(void)p, (void)kernel_id;
	c->failed = true;
}

void bpf_program_sys_exit(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id)
{
	(void)p, (void)kernel_id;
	c->failed = true;
}
#endif
