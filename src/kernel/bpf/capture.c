/* SPDX-License-Identifier: MIT */
/* kernel/bpf/capture.c - the stage: begun, texts read into it, copied to the ring.
 *
 * Offsets are written so that the verifier can bound them: see bound_position(). See capture.h for
 * the registers. */
#include "kernel/bpf/capture.h"

#include "kernel/bpf/capture_steps.h"

void bpf_stage_begin(struct bpf_code *c, int stage)
{
	bool is_exit = stage == BPF_EXIT_STAGE;
	int words = bpf_stage_record(stage) + RECORD +
		    (is_exit ? KERNEL_EXIT_LATE_WORD : KERNEL_SYSCALL_WORDS);

	for (int i = 0; i < (is_exit ? 1 : KERNEL_SYSCALL_TEXTS) + ABI_CAPTURE_FIELDS; i += 2)
		bpf_store_imm(c, BPF_DW, R7, words + 4 * i, 0);
	bpf_alu_imm(c, BPF_MOV, R8, is_exit ? BPF_EXIT_BYTES_AT : BPF_TEXTS_AT);
}

/* ---------------------------------------------------------------- texts */

/* Reads from a text that has no end before memory that cannot be read: ABI_CAPTURE_TEXT_CUT bytes,
 * or those before that page. R0 becomes their number; no NUL is among them. */
static void stage_part_of_text(struct bpf_code *c, int stage, int is_read, int is_bad)
{
	load_argument(c, stage, R3, 0);
	bpf_alu_imm(c, BPF_MOV, R2, ABI_CAPTURE_TEXT_CUT);
	bpf_store(c, BPF_DW, FP, STACK_COUNT, R2);
	read_here(c, stage);
	bpf_alu(c, BPF_MOV, R1, R0);
	bpf_load(c, BPF_DW, R0, FP, STACK_COUNT);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, is_read);
	load_argument(c, stage, R3, 0);
	bpf_alu(c, BPF_MOV, R1, R3);
	bpf_alu_imm(c, BPF_AND, R1, BPF_USER_PAGE - 1);
	bpf_alu_imm(c, BPF_MOV, R2, BPF_USER_PAGE);
	bpf_alu(c, BPF_SUB, R2, R1);
	bpf_store(c, BPF_DW, FP, STACK_COUNT, R2);
	read_here(c, stage);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, is_bad);
	bpf_load(c, BPF_DW, R0, FP, STACK_COUNT);
}

/* Reads the text of the argument R9 & 7; its word is number @i. A text that is not in memory cannot
 * be read here, or not to its end: the exit of the call tries again. R8 is reloaded behind it, so
 * that the verifier walks what follows once. */
static void stage_argument(struct bpf_code *c, int i, int done)
{
	int word = bpf_stage_record(BPF_ENTRY_STAGE) + RECORD + KERNEL_SYSCALL_WORDS + 4 * i;
	int is_late = bpf_label(c), is_read = bpf_label(c), next = bpf_label(c);

	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_AND, R1, 255);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, done);
	load_argument(c, BPF_ENTRY_STAGE, R3, 0);
	bpf_store(c, BPF_W, R7, word, R8);
	bpf_jump_if_imm(c, BPF_JEQ, R3, 0, next);
	at_stage(c, BPF_ENTRY_STAGE);
	bpf_alu_imm(c, BPF_MOV, R2, BPF_TEXT_MAX);
	bpf_call(c, BPF_FUNC_probe_read_user_str);
	bpf_jump_if_imm(c, BPF_JSLT, R0, 1, is_late);
	bpf_jump(c, is_read);
	bpf_put_label(c, is_late);
	bpf_store_imm(c, BPF_DW, R7, bpf_stage_late(BPF_ENTRY_STAGE), 1);
	stage_part_of_text(c, BPF_ENTRY_STAGE, is_read, next);
	bpf_put_label(c, is_read);
	bpf_alu(c, BPF_ADD, R8, R0);
	bpf_alu_imm(c, BPF_LSH, R0, 16);
	bpf_load(c, BPF_W, R1, R7, word);
	bpf_alu(c, BPF_OR, R1, R0);
	bpf_store(c, BPF_W, R7, word, R1);
	bpf_put_label(c, next);
	bound_position(c, BPF_ENTRY_STAGE, done);
	bpf_alu_imm(c, BPF_RSH, R9, 8);
}

/* The same at the exit: a text that cannot be read there either is "" and has no bit. */
static void stage_late_argument(struct bpf_code *c, int i, int done)
{
	int mask = bpf_stage_record(BPF_EXIT_STAGE) + RECORD + BPF_EXIT_BYTES_AT;
	int is_bad = bpf_label(c), next = bpf_label(c);

	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_AND, R1, 255);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, done);
	load_argument(c, BPF_EXIT_STAGE, R3, 0);
	at_stage(c, BPF_EXIT_STAGE);
	bpf_alu_imm(c, BPF_MOV, R2, BPF_TEXT_MAX);
	bpf_call(c, BPF_FUNC_probe_read_user_str);
	bpf_jump_if_imm(c, BPF_JSLT, R0, 1, is_bad);
	bpf_alu(c, BPF_ADD, R8, R0);
	bpf_load(c, BPF_B, R1, R7, mask);
	bpf_alu_imm(c, BPF_OR, R1, 1 << i);
	bpf_store(c, BPF_B, R7, mask, R1);
	bpf_jump(c, next);
	bpf_put_label(c, is_bad);
	at_stage(c, BPF_EXIT_STAGE);
	bpf_store_imm(c, BPF_B, R1, 0, 0);
	bpf_alu_imm(c, BPF_ADD, R8, 1);
	bpf_put_label(c, next);
	bpf_alu_imm(c, BPF_RSH, R9, 8);
}

void bpf_stage_texts(struct bpf_code *c, int stage)
{
	int done = bpf_label(c);

	bpf_store(c, BPF_DW, FP, STACK_BEGIN, R8);
	if (stage == BPF_EXIT_STAGE) { /* bpf_stage_begin() left R8 at BPF_EXIT_BYTES_AT */
		bpf_store_imm(c, BPF_B, R7, bpf_stage_record(stage) + RECORD + BPF_EXIT_BYTES_AT,
			      0);
		bpf_alu_imm(c, BPF_ADD, R8, 1);
	}
	bpf_load(c, BPF_DW, R9, FP, STACK_CALL);
	bpf_alu_imm(c, BPF_RSH, R9, BPF_CALL_TEXTS);
	for (int i = 0; i < KERNEL_SYSCALL_TEXTS; i++)
		if (stage == BPF_ENTRY_STAGE)
			stage_argument(c, i, done);
		else
			stage_late_argument(c, i, done);
	bpf_put_label(c, done);
	if (stage == BPF_EXIT_STAGE) {
		make_word(c);
		bpf_store(c, BPF_W, R7, bpf_stage_record(stage) + RECORD + KERNEL_EXIT_LATE_WORD,
			  R2);
	}
}

void bpf_stage_to_ring(struct bpf_code *c, const struct bpf_plan *p, int stage, int leave)
{
	bpf_store(c, BPF_DW, R7, stage, R8);
	bpf_load(c, BPF_DW, R8, R7, stage);
	bpf_jump_if_imm(c, BPF_JGT, R8, BPF_BYTES_MAX - 8, leave); /* never */
	bpf_alu_imm(c, BPF_ADD, R8, RECORD + 7);
	bpf_alu_imm(c, BPF_AND, R8, ~7);
	bpf_reserve(c, p, 0, leave);
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_ADD, R1, RECORD);
	bpf_alu(c, BPF_MOV, R2, R8);
	bpf_alu_imm(c, BPF_SUB, R2, RECORD);
	bpf_alu_imm(c, BPF_AND, R2, 16383);
	bpf_jump_if_imm(c, BPF_JGT, R2, BPF_BYTES_MAX, leave);
	bpf_alu(c, BPF_MOV, R3, R7);
	bpf_alu_imm(c, BPF_ADD, R3, bpf_stage_record(stage) + RECORD);
	bpf_call(c, BPF_FUNC_probe_read_kernel);
	bpf_publish(c, 0);
	bpf_jump(c, leave);
}

_Static_assert((int)BPF_RING_SLACK >= (int)BPF_RECORD_MAX,
	       "a record goes on behind the ring's end");
