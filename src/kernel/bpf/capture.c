/* SPDX-License-Identifier: MIT */
/* kernel/bpf/capture.c - instructions that read user memory into the stage.
 *
 * Loops and offsets are written so that the verifier can bound them: see bound_position(). See
 * capture.h for the registers. */
#include "kernel/bpf/capture.h"

#include "kernel/bpf/capture_lists.h"
#include "kernel/bpf/capture_steps.h"

enum { PAGE = 4096, ROW_BITS = 9 };

/* R2 becomes a word that locates the bytes from STACK_BEGIN to R8. */
static void make_word(struct bpf_code *c)
{
	bpf_load(c, BPF_DW, R1, FP, STACK_BEGIN);
	bpf_alu(c, BPF_MOV, R2, R8);
	bpf_alu(c, BPF_SUB, R2, R1);
	bpf_alu_imm(c, BPF_LSH, R2, 16);
	bpf_alu(c, BPF_OR, R2, R1);
}

/* Stores it as the word of the field of the @i-th capture. */
static void store_field(struct bpf_code *c, int stage, int i)
{
	make_word(c);
	load_more(c, i, R1, BPF_CAPTURE_FIELD, BPF_CAPTURE_ARGUMENTS);
	bpf_alu_imm(c, BPF_LSH, R1, 2);
	bpf_alu(c, BPF_ADD, R1, R7);
	bpf_store(c, BPF_W, R1, words_of(stage), R2);
}

void bpf_stage_begin(struct bpf_code *c, const struct bpf_plan *p, int stage)
{
	int is_known = bpf_label(c);
	bool is_exit = stage == BPF_EXIT_STAGE;
	int words = bpf_stage_record(stage) + RECORD +
		    (is_exit ? KERNEL_EXIT_LATE_WORD : KERNEL_SYSCALL_WORDS);

	for (int i = 0; i < (is_exit ? 1 : KERNEL_SYSCALL_TEXTS) + ABI_CAPTURE_FIELDS; i += 2)
		bpf_store_imm(c, BPF_DW, R7, words + 4 * i, 0);
	bpf_load(c, BPF_DW, R1, FP, STACK_NR);
	bpf_jump_if_imm(c, BPF_JLT, R1, KERNEL_SYSCALLS_MAX, is_known);
	bpf_alu_imm(c, BPF_MOV, R1, KERNEL_SYSCALLS_MAX);
	bpf_put_label(c, is_known);
	bpf_alu_imm(c, BPF_LSH, R1, ROW_BITS);
	bpf_load_map_value(c, R2, p->control,
			   offsetof(struct bpf_control, captures) +
				   (is_exit ? sizeof(struct bpf_capture) * BPF_CAPTURE_ROW : 0));
	bpf_alu(c, BPF_ADD, R2, R1);
	bpf_store(c, BPF_DW, FP, STACK_ROW, R2);
	bpf_alu_imm(c, BPF_MOV, R8, is_exit ? BPF_EXIT_BYTES_AT : BPF_TEXTS_AT);
}

_Static_assert(sizeof((struct bpf_control *)NULL)->captures[0] == 1 << ROW_BITS,
	       "a row is found by shifting");

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
	bpf_alu_imm(c, BPF_AND, R1, PAGE - 1);
	bpf_alu_imm(c, BPF_MOV, R2, PAGE);
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

/* ---------------------------------------------------------------- other captures */

/* R2 becomes the number that stands in the memory of the argument of the @i-th capture. */
static void find_count(struct bpf_code *c, int stage, int i, int done)
{
	load_argument(c, stage, R3, 0);
	load_more(c, i, R1, BPF_CAPTURE_COUNT_AT, 255);
	bpf_alu(c, BPF_ADD, R3, R1);
	load_more(c, i, R2, BPF_CAPTURE_WIDTH, 7);
	bpf_alu_imm(c, BPF_ADD, R2, 1);
	bpf_store_imm(c, BPF_DW, FP, STACK_WORD, 0);
	bpf_alu(c, BPF_MOV, R1, FP);
	bpf_alu_imm(c, BPF_ADD, R1, STACK_WORD);
	bpf_call(c, BPF_FUNC_probe_read_user);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, done);
	bpf_load(c, BPF_DW, R2, FP, STACK_WORD);
}

/* R2, a command of ioctl(), becomes its size. Old commands have none. */
static void find_command_size(struct bpf_code *c, int is_known)
{
	enum { SIZE_AT = 16, SIZES = 0x3fff, UNNAMED = 64 };

	bpf_alu_imm(c, BPF_RSH, R2, SIZE_AT);
	bpf_alu_imm(c, BPF_AND, R2, SIZES);
	bpf_jump_if_imm(c, BPF_JNE, R2, 0, is_known);
	bpf_alu_imm(c, BPF_MOV, R2, UNNAMED);
	bpf_jump(c, is_known);
}

/* R2 becomes the size in bytes of the @i-th capture, in R9, or jumps to @done if it is empty. */
static void find_size(struct bpf_code *c, const struct bpf_plan *p, int stage, int i, int done)
{
	int is_fixed = bpf_label(c), is_pointed = bpf_label(c), is_long = bpf_label(c),
	    sized = bpf_label(c), is_counted = bpf_label(c), is_command = bpf_label(c);
	int is_known = bpf_label(c), fits = bpf_label(c);

	if (p->has_extra)
		bpf_jump_if_imm(c, BPF_JSET, R9, BPF_CAPTURE_IS_COUNTED, is_counted);
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_AND, R1, BPF_CAPTURE_ARGUMENTS << BPF_CAPTURE_SIZE);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, is_fixed);
	load_argument(c, stage, R2, BPF_CAPTURE_SIZE);
	if (p->has_extra)
		bpf_jump_if_imm(c, BPF_JSET, R9, BPF_CAPTURE_IS_COMMAND, is_command);
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_AND, R1, BPF_CAPTURE_HOWS << BPF_CAPTURE_HOW);
	bpf_jump_if_imm(c, BPF_JEQ, R1, ABI_CAPTURE_POINTED << BPF_CAPTURE_HOW, is_pointed);
	bpf_jump_if_imm(c, BPF_JSET, R9, BPF_CAPTURE_IS_INT, is_long);
	bpf_jump(c, sized);
	bpf_put_label(c, is_counted);
	if (p->has_extra) {
		find_count(c, stage, i, done);
		bpf_jump(c, sized);
	}
	bpf_put_label(c, is_command);
	if (p->has_extra)
		find_command_size(c, is_known);
	bpf_put_label(c, is_long);
	sign_extend(c, R2);
	bpf_put_label(c, sized);
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_RSH, R1, BPF_CAPTURE_UNIT);
	bpf_alu(c, BPF_MUL, R2, R1);
	bpf_jump(c, is_known);
	bpf_put_label(c, is_pointed);
	bpf_alu(c, BPF_MOV, R3, R2);
	read_word(c, 4, done);
	bpf_load(c, BPF_W, R2, FP, STACK_WORD);
	sign_extend(c, R2);
	bpf_put_label(c, is_known);
	bpf_jump_if_imm(c, BPF_JSLT, R2, 1, done);
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_RSH, R1, BPF_CAPTURE_MOST);
	bpf_alu_imm(c, BPF_AND, R1, 0xffff);
	bpf_jump_if(c, BPF_JGT, R1, R2, fits);
	bpf_put_label(c, is_fixed);
	bpf_alu(c, BPF_MOV, R2, R9);
	bpf_alu_imm(c, BPF_RSH, R2, BPF_CAPTURE_MOST);
	bpf_alu_imm(c, BPF_AND, R2, 0xffff);
	bpf_put_label(c, fits);
	limit_r2(c, ABI_CAPTURE_BUFFER_MAX);
}

/* STACK_POINTER becomes the address of the @i-th capture's memory. */
static void find_pointer(struct bpf_code *c, const struct bpf_plan *p, int stage, int i, int done)
{
	int is_found = bpf_label(c);

	load_argument(c, stage, R3, 0);
	bpf_store(c, BPF_DW, FP, STACK_POINTER, R3);
	if (p->has_extra) {
		bpf_alu(c, BPF_MOV, R1, R9);
		bpf_alu_imm(c, BPF_AND, R1, BPF_CAPTURE_IS_BEHIND);
		bpf_jump_if_imm(c, BPF_JEQ, R1, 0, is_found);
		load_more(c, i, R1, BPF_CAPTURE_AT, 255);
		bpf_alu(c, BPF_ADD, R3, R1);
		read_word(c, 8, done);
		bpf_load(c, BPF_DW, R1, FP, STACK_WORD);
		bpf_store(c, BPF_DW, FP, STACK_POINTER, R1);
	}
	bpf_put_label(c, is_found);
}

/* Reads again, but only to the end of the page; at least a byte less than the first time. */
static void read_part(struct bpf_code *c, int stage, int done)
{
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_AND, R1, BPF_CAPTURE_PART);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, done);
	bpf_load(c, BPF_DW, R3, FP, STACK_POINTER);
	bpf_alu(c, BPF_MOV, R1, R3);
	bpf_alu_imm(c, BPF_AND, R1, PAGE - 1);
	bpf_alu_imm(c, BPF_MOV, R2, PAGE);
	bpf_alu(c, BPF_SUB, R2, R1);
	bpf_load(c, BPF_DW, R1, FP, STACK_COUNT);
	bpf_jump_if(c, BPF_JGE, R2, R1, done);
	bpf_store(c, BPF_DW, FP, STACK_COUNT, R2);
	read_here(c, stage);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, done);
}

static void capture_bytes(struct bpf_code *c, const struct bpf_plan *p, int stage, int i, int done)
{
	int is_read = bpf_label(c);

	find_pointer(c, p, stage, i, done);
	find_size(c, p, stage, i, done);
	bpf_store(c, BPF_DW, FP, STACK_COUNT, R2);
	bpf_load(c, BPF_DW, R3, FP, STACK_POINTER);
	read_here(c, stage);
	bpf_jump_if_imm(c, BPF_JEQ, R0, 0, is_read);
	read_part(c, stage, done);
	bpf_put_label(c, is_read);
	bpf_load(c, BPF_DW, R2, FP, STACK_COUNT);
	bpf_alu(c, BPF_ADD, R8, R2);
	bpf_jump(c, done);
}

/* A text up to its NUL. */
static void capture_string(struct bpf_code *c, const struct bpf_plan *p, int stage, int i, int done)
{
	find_pointer(c, p, stage, i, done);
	bpf_alu(c, BPF_MOV, R2, R9);
	bpf_alu_imm(c, BPF_RSH, R2, BPF_CAPTURE_MOST);
	bpf_alu_imm(c, BPF_AND, R2, 0xffff);
	limit_r2(c, ABI_CAPTURE_BUFFER_MAX);
	bpf_load(c, BPF_DW, R3, FP, STACK_POINTER);
	at_stage(c, stage);
	bpf_call(c, BPF_FUNC_probe_read_user_str);
	bpf_jump_if_imm(c, BPF_JSLT, R0, 1, done);
	bpf_alu(c, BPF_ADD, R8, R0);
	bpf_jump(c, done);
}

/* Goes on to @next unless the argument that decides has the value that the @i-th capture wants. */
static void check_condition(struct bpf_code *c, int stage, int i, int next)
{
	int is_made = bpf_label(c);

	load_more(c, i, R1, BPF_CAPTURE_WHEN, BPF_CAPTURE_ARGUMENTS);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, is_made);
	bpf_alu_imm(c, BPF_LSH, R1, 3);
	bpf_alu(c, BPF_ADD, R1, R7);
	bpf_load(c, BPF_W, R2, R1, args_of(stage));
	load_more(c, i, R1, 0, -1);
	bpf_alu_imm(c, BPF_LSH, R1, 32);
	bpf_alu_imm(c, BPF_RSH, R1, 32);
	bpf_jump_if(c, BPF_JNE, R1, R2, next);
	bpf_put_label(c, is_made);
}

/* Reads the @i-th capture of a call. Only the first may be a vector, and only the first or the
 * second a list of pointers. */
static void stage_capture(struct bpf_code *c, const struct bpf_plan *p, int stage, int i,
			  int all_done)
{
	int done = bpf_label(c), is_texts = bpf_label(c), is_pointers = bpf_label(c),
	    is_vector = bpf_label(c), is_string = bpf_label(c), is_headers = bpf_label(c),
	    is_each = bpf_label(c);
	int is_header = bpf_label(c), continues = bpf_label(c), next = bpf_label(c);

	bpf_load(c, BPF_DW, R1, FP, STACK_ROW);
	bpf_load(c, BPF_DW, R9, R1, (int)sizeof(struct bpf_capture) * i);
	bpf_jump_if_imm(c, BPF_JEQ, R9, 0, all_done);
	if (stage == BPF_EXIT_STAGE) {
		bpf_load(c, BPF_DW, R1, R7, args_of(stage) + 8 * ABI_CAPTURE_RESULT);
		bpf_jump_if_imm(c, BPF_JSGE, R1, 0, continues);
		bpf_jump_if_imm(c, BPF_JSET, R9, BPF_CAPTURE_OF_FAILURES, continues);
		bpf_jump(c, next);
	}
	bpf_put_label(c, continues);
	if (p->has_extra)
		check_condition(c, stage, i, next);
	bound_position(c, stage, all_done);
	bpf_store(c, BPF_DW, FP, STACK_BEGIN, R8);
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_RSH, R1, BPF_CAPTURE_HOW);
	bpf_alu_imm(c, BPF_AND, R1, BPF_CAPTURE_HOWS);
	bpf_jump_if_imm(c, BPF_JEQ, R1, ABI_CAPTURE_TEXTS, is_texts);
	if (p->has_extra) {
		bpf_jump_if_imm(c, BPF_JEQ, R1, ABI_CAPTURE_STRING, is_string);
		bpf_jump_if_imm(c, BPF_JEQ, R1, ABI_CAPTURE_POINTERS, is_pointers);
		bpf_jump_if_imm(c, BPF_JEQ, R1, ABI_CAPTURE_VECTOR, is_vector);
		bpf_jump_if_imm(c, BPF_JEQ, R1, ABI_CAPTURE_HEADER, is_header);
		bpf_jump_if_imm(c, BPF_JEQ, R1, ABI_CAPTURE_HEADERS, is_headers);
		bpf_jump_if_imm(c, BPF_JEQ, R1, ABI_CAPTURE_EACH, is_each);
	}
	capture_bytes(c, p, stage, i, done);
	bpf_put_label(c, is_string);
	if (p->has_extra)
		capture_string(c, p, stage, i, done);
	bpf_put_label(c, is_texts);
	if (stage == BPF_ENTRY_STAGE && i == 0)
		bpf_capture_texts(c, stage, done);
	bpf_put_label(c, is_pointers);
	if (p->has_extra && stage == BPF_ENTRY_STAGE && i == 1)
		bpf_capture_count(c, stage, done);
	bpf_put_label(c, is_vector);
	if (p->has_extra && i == 0)
		bpf_capture_vector(c, stage, is_header, done);
	else
		bpf_put_label(c, is_header);
	bpf_put_label(c, is_headers);
	if (p->has_extra && i == 0)
		bpf_capture_headers(c, stage, done);
	bpf_put_label(c, is_each);
	if (p->has_extra && i == 0 && stage == BPF_ENTRY_STAGE)
		bpf_capture_each(c, stage, done);
	bpf_put_label(c, done);
	store_field(c, stage, i);
	bpf_put_label(c, next);
}

void bpf_stage_captures(struct bpf_code *c, const struct bpf_plan *p, int stage)
{
	int all_done = bpf_label(c);
	int most = !p->has_extra	     ? ABI_CAPTURES_PLAIN
		   : stage == BPF_EXIT_STAGE ? ABI_CAPTURES_EXIT_MAX
					     : ABI_CAPTURES_MAX;

	for (int i = 0; i < most; i++)
		stage_capture(c, p, stage, i, all_done);
	bpf_put_label(c, all_done);
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
