/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/capture_lists.c - captures of lists: functions with loops that the verifier can bound.
 *
 * A loop counts in R6 and calls a function for each turn, so that a turn does not multiply the paths
 * of the verifier. Functions that write into the record take the CPU first, then perhaps the
 * capture's word, then the position; the comment of each names the others. They return the new
 * position, at most BPF_BYTES_MAX; a function for a turn returns 0 if the list ends before it. text
 * may add IS_LAST. count_block and count_rest only count, and return a number. Registers: R7 the
 * ring or, in a loop, the CPU; R8 the position; R9 the capture's word or the address.
 */
#include "kernel/bpf/capture_lists.h"

#include <assert.h>

enum { IOVEC = 16, HEADER = 56 };
enum { IOVECS = 16, N_IOVECS = 24 };		       /* in a msghdr */
enum { THREE_DOTS = 0x2e2e2e, POINTERS = 16 };	       /* with a NUL; read at once */
enum { IS_LAST = 1 << 16, UNREADABLE = POINTERS + 1 }; /* results */
enum { COUNT_WHY = 16 }; /* above the number of pointers: ABI_CAPTURE_COUNT_* */

/* ---------------------------------------------------------------- steps */

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

/* ---------------------------------------------------------------- texts */

/* Reads a text of a list with --capture; R3 is its address. See ABI_CAPTURE_LIST_*. */
static void read_text_or_address(const struct bpf_captures *k)
{
	struct bpf_code *c = k->c;
	int is_address = bpf_label(c);

	at_stage(c, k->stage);
	bpf_store_imm(c, BPF_B, R1, 0, ABI_CAPTURE_LIST_TEXT);
	bpf_alu_imm(c, BPF_ADD, R8, 1);
	stage_text(c, k->stage, ABI_CAPTURE_ARG_MAX, is_address);
	return_register(c, R8);
	bpf_put_label(c, is_address);
	at_stage(c, k->stage);
	bpf_store_imm(c, BPF_B, R1, -1, ABI_CAPTURE_LIST_ADDRESS);
	bpf_load(c, BPF_DW, R2, FP, STACK_WORD);
	bpf_store(c, BPF_DW, R1, 0, R2);
	bpf_alu_imm(c, BPF_ADD, R8, 8);
	return_register(c, R8);
}

static void end_list(const struct bpf_captures *k, int label, int why)
{
	struct bpf_code *c = k->c;

	bpf_put_label(c, label);
	at_stage(c, k->stage);
	bpf_store_imm(c, BPF_B, R1, 0, why);
	bpf_alu_imm(c, BPF_ADD, R8, 1);
	bpf_alu_imm(c, BPF_OR, R8, IS_LAST);
	return_register(c, R8);
}

/* The text of a list at the pointer that stands at address R3; R4: how many more fit. */
static void define_text(const struct bpf_captures *k)
{
	struct bpf_code *c = k->c;
	int more = bpf_label(c), leave = bpf_label(c), is_end = bpf_label(c), is_bad = bpf_label(c);

	bpf_function(c, k->functions[CAPTURE_TEXT], "text", 4);
	bpf_alu(c, BPF_MOV, R8, R2);
	bpf_alu(c, BPF_MOV, R9, R3);
	bpf_alu(c, BPF_MOV, R6, R4);
	enter_at(k, BPF_CAPTURE_BEGIN_MAX + 2 * ABI_CAPTURE_ARG_MAX, leave);
	bpf_jump_if_imm(c, BPF_JGT, R8, BPF_CAPTURE_BEGIN_MAX, more);
	bpf_alu(c, BPF_MOV, R3, R9);
	read_word(c, 8, is_bad);
	bpf_load(c, BPF_DW, R3, FP, STACK_WORD);
	bpf_jump_if_imm(c, BPF_JEQ, R3, 0, is_end);
	bpf_jump_if_imm(c, BPF_JEQ, R6, 0, more);
	if (k->p->has_extra) {
		read_text_or_address(k);
		end_list(k, more, ABI_CAPTURE_LIST_MORE);
		end_list(k, is_bad, ABI_CAPTURE_LIST_UNREADABLE);
		end_list(k, is_end, ABI_CAPTURE_LIST_END);
		return_number(c, leave, 0);
		return;
	}
	stage_text(c, k->stage, ABI_CAPTURE_ARG_MAX, more);
	return_register(c, R8);
	bpf_put_label(c, more);
	at_stage(c, k->stage);
	for (int i = 0; i < 3; i++)
		bpf_store_imm(c, BPF_B, R1, i, '.');
	bpf_alu_imm(c, BPF_ADD, R8, 3);
	bpf_alu_imm(c, BPF_OR, R8, IS_LAST);
	return_register(c, R8);
	bpf_put_label(c, is_end);
	bpf_put_label(c, is_bad);
	return_number(c, leave, 0);
}

/* Texts up to a NULL, at most @most. */
static void define_texts(const struct bpf_captures *k, enum bpf_capture_function f,
			 const char *name, int most)
{
	struct bpf_code *c = k->c;
	int again = bpf_label(c), done = bpf_label(c);

	bpf_function(c, k->functions[f], name, 3);
	bpf_alu(c, BPF_MOV, R7, R1);
	bpf_alu(c, BPF_MOV, R8, R2);
	bpf_alu(c, BPF_MOV, R9, R3);
	bpf_alu_imm(c, BPF_MOV, R6, 0);
	bpf_put_label(c, again);
	bpf_jump_if_imm(c, BPF_JGT, R6, most, done); /* never */
	bpf_alu(c, BPF_MOV, R1, R7);
	bpf_alu(c, BPF_MOV, R2, R8);
	bpf_alu(c, BPF_MOV, R3, R9);
	bpf_alu_imm(c, BPF_MOV, R4, most);
	bpf_alu(c, BPF_SUB, R4, R6);
	bpf_call_function(c, k->functions[CAPTURE_TEXT]);
	bpf_jump_if_imm(c, BPF_JEQ, R0, 0, done);
	bpf_alu(c, BPF_MOV, R8, R0);
	bpf_alu_imm(c, BPF_AND, R8, IS_LAST - 1);
	bpf_alu_imm(c, BPF_ADD, R9, 8);
	bpf_alu_imm(c, BPF_ADD, R6, 1);
	bpf_jump_if_imm(c, BPF_JSET, R0, IS_LAST, done);
	bpf_jump(c, again);
	bpf_put_label(c, done);
	return_register(c, R8);
}

/* ---------------------------------------------------------------- pointers */

/* Adds to R6 those of the POINTERS at R1 that stand before a NULL. No branches: see stage_text(). */
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

/* Counts the POINTERS at address R3 up to a NULL. */
static void define_count_block(const struct bpf_captures *k)
{
	struct bpf_code *c = k->c;
	int leave = bpf_label(c);

	bpf_function(c, k->functions[CAPTURE_COUNT_BLOCK], "count_block", 3);
	bpf_alu(c, BPF_MOV, R8, R2);
	bpf_alu(c, BPF_MOV, R9, R3);
	enter(k, leave);
	bpf_alu(c, BPF_MOV, R3, R9);
	bpf_alu_imm(c, BPF_MOV, R2, 8 * POINTERS);
	read_here(c, k->stage);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, leave);
	at_stage(c, k->stage);
	bpf_alu_imm(c, BPF_MOV, R6, 0);
	count_pointers(c);
	return_register(c, R6);
	return_number(c, leave, UNREADABLE);
}

/* Counts those at address R1 one by one, where memory ends that can be read. */
static void define_count_rest(const struct bpf_captures *k)
{
	struct bpf_code *c = k->c;
	int again = bpf_label(c), done = bpf_label(c), is_bad = bpf_label(c);

	bpf_function(c, k->functions[CAPTURE_COUNT_REST], "count_rest", 1);
	bpf_alu(c, BPF_MOV, R9, R1);
	bpf_alu_imm(c, BPF_MOV, R6, 0);
	bpf_put_label(c, again);
	bpf_jump_if_imm(c, BPF_JEQ, R6, POINTERS, done);
	bpf_alu(c, BPF_MOV, R3, R9);
	read_word(c, 8, is_bad);
	bpf_load(c, BPF_DW, R1, FP, STACK_WORD);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, done);
	bpf_alu_imm(c, BPF_ADD, R9, 8);
	bpf_alu_imm(c, BPF_ADD, R6, 1);
	bpf_jump(c, again);
	bpf_put_label(c, is_bad);
	bpf_alu_imm(c, BPF_OR, R6, ABI_CAPTURE_COUNT_UNREADABLE << COUNT_WHY);
	bpf_put_label(c, done);
	return_register(c, R6);
}

/* Adds to R6, the most that are counted, why the pointer at R9 is not NULL. */
static void look_behind(struct bpf_code *c, int done)
{
	int is_bad = bpf_label(c);

	bpf_alu(c, BPF_MOV, R3, R9);
	read_word(c, 8, is_bad);
	bpf_load(c, BPF_DW, R1, FP, STACK_WORD);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, done);
	bpf_alu_imm(c, BPF_OR, R6, ABI_CAPTURE_COUNT_MORE << COUNT_WHY);
	bpf_jump(c, done);
	bpf_put_label(c, is_bad);
	bpf_alu_imm(c, BPF_OR, R6, ABI_CAPTURE_COUNT_UNREADABLE << COUNT_WHY);
	bpf_jump(c, done);
}

/* The number of pointers before a NULL: many at once, then one by one. None if the first cannot be
 * read. */
static void define_count(const struct bpf_captures *k)
{
	struct bpf_code *c = k->c;
	int again = bpf_label(c), over = bpf_label(c), is_full = bpf_label(c), leave = bpf_label(c),
	    is_counted = bpf_label(c), is_most = bpf_label(c);

	bpf_function(c, k->functions[CAPTURE_COUNT], "count", 3);
	bpf_alu(c, BPF_MOV, R7, R1);
	bpf_alu(c, BPF_MOV, R8, R2);
	bpf_alu(c, BPF_MOV, R9, R3);
	bpf_alu_imm(c, BPF_MOV, R6, 0);
	bpf_put_label(c, again);
	bpf_jump_if_imm(c, BPF_JEQ, R6, ABI_CAPTURE_ENVP_MAX, is_most);
	bpf_alu(c, BPF_MOV, R1, R7);
	bpf_alu(c, BPF_MOV, R2, R8);
	bpf_alu(c, BPF_MOV, R3, R9);
	bpf_call_function(c, k->functions[CAPTURE_COUNT_BLOCK]);
	bpf_jump_if_imm(c, BPF_JEQ, R0, POINTERS, is_full);
	bpf_jump_if_imm(c, BPF_JLT, R0, POINTERS, is_counted);
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_call_function(c, k->functions[CAPTURE_COUNT_REST]);
	bpf_put_label(c, is_counted);
	bpf_alu(c, BPF_ADD, R6, R0);
	bpf_jump(c, over);
	bpf_put_label(c, is_full);
	bpf_alu_imm(c, BPF_ADD, R6, POINTERS);
	bpf_alu_imm(c, BPF_ADD, R9, 8 * POINTERS);
	bpf_jump(c, again);
	bpf_put_label(c, is_most);
	look_behind(c, over);
	bpf_put_label(c, over);
	bpf_jump_if_imm(c, BPF_JEQ, R6, ABI_CAPTURE_COUNT_UNREADABLE << COUNT_WHY, leave);
	bpf_alu(c, BPF_MOV, R1, R7);
	enter(k, leave);
	at_stage(c, k->stage);
	bpf_alu(c, BPF_MOV, R2, R6);
	bpf_alu_imm(c, BPF_AND, R2, (1 << COUNT_WHY) - 1);
	bpf_store(c, BPF_W, R1, 0, R2);
	bpf_alu_imm(c, BPF_RSH, R6, COUNT_WHY);
	bpf_store(c, BPF_B, R1, 4, R6);
	bpf_alu_imm(c, BPF_ADD, R8, 5);
	return_register(c, R8);
	return_number(c, leave, 0);
}

_Static_assert(ABI_CAPTURE_ENVP_MAX % POINTERS == 0, "no more are counted");

/* ---------------------------------------------------------------- loops */

/* R4 of something at address R5, @bytes each, by function @turn. */
static void define_loop(const struct bpf_captures *k, enum bpf_capture_function f, const char *name,
			enum bpf_capture_function turn, int bytes)
{
	struct bpf_code *c = k->c;
	int again = bpf_label(c), done = bpf_label(c);

	bpf_function(c, k->functions[f], name, 5);
	bpf_alu(c, BPF_MOV, R7, R1);
	bpf_store(c, BPF_DW, FP, STACK_WORD, R2);
	bpf_alu(c, BPF_MOV, R8, R3);
	bpf_store(c, BPF_DW, FP, STACK_COUNT, R4);
	bpf_alu(c, BPF_MOV, R9, R5);
	bpf_alu_imm(c, BPF_MOV, R6, 0);
	bpf_put_label(c, again);
	bpf_jump_if_imm(c, BPF_JEQ, R6, ABI_CAPTURE_VECTOR_MAX, done);
	bpf_load(c, BPF_DW, R1, FP, STACK_COUNT);
	bpf_jump_if(c, BPF_JGE, R6, R1, done);
	bpf_alu(c, BPF_MOV, R1, R7);
	bpf_load(c, BPF_DW, R2, FP, STACK_WORD);
	bpf_alu(c, BPF_MOV, R3, R8);
	bpf_alu(c, BPF_MOV, R4, R9);
	bpf_call_function(c, k->functions[turn]);
	bpf_jump_if_imm(c, BPF_JEQ, R0, 0, done);
	bpf_alu(c, BPF_MOV, R8, R0);
	bpf_alu_imm(c, BPF_ADD, R9, bytes);
	bpf_alu_imm(c, BPF_ADD, R6, 1);
	bpf_jump(c, again);
	bpf_put_label(c, done);
	return_register(c, R8);
}

/* ---------------------------------------------------------------- iocbs */

/* The iocb that the pointer at address R4 points to, with the data or the iovecs that it writes. */
static void define_block(const struct bpf_captures *k)
{
	enum { BLOCK = 64, OPCODE = 16, BUFFER = 24, BYTES = 32, IOVEC_BITS = 4 };
	struct bpf_code *c = k->c;
	int leave = bpf_label(c);

	bpf_function(c, k->functions[CAPTURE_BLOCK], "block", 4);
	bpf_alu(c, BPF_MOV, R9, R2);
	bpf_alu(c, BPF_MOV, R8, R3);
	bpf_alu(c, BPF_MOV, R6, R4);
	enter(k, leave);
	bpf_alu(c, BPF_MOV, R3, R6);
	bpf_alu_imm(c, BPF_MOV, R2, 8);
	read_here(c, k->stage);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, leave);
	at_stage(c, k->stage);
	bpf_load(c, BPF_DW, R3, R1, 0);
	for (int i = 0; i < BLOCK / 8; i++) /* for reading below, if that fails now */
		bpf_store_imm(c, BPF_DW, R1, 10 + 8 * i, 0);
	bpf_alu_imm(c, BPF_ADD, R8, 10);
	bpf_alu_imm(c, BPF_MOV, R2, BLOCK);
	read_here(c, k->stage);
	bpf_alu_imm(c, BPF_MOV, R2, BLOCK);
	bpf_alu_imm(c, BPF_ARSH, R0, 63);
	bpf_alu_imm(c, BPF_XOR, R0, -1);
	bpf_alu(c, BPF_AND, R2, R0);
	at_stage(c, k->stage);
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
	stage_data(c, k->stage, leave);
	return_register(c, R8);
	return_number(c, leave, 0);
}

/* ---------------------------------------------------------------- all */

/* R4 becomes the argument with the number of elements, or jumps to @done if it is not positive.
 * @is_unsigned: the kernel looks at 32 bits; else it is a long. */
static void find_elements(const struct bpf_captures *k, bool is_unsigned, int done)
{
	load_argument(k->c, k->stage, R4, BPF_CAPTURE_SIZE);
	if (is_unsigned) {
		bpf_alu_imm(k->c, BPF_LSH, R4, 32);
		bpf_alu_imm(k->c, BPF_RSH, R4, 32);
	}
	bpf_jump_if_imm(k->c, BPF_JSLT, R4, 1, done);
}

/* Calls @f with R3 and above; R8 becomes the position behind the bytes that it read. */
static void call_list(const struct bpf_captures *k, enum bpf_capture_function f, bool has_word,
		      int done)
{
	struct bpf_code *c = k->c;

	bpf_load(c, BPF_DW, R1, FP, STACK_CPU);
	bpf_alu(c, BPF_MOV, R2, has_word ? R9 : R8);
	if (has_word)
		bpf_alu(c, BPF_MOV, R3, R8);
	bpf_call_function(c, k->functions[f]);
	bpf_jump_if_imm(c, BPF_JEQ, R0, 0, done);
	bpf_alu(c, BPF_MOV, R8, R0);
}

/* A list of elements whose number is an argument. */
static void read_elements(const struct bpf_captures *k, enum bpf_capture_function f, int done)
{
	find_elements(k, f == CAPTURE_HEADERS, done);
	bpf_begin_moved(k->c, k->stage);
	load_argument(k->c, k->stage, R5, 0);
	call_list(k, f, true, done);
}

/* A list of pointers that ends with NULL. */
static void read_pointers(const struct bpf_captures *k, enum bpf_capture_function f, int done)
{
	load_argument(k->c, k->stage, R3, 0);
	call_list(k, f, false, done);
}

/* A msghdr, then its iovecs. */
static void read_message(const struct bpf_captures *k, int done)
{
	struct bpf_code *c = k->c;

	bpf_alu(c, BPF_MOV, R6, R8);
	bpf_begin_moved(c, k->stage);
	load_argument(c, k->stage, R3, 0);
	bpf_alu_imm(c, BPF_MOV, R4, HEADER);
	call_list(k, CAPTURE_HEADER, false, done);
	bpf_alu(c, BPF_MOV, R1, R7);
	bpf_alu(c, BPF_ADD, R1, R6);
	bpf_alu_imm(c, BPF_ADD, R1, bpf_stage_record(k->stage) + RECORD);
	bpf_load(c, BPF_DW, R4, R1, N_IOVECS);
	bpf_load(c, BPF_DW, R5, R1, IOVECS);
	call_list(k, CAPTURE_VECTOR, true, done);
}

static void read_list(const struct bpf_captures *k, enum abi_capture_how how, int done)
{
	int is_other = bpf_label(k->c);

	bpf_jump_if_imm(k->c, BPF_JNE, R1, how, is_other);
	if (how == ABI_CAPTURE_TEXTS)
		read_pointers(k, CAPTURE_TEXTS, done);
	else if (how == ABI_CAPTURE_ENVIRONMENT)
		read_pointers(k, CAPTURE_ENVIRONMENTS, done);
	else if (how == ABI_CAPTURE_POINTERS)
		read_pointers(k, CAPTURE_COUNT, done);
	else if (how == ABI_CAPTURE_VECTOR)
		read_elements(k, CAPTURE_VECTOR, done);
	else if (how == ABI_CAPTURE_HEADERS)
		read_elements(k, CAPTURE_HEADERS, done);
	else if (how == ABI_CAPTURE_EACH)
		read_elements(k, CAPTURE_EACH, done);
	else
		read_message(k, done);
	bpf_jump(k->c, done);
	bpf_put_label(k->c, is_other);
}

void bpf_capture_list(const struct bpf_captures *k, int done)
{
	bool is_entry = k->stage == BPF_ENTRY_STAGE;

	bpf_alu(k->c, BPF_MOV, R1, R9);
	bpf_alu_imm(k->c, BPF_RSH, R1, BPF_CAPTURE_HOW);
	bpf_alu_imm(k->c, BPF_AND, R1, BPF_CAPTURE_HOWS);
	if (is_entry)
		read_list(k, ABI_CAPTURE_TEXTS, done);
	if (is_entry && k->p->has_environment)
		read_list(k, ABI_CAPTURE_ENVIRONMENT, done);
	if (!k->p->has_extra)
		return;
	read_list(k, ABI_CAPTURE_VECTOR, done);
	read_list(k, ABI_CAPTURE_HEADER, done);
	read_list(k, ABI_CAPTURE_HEADERS, done);
	if (!is_entry)
		return;
	read_list(k, ABI_CAPTURE_POINTERS, done);
	read_list(k, ABI_CAPTURE_EACH, done);
}

void bpf_capture_lists(const struct bpf_captures *k)
{
	bool is_entry = k->stage == BPF_ENTRY_STAGE;

	if (is_entry) {
		define_texts(k, CAPTURE_TEXTS, "texts",
			     k->p->has_environment ? ABI_CAPTURE_ARGS_MANY : ABI_CAPTURE_ARGS);
		if (k->p->has_environment)
			define_texts(k, CAPTURE_ENVIRONMENTS, "environment", ABI_CAPTURE_VARIABLES);
		define_text(k);
	}
	if (!k->p->has_extra)
		return;
	define_loop(k, CAPTURE_VECTOR, "vector", CAPTURE_IOVEC, IOVEC);
	bpf_capture_messages(k);
	if (!is_entry)
		return;
	define_count(k);
	define_count_block(k);
	define_count_rest(k);
	define_loop(k, CAPTURE_EACH, "each", CAPTURE_BLOCK, 8);
	define_block(k);
}
