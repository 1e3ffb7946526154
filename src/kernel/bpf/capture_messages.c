/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/capture_messages.c - captures of iovecs with their data, and of messages.
 *
 * An iovec is as large as the program's buffer, of which the call may move a part. At the exit only
 * that part is recorded: the rest is data of the program that the call did not touch. So the stage
 * has the number of bytes left, and each iovec takes its length from it. Registers: see capture_lists.c.
 */
#include "kernel/bpf/capture_lists.h"

enum { IOVEC = 16, HEADERS = 64, NAME_MAX_BYTES = ABI_CAPTURE_ADDRESS_MAX };
enum { NAME = 0, NAME_BYTES = 8, IOVECS = 16, N_IOVECS = 24 }; /* in a msghdr */
enum { MOVED = 56 }; /* in an mmsghdr: a number of bytes */

/* ---------------------------------------------------------------- moved bytes */

static int left_of(int stage)
{
	return stage + (int)offsetof(struct bpf_stage, left);
}

static int names_of(int stage)
{
	return stage + (int)offsetof(struct bpf_stage, names);
}

/* R1 becomes which data the capture in R9 wants. */
static void load_moved(struct bpf_code *c)
{
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_RSH, R1, BPF_CAPTURE_MOVED);
	bpf_alu_imm(c, BPF_AND, R1, 3);
}

/* All is stored before the paths meet, so that the verifier walks what follows once. */
void bpf_begin_moved(struct bpf_code *c, int stage)
{
	int is_found = bpf_label(c);

	load_moved(c);
	bpf_store_imm(c, BPF_DW, R7, names_of(stage), NAME_MAX_BYTES);
	bpf_store_imm(c, BPF_DW, R7, left_of(stage), -1);
	bpf_jump_if_imm(c, BPF_JEQ, R1, ABI_CAPTURE_MOVED_ALL, is_found);
	bpf_store_imm(c, BPF_DW, R7, left_of(stage), 0);
	if (stage == BPF_EXIT_STAGE) {
		bpf_load(c, BPF_DW, R2, R7, args_of(stage) + 8 * ABI_CAPTURE_RESULT);
		bpf_jump_if_imm(c, BPF_JSLT, R2, 0, is_found);
		bpf_store(c, BPF_DW, R7, left_of(stage), R2);
	} else {
		bpf_store_imm(c, BPF_DW, R7, names_of(stage), 0);
	}
	bpf_put_label(c, is_found);
}

/* Limits R2, the length of an iovec, to what is left of the bytes that the call moved. */
static void take_of_moved(struct bpf_code *c, int stage)
{
	int is_unlimited = bpf_label(c), fits = bpf_label(c);

	bpf_load(c, BPF_DW, R1, R7, left_of(stage));
	bpf_jump_if_imm(c, BPF_JEQ, R1, -1, is_unlimited);
	bpf_jump_if(c, BPF_JLE, R2, R1, fits);
	bpf_alu(c, BPF_MOV, R2, R1);
	bpf_put_label(c, fits);
	bpf_alu(c, BPF_SUB, R1, R2);
	bpf_store(c, BPF_DW, R7, left_of(stage), R1);
	bpf_put_label(c, is_unlimited);
}

/* ---------------------------------------------------------------- iovecs */

/* An iovec and its data. */
static void define_iovec(const struct bpf_captures *k)
{
	struct bpf_code *c = k->c;
	int leave = bpf_label(c);

	bpf_function(c, k->functions[CAPTURE_IOVEC], "iovec", 4);
	bpf_alu(c, BPF_MOV, R9, R2);
	bpf_alu(c, BPF_MOV, R8, R3);
	bpf_alu(c, BPF_MOV, R6, R4);
	enter(k, leave);
	bpf_alu(c, BPF_MOV, R3, R6);
	bpf_alu_imm(c, BPF_MOV, R2, IOVEC);
	read_here(c, k->stage);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, leave);
	at_stage(c, k->stage);
	bpf_load(c, BPF_DW, R3, R1, 0);
	bpf_load(c, BPF_DW, R2, R1, 8);
	bpf_alu_imm(c, BPF_ADD, R8, IOVEC);
	take_of_moved(c, k->stage);
	stage_data(c, k->stage, leave);
	return_register(c, R8);
	return_number(c, leave, 0);
}

/* ---------------------------------------------------------------- messages */

/* Stores a u16 size and R2 bytes from R3. The kernel returns the whole length of a name, also if the
 * program has less room: at an exit as many bytes are read as the page has. */
static void stage_name(struct bpf_code *c, int stage)
{
	int is_read = bpf_label(c);

	bpf_store(c, BPF_DW, FP, STACK_POINTER, R3);
	bpf_store(c, BPF_DW, FP, STACK_COUNT, R2);
	stage_counted(c, stage);
	if (stage == BPF_EXIT_STAGE) {
		bpf_jump_if_imm(c, BPF_JNE, R2, 0, is_read);
		limit_to_page(c, is_read);
		limit_r2(c, NAME_MAX_BYTES);
		bpf_alu_imm(c, BPF_SUB, R8, 2);
		stage_counted(c, stage);
	}
	bpf_put_label(c, is_read);
}

/* The msghdr at address R3, in R4 bytes, and its name. */
static void define_header(const struct bpf_captures *k)
{
	struct bpf_code *c = k->c;
	int leave = bpf_label(c), fits = bpf_label(c);

	bpf_function(c, k->functions[CAPTURE_HEADER], "header", 4);
	bpf_alu(c, BPF_MOV, R8, R2);
	bpf_alu(c, BPF_MOV, R9, R3);
	bpf_alu(c, BPF_MOV, R6, R4);
	enter(k, leave);
	bpf_jump_if_imm(c, BPF_JGT, R6, HEADERS, leave); /* never */
	bpf_alu(c, BPF_MOV, R3, R9);
	bpf_alu(c, BPF_MOV, R2, R6);
	read_here(c, k->stage);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, leave);
	at_stage(c, k->stage);
	bpf_load(c, BPF_DW, R3, R1, NAME);
	bpf_load(c, BPF_W, R2, R1, NAME_BYTES);
	bpf_alu(c, BPF_MOV, R4, R2); /* the kernel refuses a negative one; no branch: see above */
	sign_extend(c, R4);
	bpf_alu_imm(c, BPF_ARSH, R4, 63);
	bpf_alu_imm(c, BPF_XOR, R4, -1);
	bpf_alu(c, BPF_AND, R2, R4);
	bpf_alu(c, BPF_ADD, R8, R6);
	bpf_load(c, BPF_DW, R1, R7, names_of(k->stage));
	bpf_jump_if(c, BPF_JLE, R2, R1, fits);
	bpf_alu(c, BPF_MOV, R2, R1);
	bpf_put_label(c, fits);
	limit_r2(c, NAME_MAX_BYTES);
	stage_name(c, k->stage);
	return_register(c, R8);
	return_number(c, leave, 0);
}

/* @to becomes the address of the next element of @bytes; the ring has their number at @left and the address at
 * @at. Without one it jumps to @none. */
static void take_next(struct bpf_code *c, int to, int left, int at, int bytes, int none)
{
	bpf_load(c, BPF_DW, R2, R7, left);
	bpf_jump_if_imm(c, BPF_JEQ, R2, 0, none);
	bpf_alu_imm(c, BPF_SUB, R2, 1);
	bpf_store(c, BPF_DW, R7, left, R2);
	bpf_load(c, BPF_DW, to, R7, at);
	bpf_alu(c, BPF_MOV, R2, to);
	bpf_alu_imm(c, BPF_ADD, R2, bytes);
	bpf_store(c, BPF_DW, R7, at, R2);
}

/* The next iovec of a message or, if it has no more, the next header. */
static void define_headers_turn(const struct bpf_captures *k)
{
	struct bpf_code *c = k->c;
	int leave = bpf_label(c), is_header = bpf_label(c), is_all = bpf_label(c);
	int messages = k->stage + (int)offsetof(struct bpf_stage, messages),
	    message = k->stage + (int)offsetof(struct bpf_stage, message),
	    iovecs = k->stage + (int)offsetof(struct bpf_stage, iovecs),
	    iovec = k->stage + (int)offsetof(struct bpf_stage, iovec);

	bpf_function(c, k->functions[CAPTURE_HEADERS_TURN], "headers_turn", 3);
	bpf_alu(c, BPF_MOV, R9, R2);
	bpf_alu(c, BPF_MOV, R8, R3);
	enter(k, leave);
	take_next(c, R4, iovecs, iovec, IOVEC, is_header);
	bpf_load(c, BPF_DW, R1, FP, STACK_CPU);
	bpf_alu(c, BPF_MOV, R2, R9);
	bpf_alu(c, BPF_MOV, R3, R8);
	bpf_call_function(c, k->functions[CAPTURE_IOVEC]);
	bpf_exit(c);
	bpf_put_label(c, is_header);
	take_next(c, R3, messages, message, HEADERS, leave);
	bpf_load(c, BPF_DW, R1, FP, STACK_CPU);
	bpf_alu(c, BPF_MOV, R2, R8);
	bpf_alu_imm(c, BPF_MOV, R4, HEADERS);
	bpf_call_function(c, k->functions[CAPTURE_HEADER]);
	bpf_jump_if_imm(c, BPF_JEQ, R0, 0, leave);
	at_stage(c, k->stage);
	bpf_load(c, BPF_DW, R2, R1, IOVECS);
	bpf_store(c, BPF_DW, R7, iovec, R2);
	bpf_load(c, BPF_DW, R2, R1, N_IOVECS);
	bpf_store(c, BPF_DW, R7, iovecs, R2);
	bpf_load(c, BPF_W, R2, R1, MOVED);
	load_moved(c);
	bpf_jump_if_imm(c, BPF_JNE, R1, ABI_CAPTURE_MOVED_EACH, is_all);
	bpf_store(c, BPF_DW, R7, left_of(k->stage), R2);
	bpf_put_label(c, is_all);
	bpf_exit(c);
	return_number(c, leave, 0);
}

/* R4 mmsghdrs at address R5, each with its iovecs. One loop for both. */
static void define_headers(const struct bpf_captures *k)
{
	struct bpf_code *c = k->c;
	int again = bpf_label(c), done = bpf_label(c), leave = bpf_label(c), is_all = bpf_label(c);

	bpf_function(c, k->functions[CAPTURE_HEADERS], "headers", 5);
	bpf_alu(c, BPF_MOV, R9, R2);
	bpf_alu(c, BPF_MOV, R8, R3);
	bpf_alu(c, BPF_MOV, R6, R4);
	bpf_store(c, BPF_DW, FP, STACK_POINTER, R5);
	enter(k, leave);
	load_moved(c);
	bpf_jump_if_imm(c, BPF_JNE, R1, ABI_CAPTURE_MOVED_EACH, is_all);
	bpf_load(c, BPF_DW, R1, R7, left_of(k->stage)); /* the result */
	bpf_jump_if(c, BPF_JLE, R6, R1, is_all);
	bpf_alu(c, BPF_MOV, R6, R1);
	bpf_put_label(c, is_all);
	bpf_store(c, BPF_DW, R7, k->stage + (int)offsetof(struct bpf_stage, messages), R6);
	bpf_load(c, BPF_DW, R1, FP, STACK_POINTER);
	bpf_store(c, BPF_DW, R7, k->stage + (int)offsetof(struct bpf_stage, message), R1);
	bpf_store_imm(c, BPF_DW, R7, k->stage + (int)offsetof(struct bpf_stage, iovecs), 0);
	bpf_load(c, BPF_DW, R7, FP, STACK_CPU);
	bpf_alu_imm(c, BPF_MOV, R6, 0);
	bpf_put_label(c, again);
	bpf_jump_if_imm(c, BPF_JEQ, R6, 2 * ABI_CAPTURE_MESSAGES_MAX, done);
	bpf_alu_imm(c, BPF_ADD, R6, 1);
	bpf_alu(c, BPF_MOV, R1, R7);
	bpf_alu(c, BPF_MOV, R2, R9);
	bpf_alu(c, BPF_MOV, R3, R8);
	bpf_call_function(c, k->functions[CAPTURE_HEADERS_TURN]);
	bpf_jump_if_imm(c, BPF_JEQ, R0, 0, done);
	bpf_alu(c, BPF_MOV, R8, R0);
	bpf_jump(c, again);
	bpf_put_label(c, done);
	return_register(c, R8);
	return_number(c, leave, 0);
}

void bpf_capture_messages(const struct bpf_captures *k)
{
	define_iovec(k);
	define_header(k);
	define_headers(k);
	define_headers_turn(k);
}
