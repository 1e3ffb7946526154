/* SPDX-License-Identifier: MIT */
/* kernel/bpf/capture_lists.c - captures of lists, by loops that the verifier can bound: see capture.c. */
#include "kernel/bpf/capture_lists.h"

#include <assert.h>

#include "kernel/bpf/capture_steps.h"

enum { IOVEC = 16, HEADER = 56, HEADERS = 64, NAME_MAX_BYTES = ABI_CAPTURE_ADDRESS_MAX };
enum { THREE_DOTS = 0x2e2e2e, POINTERS = 16 }; /* with a NUL; read at once */

/*
 * Reads a text of at most @max bytes with its NUL from R3 to position R8, and advances R8. R0
 * becomes its size. A longer text ends with three dots: they are blended in without a branch, since
 * each branch in a loop doubles the paths of the verifier.
 */
static void stage_text(struct bpf_code *c, int stage, int max, int is_bad)
{
	assert(max >= 4 && !(max & (max - 1)));
	at_stage(c, stage);
	bpf_alu_imm(c, BPF_MOV, R2, max + 1);
	bpf_call(c, BPF_FUNC_probe_read_user_str);
	bpf_jump_if_imm(c, BPF_JSLT, R0, 1, is_bad);
	bpf_alu(c, BPF_MOV, R3, R0);
	bpf_alu_imm(c, BPF_SUB, R3, 1);
	bpf_alu_imm(c, BPF_RSH, R3, __builtin_ctz((unsigned)max)); /* 1: too long */
	bpf_alu(c, BPF_SUB, R0, R3);
	bpf_alu_imm(c, BPF_MUL, R3, -1); /* a mask */
	at_stage(c, stage);
	bpf_load(c, BPF_W, R2, R1, max - 4);
	bpf_alu(c, BPF_MOV, R4, R2);
	bpf_alu_imm(c, BPF_XOR, R4, THREE_DOTS);
	bpf_alu(c, BPF_AND, R4, R3);
	bpf_alu(c, BPF_XOR, R2, R4);
	bpf_store(c, BPF_W, R1, max - 4, R2);
	bpf_alu(c, BPF_ADD, R8, R0);
}

/* Reads the pointer at STACK_POINTER into R3 and advances STACK_POINTER; jumps to @done if it is
 * NULL or cannot be read. */
static void next_pointer(struct bpf_code *c, int done)
{
	bpf_load(c, BPF_DW, R3, FP, STACK_POINTER);
	read_word(c, 8, done);
	bpf_load(c, BPF_DW, R1, FP, STACK_POINTER);
	bpf_alu_imm(c, BPF_ADD, R1, 8);
	bpf_store(c, BPF_DW, FP, STACK_POINTER, R1);
	bpf_load(c, BPF_DW, R3, FP, STACK_WORD);
	bpf_jump_if_imm(c, BPF_JEQ, R3, 0, done);
}

/* Reads each text with its NUL; three dots follow if there are more than fit. R6 counts. */
void bpf_capture_texts(struct bpf_code *c, int stage, int done)
{
	int again = bpf_label(c), more = bpf_label(c);

	load_argument(c, stage, R3, 0);
	bpf_store(c, BPF_DW, FP, STACK_POINTER, R3);
	bpf_alu_imm(c, BPF_MOV, R6, 0);
	bpf_put_label(c, again);
	bound_position(c, stage, done);
	next_pointer(c, done);
	bpf_jump_if_imm(c, BPF_JEQ, R6, ABI_CAPTURE_ARGS, more);
	stage_text(c, stage, ABI_CAPTURE_ARG_MAX, more);
	bpf_alu_imm(c, BPF_ADD, R6, 1);
	bpf_jump(c, again);
	bpf_put_label(c, more);
	at_stage(c, stage);
	for (int k = 0; k < 3; k++)
		bpf_store_imm(c, BPF_B, R1, k, '.');
	bpf_alu_imm(c, BPF_ADD, R8, 3);
	bpf_jump(c, done);
}

/* Adds to R6 those of the POINTERS at R1 that stand before a NULL. R5 becomes 0 if there is one. No
 * branches: see stage_text(). */
static void count_pointers(struct bpf_code *c)
{
	bpf_alu_imm(c, BPF_MOV, R5, 1);
	for (int i = 0; i < POINTERS; i++) {
		bpf_load(c, BPF_DW, R2, R1, 8 * i);
		bpf_alu(c, BPF_MOV, R3, R2);
		bpf_alu_imm(c, BPF_MUL, R3, -1);
		bpf_alu(c, BPF_OR, R2, R3);
		bpf_alu_imm(c, BPF_RSH, R2, 63); /* 1: not NULL */
		bpf_alu(c, BPF_AND, R5, R2);
		bpf_alu(c, BPF_ADD, R6, R5);
	}
}

/* Counts in R6, R9 bounds the loops. Many pointers at once; one by one where those end in memory
 * that cannot be read. */
void bpf_capture_count(struct bpf_code *c, int stage, int done)
{
	int again = bpf_label(c), over = bpf_label(c), singly = bpf_label(c), next = bpf_label(c);

	load_argument(c, stage, R3, 0);
	bpf_store(c, BPF_DW, FP, STACK_POINTER, R3);
	bpf_alu_imm(c, BPF_MOV, R6, 0);
	bpf_alu_imm(c, BPF_MOV, R9, 0);
	bpf_put_label(c, again);
	bpf_jump_if_imm(c, BPF_JEQ, R9, ABI_CAPTURE_ENVP_MAX / POINTERS, over);
	bpf_load(c, BPF_DW, R3, FP, STACK_POINTER);
	bpf_alu_imm(c, BPF_MOV, R2, 8 * POINTERS);
	read_here(c, stage);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, singly);
	at_stage(c, stage);
	count_pointers(c);
	bpf_jump_if_imm(c, BPF_JEQ, R5, 0, over);
	bpf_load(c, BPF_DW, R1, FP, STACK_POINTER);
	bpf_alu_imm(c, BPF_ADD, R1, 8 * POINTERS);
	bpf_store(c, BPF_DW, FP, STACK_POINTER, R1);
	bpf_alu_imm(c, BPF_ADD, R9, 1);
	bpf_jump(c, again);
	bpf_put_label(c, singly);
	bpf_alu_imm(c, BPF_MOV, R9, 0);
	bpf_put_label(c, next);
	bpf_jump_if_imm(c, BPF_JEQ, R9, POINTERS, over);
	next_pointer(c, over);
	bpf_alu_imm(c, BPF_ADD, R6, 1);
	bpf_alu_imm(c, BPF_ADD, R9, 1);
	bpf_jump(c, next);
	bpf_put_label(c, over);
	at_stage(c, stage);
	bpf_store(c, BPF_W, R1, 0, R6);
	bpf_alu_imm(c, BPF_ADD, R8, 4);
	bpf_jump(c, done);
}

_Static_assert(ABI_CAPTURE_ENVP_MAX % POINTERS == 0, "no more are counted");

/* Stores a u16 size and R2 bytes from R3; size 0 if they cannot be read. */
static void stage_counted(struct bpf_code *c, int stage)
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
static void take_smaller(struct bpf_code *c)
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
static void stage_data(struct bpf_code *c, int stage, int done)
{
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_RSH, R1, BPF_CAPTURE_MOST);
	bpf_alu_imm(c, BPF_AND, R1, 0xffff);
	take_smaller(c);
	bpf_jump_if_imm(c, BPF_JGT, R2, ABI_CAPTURE_BUFFER_MAX, done); /* never */
	stage_counted(c, stage);
}

/* Reads the iovec at STACK_POINTER and its data, and advances STACK_POINTER. */
static void stage_iovec(struct bpf_code *c, int stage, int done)
{
	bpf_load(c, BPF_DW, R3, FP, STACK_POINTER);
	bpf_alu_imm(c, BPF_MOV, R2, IOVEC);
	read_here(c, stage);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, done);
	bpf_load(c, BPF_DW, R1, FP, STACK_POINTER);
	bpf_alu_imm(c, BPF_ADD, R1, IOVEC);
	bpf_store(c, BPF_DW, FP, STACK_POINTER, R1);
	at_stage(c, stage);
	bpf_load(c, BPF_DW, R3, R1, 0);
	bpf_load(c, BPF_DW, R2, R1, 8);
	bpf_alu_imm(c, BPF_ADD, R8, IOVEC);
	stage_data(c, stage, done);
}

/* Reads STACK_COUNT iovecs from STACK_POINTER on. R6 counts. */
static void capture_iovecs(struct bpf_code *c, int stage, int done)
{
	int again = bpf_label(c);

	bpf_alu_imm(c, BPF_MOV, R6, 0);
	bpf_put_label(c, again);
	bpf_jump_if_imm(c, BPF_JEQ, R6, ABI_CAPTURE_VECTOR_MAX, done);
	bpf_load(c, BPF_DW, R1, FP, STACK_COUNT);
	bpf_jump_if(c, BPF_JGE, R6, R1, done);
	bound_position(c, stage, done);
	stage_iovec(c, stage, done);
	bpf_alu_imm(c, BPF_ADD, R6, 1);
	bpf_jump(c, again);
}

/* Reads the msghdr at R3, in @size bytes, and its name. The iovecs become STACK_COUNT from
 * STACK_POINTER on. */
static void stage_header(struct bpf_code *c, int stage, int size, int done)
{
	bpf_alu_imm(c, BPF_MOV, R2, size);
	read_here(c, stage);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, done);
	at_stage(c, stage);
	bpf_load(c, BPF_DW, R3, R1, 16);
	bpf_store(c, BPF_DW, FP, STACK_POINTER, R3);
	bpf_load(c, BPF_DW, R3, R1, 24);
	bpf_store(c, BPF_DW, FP, STACK_COUNT, R3);
	bpf_load(c, BPF_DW, R3, R1, 0);
	bpf_load(c, BPF_W, R2, R1, 8);
	bpf_alu_imm(c, BPF_ADD, R8, size);
	limit_r2(c, NAME_MAX_BYTES);
	stage_counted(c, stage);
}

/* R2 becomes the argument with the number of elements, or jumps to @done if it is not positive. */
static void find_elements(struct bpf_code *c, int stage, int at, int done)
{
	load_argument(c, stage, R3, BPF_CAPTURE_SIZE);
	sign_extend(c, R3);
	bpf_jump_if_imm(c, BPF_JSLT, R3, 1, done);
	bpf_store(c, BPF_DW, FP, at, R3);
}

/* Finds the iovecs of a readv or writev, or those of a msghdr after the msghdr itself. */
void bpf_capture_vector(struct bpf_code *c, int stage, int is_header, int done)
{
	int iovecs = bpf_label(c);

	find_elements(c, stage, STACK_COUNT, done);
	load_argument(c, stage, R3, 0);
	bpf_store(c, BPF_DW, FP, STACK_POINTER, R3);
	bpf_jump(c, iovecs);
	bpf_put_label(c, is_header);
	load_argument(c, stage, R3, 0);
	stage_header(c, stage, HEADER, done);
	bpf_put_label(c, iovecs);
	capture_iovecs(c, stage, done);
}

/* Reads mmsghdrs, each with its iovecs. One loop for both: each turn reads the next iovec, or the
 * next header if there is none. R6 counts. */
void bpf_capture_headers(struct bpf_code *c, int stage, int done)
{
	int again = bpf_label(c), is_header = bpf_label(c);

	find_elements(c, stage, STACK_LEFT, done);
	load_argument(c, stage, R3, 0);
	bpf_store(c, BPF_DW, FP, STACK_NEXT, R3);
	bpf_store_imm(c, BPF_DW, FP, STACK_COUNT, 0);
	bpf_alu_imm(c, BPF_MOV, R6, 0);
	bpf_put_label(c, again);
	bpf_jump_if_imm(c, BPF_JEQ, R6, 2 * ABI_CAPTURE_MESSAGES_MAX, done);
	bpf_alu_imm(c, BPF_ADD, R6, 1);
	bound_position(c, stage, done);
	bpf_load(c, BPF_DW, R1, FP, STACK_COUNT);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, is_header);
	bpf_alu_imm(c, BPF_SUB, R1, 1);
	bpf_store(c, BPF_DW, FP, STACK_COUNT, R1);
	stage_iovec(c, stage, done);
	bpf_jump(c, again);
	bpf_put_label(c, is_header);
	bpf_load(c, BPF_DW, R1, FP, STACK_LEFT);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, done);
	bpf_alu_imm(c, BPF_SUB, R1, 1);
	bpf_store(c, BPF_DW, FP, STACK_LEFT, R1);
	bpf_load(c, BPF_DW, R3, FP, STACK_NEXT);
	bpf_alu(c, BPF_MOV, R1, R3);
	bpf_alu_imm(c, BPF_ADD, R1, HEADERS);
	bpf_store(c, BPF_DW, FP, STACK_NEXT, R1);
	stage_header(c, stage, HEADERS, done);
	bpf_jump(c, again);
}

/* Reads the iocbs that an array points to, each with the data or the iovecs that it writes. R6
 * counts. */
void bpf_capture_each(struct bpf_code *c, int stage, int done)
{
	enum { BLOCK = 64, OPCODE = 16, BUFFER = 24, BYTES = 32, IOVEC_BITS = 4 };
	int again = bpf_label(c);

	find_elements(c, stage, STACK_LEFT, done);
	load_argument(c, stage, R3, 0);
	bpf_store(c, BPF_DW, FP, STACK_NEXT, R3);
	bpf_alu_imm(c, BPF_MOV, R6, 0);
	bpf_put_label(c, again);
	bpf_jump_if_imm(c, BPF_JEQ, R6, ABI_CAPTURE_VECTOR_MAX, done);
	bpf_load(c, BPF_DW, R1, FP, STACK_LEFT);
	bpf_jump_if(c, BPF_JGE, R6, R1, done);
	bpf_alu_imm(c, BPF_ADD, R6, 1);
	bound_position(c, stage, done);
	bpf_load(c, BPF_DW, R3, FP, STACK_NEXT);
	bpf_alu_imm(c, BPF_MOV, R2, 8);
	read_here(c, stage);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, done);
	bpf_load(c, BPF_DW, R1, FP, STACK_NEXT);
	bpf_alu_imm(c, BPF_ADD, R1, 8);
	bpf_store(c, BPF_DW, FP, STACK_NEXT, R1);
	at_stage(c, stage);
	bpf_load(c, BPF_DW, R3, R1, 0);
	for (int i = 0; i < BLOCK / 8; i++) /* for reading below, if that fails now */
		bpf_store_imm(c, BPF_DW, R1, 10 + 8 * i, 0);
	bpf_alu_imm(c, BPF_ADD, R8, 10);
	bpf_alu_imm(c, BPF_MOV, R2, BLOCK);
	read_here(c, stage);
	bpf_alu_imm(c, BPF_MOV, R2, BLOCK);
	bpf_alu_imm(c, BPF_ARSH, R0, 63);
	bpf_alu_imm(c, BPF_XOR, R0, -1);
	bpf_alu(c, BPF_AND, R2, R0);
	at_stage(c, stage);
	bpf_store(c, BPF_H, R1, -2, R2);
	bpf_load(c, BPF_DW, R3, R1, BUFFER);
	bpf_load(c, BPF_DW, R2, R1, BYTES);
	bpf_load(c, BPF_H, R4, R1, OPCODE);
	bpf_load(c, BPF_H, R5, R1, -2);
	bpf_alu_imm(c, BPF_AND, R5, BLOCK);
	bpf_alu(c, BPF_ADD, R8, R5);
	bpf_alu_imm(c, BPF_ADD, R4, 1); /* PREADV is 7, PWRITEV is 8 */
	bpf_alu_imm(c, BPF_RSH, R4, 3);
	bpf_alu_imm(c, BPF_AND, R4, 1);
	bpf_alu_imm(c, BPF_MUL, R4, IOVEC_BITS);
	bpf_alu(c, BPF_LSH, R2, R4);
	stage_data(c, stage, done);
	bpf_jump(c, again);
}
