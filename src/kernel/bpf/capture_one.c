/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/capture_one.c - the function that reads one capture of a call into the stage.
 *
 * Arguments: the CPU, the capture's number, the position, the number of the call. Result: the
 * position behind it; 0 if there is no such capture, or no room. Its registers: R7 the ring, R8 the
 * position, R9 the first word of the capture; STACK_ROW is the address of its words.
 */
#include "kernel/bpf/capture.h"

#include "kernel/bpf/capture_lists.h"
#include "kernel/bpf/capture_steps.h"

enum { ROW_BITS = 9 };

/* @to becomes the bits of the second word of the capture from bit @shift on. */
static void load_more(struct bpf_code *c, int to, int shift, int mask)
{
	bpf_load(c, BPF_DW, to, FP, STACK_ROW);
	bpf_load(c, BPF_DW, to, to, (int)offsetof(struct bpf_capture, more));
	bpf_alu_imm(c, BPF_RSH, to, shift);
	bpf_alu_imm(c, BPF_AND, to, mask);
}

/* Stores the word that locates the bytes in the capture's field. */
static void store_field(struct bpf_code *c, int stage)
{
	make_word(c);
	load_more(c, R1, BPF_CAPTURE_FIELD, BPF_CAPTURE_ARGUMENTS);
	bpf_alu_imm(c, BPF_LSH, R1, 2);
	bpf_alu(c, BPF_ADD, R1, R7);
	bpf_store(c, BPF_W, R1, words_of(stage), R2);
}

/* Limits R2, the result of the call, to the argument with the room of the program. */
static void limit_to_room(struct bpf_code *c, int stage)
{
	int fits = bpf_label(c);

	load_more(c, R1, BPF_CAPTURE_ROOM, BPF_CAPTURE_ARGUMENTS);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, fits);
	bpf_alu_imm(c, BPF_LSH, R1, 3);
	bpf_alu(c, BPF_ADD, R1, R7);
	bpf_load(c, BPF_DW, R1, R1, args_of(stage));
	bpf_jump_if(c, BPF_JLE, R2, R1, fits);
	bpf_alu(c, BPF_MOV, R2, R1);
	bpf_put_label(c, fits);
}

/* R2 becomes the number that stands in the memory of the argument. */
static void find_count(struct bpf_code *c, int stage, int done)
{
	load_argument(c, stage, R3, 0);
	load_more(c, R1, BPF_CAPTURE_COUNT_AT, 255);
	bpf_alu(c, BPF_ADD, R3, R1);
	load_more(c, R2, BPF_CAPTURE_WIDTH, 7);
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

/* R2 becomes the size in bytes of the capture in R9, or jumps to @done if it is empty. */
static void find_size(struct bpf_code *c, const struct bpf_plan *p, int stage, int done)
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
	if (p->has_extra && stage == BPF_EXIT_STAGE)
		limit_to_room(c, stage);
	if (p->has_extra)
		bpf_jump_if_imm(c, BPF_JSET, R9, BPF_CAPTURE_IS_COMMAND, is_command);
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_AND, R1, BPF_CAPTURE_HOWS << BPF_CAPTURE_HOW);
	bpf_jump_if_imm(c, BPF_JEQ, R1, ABI_CAPTURE_POINTED << BPF_CAPTURE_HOW, is_pointed);
	bpf_jump_if_imm(c, BPF_JSET, R9, BPF_CAPTURE_IS_INT, is_long);
	/* More than is captured of anything: with such a size, a product could overflow. */
	bpf_jump_if_imm(c, BPF_JGT, R2, 1 << 24, is_fixed);
	bpf_jump(c, sized);
	bpf_put_label(c, is_counted);
	if (p->has_extra) {
		find_count(c, stage, done);
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
	bpf_alu_imm(c, BPF_AND, R1, 255);
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

/* STACK_POINTER becomes the address of the capture's memory. A NULL, or a small number that is no
 * pointer in this call (as of fcntl), would cost a page fault: nothing is mapped in the first page
 * (vm.mmap_min_addr). */
static void find_pointer(struct bpf_code *c, const struct bpf_plan *p, int stage, int done)
{
	int is_found = bpf_label(c);

	load_argument(c, stage, R3, 0);
	bpf_jump_if_imm(c, BPF_JLT, R3, BPF_USER_PAGE, done);
	bpf_store(c, BPF_DW, FP, STACK_POINTER, R3);
	if (p->has_extra) {
		bpf_alu(c, BPF_MOV, R1, R9);
		bpf_alu_imm(c, BPF_AND, R1, BPF_CAPTURE_IS_BEHIND);
		bpf_jump_if_imm(c, BPF_JEQ, R1, 0, is_found);
		load_more(c, R1, BPF_CAPTURE_AT, 255);
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
	limit_to_page(c, done);
	bpf_store(c, BPF_DW, FP, STACK_COUNT, R2);
	read_here(c, stage);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, done);
}

static void capture_bytes(struct bpf_code *c, const struct bpf_plan *p, int stage, int done)
{
	int is_read = bpf_label(c);

	find_pointer(c, p, stage, done);
	find_size(c, p, stage, done);
	bpf_store(c, BPF_DW, FP, STACK_COUNT, R2);
	bpf_load(c, BPF_DW, R3, FP, STACK_POINTER);
	read_here(c, stage);
	bpf_jump_if_imm(c, BPF_JEQ, R0, 0, is_read);
	read_part(c, stage, done);
	bpf_put_label(c, is_read);
	bpf_load(c, BPF_DW, R2, FP, STACK_COUNT);
	bpf_alu(c, BPF_ADD, R8, R2);
}

/* A text up to its NUL, if R1 is that kind. */
static void capture_string(struct bpf_code *c, const struct bpf_plan *p, int stage, int done)
{
	int is_other = bpf_label(c);

	bpf_jump_if_imm(c, BPF_JNE, R1, ABI_CAPTURE_STRING, is_other);
	find_pointer(c, p, stage, done);
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
	bpf_put_label(c, is_other);
}

/* Goes on to @next unless the argument that decides has the value that the capture wants. */
static void check_condition(struct bpf_code *c, int stage, int next)
{
	int is_made = bpf_label(c);

	load_more(c, R1, BPF_CAPTURE_WHEN, BPF_CAPTURE_ARGUMENTS);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, is_made);
	bpf_alu_imm(c, BPF_LSH, R1, 3);
	bpf_alu(c, BPF_ADD, R1, R7);
	bpf_load(c, BPF_W, R2, R1, args_of(stage));
	load_more(c, R1, 0, -1);
	bpf_alu_imm(c, BPF_LSH, R1, 32);
	bpf_alu_imm(c, BPF_RSH, R1, 32);
	bpf_jump_if(c, BPF_JNE, R1, R2, next);
	bpf_put_label(c, is_made);
}

/* The arguments become R7, R8, R9 and STACK_ROW. */
static void find_capture(const struct bpf_captures *k, int leave)
{
	struct bpf_code *c = k->c;
	int has_ring = bpf_label(c), is_known = bpf_label(c);

	bpf_store(c, BPF_DW, FP, STACK_CPU, R1);
	bpf_alu(c, BPF_MOV, R6, R2);
	bpf_alu(c, BPF_MOV, R8, R3);
	bpf_alu(c, BPF_MOV, R9, R4);
	bpf_find_ring(c, k->p, has_ring);
	bpf_jump(c, leave); /* never */
	bpf_put_label(c, has_ring);
	bpf_jump_if_imm(c, BPF_JLT, R9, KERNEL_SYSCALLS_MAX, is_known);
	bpf_alu_imm(c, BPF_MOV, R9, KERNEL_SYSCALLS_MAX);
	bpf_put_label(c, is_known);
	bpf_jump_if_imm(c, BPF_JGE, R6, BPF_CAPTURE_ROW, leave); /* never */
	bpf_alu_imm(c, BPF_LSH, R9, ROW_BITS);
	bpf_alu_imm(c, BPF_MUL, R6, sizeof(struct bpf_capture));
	bpf_load_map_value(c, R1, k->p->control,
			   offsetof(struct bpf_control, captures) +
				   (k->stage == BPF_EXIT_STAGE
					    ? sizeof(struct bpf_capture) * BPF_CAPTURE_ROW
					    : 0));
	bpf_alu(c, BPF_ADD, R1, R9);
	bpf_alu(c, BPF_ADD, R1, R6);
	bpf_store(c, BPF_DW, FP, STACK_ROW, R1);
	bpf_load(c, BPF_DW, R9, R1, (int)offsetof(struct bpf_capture, what));
	bpf_jump_if_imm(c, BPF_JEQ, R9, 0, leave);
}

_Static_assert(sizeof((struct bpf_control *)NULL)->captures[0] == 1 << ROW_BITS,
	       "a row is found by shifting");

/* Jumps to @next if the capture is not made of this call. */
static void check_if_made(const struct bpf_captures *k, int next)
{
	struct bpf_code *c = k->c;
	int continues = bpf_label(c);

	if (k->stage == BPF_EXIT_STAGE) {
		bpf_load(c, BPF_DW, R1, R7, args_of(k->stage) + 8 * ABI_CAPTURE_RESULT);
		bpf_jump_if_imm(c, BPF_JSGE, R1, 0, continues);
		bpf_jump_if_imm(c, BPF_JSET, R9, BPF_CAPTURE_OF_FAILURES, continues);
		bpf_jump(c, next);
	}
	bpf_put_label(c, continues);
	if (k->p->has_extra)
		check_condition(c, k->stage, next);
}

static void define_one(const struct bpf_captures *k)
{
	struct bpf_code *c = k->c;
	int leave = bpf_label(c), next = bpf_label(c), done = bpf_label(c);

	bpf_function(c, k->functions[CAPTURE_ONE], "capture", 4);
	find_capture(k, leave);
	check_if_made(k, next);
	bpf_jump_if_imm(c, BPF_JGT, R8, BPF_CAPTURE_BEGIN_MAX, leave);
	bpf_store(c, BPF_DW, FP, STACK_BEGIN, R8);
	bpf_capture_list(k, done);
	if (k->p->has_files && k->stage == BPF_EXIT_STAGE)
		bpf_capture_file(k, done);
	if (k->p->has_extra) {
		bpf_capture_set(k, done);
		capture_string(c, k->p, k->stage, done);
	}
	capture_bytes(c, k->p, k->stage, done);
	bpf_put_label(c, done);
	store_field(c, k->stage);
	bpf_put_label(c, next);
	bpf_alu(c, BPF_MOV, R0, R8);
	bpf_exit(c);
	bpf_put_label(c, leave);
	bpf_alu_imm(c, BPF_MOV, R0, 0);
	bpf_exit(c);
}

void bpf_stage_captures(const struct bpf_captures *k)
{
	struct bpf_code *c = k->c;
	int all_done = bpf_label(c);
	int most = !k->p->has_extra		? ABI_CAPTURES_PLAIN
		   : k->stage == BPF_EXIT_STAGE ? ABI_CAPTURES_EXIT_MAX
						: ABI_CAPTURES_MAX;

	for (int i = 0; i < most; i++) {
		bpf_load(c, BPF_DW, R1, FP, STACK_CALL);
		bpf_alu_imm(c, BPF_RSH, R1,
			    k->stage == BPF_EXIT_STAGE ? BPF_CALL_N_EXIT_CAPTURES
						       : BPF_CALL_N_CAPTURES);
		bpf_alu_imm(c, BPF_AND, R1, BPF_CALL_COUNT);
		bpf_jump_if_imm(c, BPF_JLE, R1, i, all_done);
		bpf_load(c, BPF_DW, R1, FP, STACK_CPU);
		bpf_alu_imm(c, BPF_MOV, R2, i);
		bpf_alu(c, BPF_MOV, R3, R8);
		bpf_load(c, BPF_DW, R4, FP, STACK_NR);
		bpf_call_function(c, k->functions[CAPTURE_ONE]);
		bpf_jump_if_imm(c, BPF_JEQ, R0, 0, all_done);
		bpf_alu(c, BPF_MOV, R8, R0);
	}
	bpf_put_label(c, all_done);
}

void bpf_captures_begin(struct bpf_captures *k, struct bpf_code *c, const struct bpf_plan *p,
			int stage)
{
	*k = (struct bpf_captures){ .c = c, .p = p, .stage = stage };
	for (int i = 0; i < CAPTURE_FUNCTIONS; i++)
		k->functions[i] = bpf_label(c);
}

void bpf_captures_end(const struct bpf_captures *k)
{
	define_one(k);
	bpf_capture_lists(k);
}
