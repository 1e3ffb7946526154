/* SPDX-License-Identifier: MIT */
/*
 * bpf/code.h - assembles a BPF program instruction by instruction.
 *
 * It has only those parts of the instruction set (Linux, Documentation/bpf/standardization) that
 * duet uses. Jumps go to labels; a label may be placed before or after its jumps. Errors are
 * remembered: the caller checks once, with bpf_code_end().
 */
#ifndef BPF_CODE_H
#define BPF_CODE_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

enum { BPF_CODE_MAX = 4096, BPF_LABELS_MAX = 512, BPF_FUNCTIONS_MAX = 16, BPF_ARGUMENTS_MAX = 5 };

struct bpf_code {
	struct bpf_insn insns[BPF_CODE_MAX];
	int n;
	int labels[BPF_LABELS_MAX]; /* instruction of each; -1: not placed yet */
	int n_labels;
	struct {
		int insn, label;
	} jumps[BPF_CODE_MAX];
	int n_jumps; /* and calls of functions */
	struct bpf_function {
		const char *name;
		int insn, n_arguments;
	} functions[BPF_FUNCTIONS_MAX];
	int n_functions;
	bool failed; /* too long, or a jump too far */
};

void bpf_code_begin(struct bpf_code *c);
/* Resolves the jumps. 0, or -E2BIG. */
int bpf_code_end(struct bpf_code *c);
/* bpf_code_prune - after that: leave out instructions that are never reached. Not with functions. */
void bpf_code_prune(struct bpf_code *c);

/* A label may be used at once. It must be placed exactly once. */
int bpf_label(struct bpf_code *c);
void bpf_put_label(struct bpf_code *c, int label);

/* @op: BPF_MOV, BPF_ADD, BPF_AND, ... on 64 bits; the immediate is sign-extended. */
void bpf_alu(struct bpf_code *c, int op, int to, int from);
void bpf_alu_imm(struct bpf_code *c, int op, int to, int32_t value);
void bpf_mov64(struct bpf_code *c, int to, uint64_t value);

/* @size: BPF_B, BPF_H, BPF_W, BPF_DW. */
void bpf_load(struct bpf_code *c, int size, int to, int from, int offset);
void bpf_store(struct bpf_code *c, int size, int to, int offset, int from);
void bpf_store_imm(struct bpf_code *c, int size, int to, int offset, int32_t value);

/* Compares the value at @to with R0 and stores @from if they are equal. R0 becomes the old
 * value. */
void bpf_compare_exchange(struct bpf_code *c, int to, int offset, int from);
/* @op: BPF_ADD, BPF_OR, BPF_AND; on 64 bits. */
void bpf_atomic(struct bpf_code *c, int op, int to, int offset, int from);

/* @op: BPF_JEQ, BPF_JGT, ...; unsigned except BPF_JS... */
void bpf_jump(struct bpf_code *c, int label);
void bpf_jump_if(struct bpf_code *c, int op, int a, int b, int label);
void bpf_jump_if_imm(struct bpf_code *c, int op, int a, int32_t value, int label);

void bpf_call(struct bpf_code *c, int helper);
void bpf_exit(struct bpf_code *c);

/* bpf_function - a function begins here, behind the program and earlier functions; @label is placed.
 * Its @n_arguments numbers are in R1 and above, its result, a number, is in R0, and it has R6 to R9
 * and a stack of its own. The verifier walks it once, whatever its callers pass (bpf/functions.h). */
void bpf_function(struct bpf_code *c, int label, const char *name, int n_arguments);
void bpf_call_function(struct bpf_code *c, int label);

/* The first loads the map itself, for helpers. The second loads the address of the bytes of a map
 * of one element. */
void bpf_load_map(struct bpf_code *c, int to, int fd);
void bpf_load_map_value(struct bpf_code *c, int to, int fd, uint32_t offset);

#endif
