/* SPDX-License-Identifier: MIT */
/* kernel/bpf/syscalls.c - the programs that record entries and exits of system calls.
 *
 * A call without captured memory goes straight into the ring; all others are built in the stage
 * first, because their size is not known before. See assemble.h. */
#include "kernel/bpf/assemble.h"

#include <asm/ptrace.h>
#include <asm/unistd.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "kernel/bpf/bpf.h"
#include "kernel/bpf/capture.h"
#include "kernel/bpf/filter.h"

#if defined __x86_64__
enum { COMPAT = 2 }; /* TS_COMPAT: a system call of a 32-bit program */
static const int arguments[KERNEL_SYSCALL_N_ARGS] = {
	offsetof(struct pt_regs, rdi), offsetof(struct pt_regs, rsi), offsetof(struct pt_regs, rdx),
	offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r8),  offsetof(struct pt_regs, r9),
};
static const int arguments_32[KERNEL_SYSCALL_N_ARGS] = {
	offsetof(struct pt_regs, rbx), offsetof(struct pt_regs, rcx), offsetof(struct pt_regs, rdx),
	offsetof(struct pt_regs, rsi), offsetof(struct pt_regs, rdi), offsetof(struct pt_regs, rbp),
};
enum { NUMBER = offsetof(struct pt_regs, orig_rax) };

/* R9 becomes the control->calls word of the call with the number in R1. */
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

/* Jumps to @none if the call with the number in R3 and the word in R9 has captures of some commands
 * only, and its second argument is another one. */
static void check_command(struct bpf_code *c, const struct bpf_plan *p, int none)
{
	int is_wanted = bpf_label(c);

	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_AND, R1, BPF_CALL_COMMANDS);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, is_wanted);
	bpf_load(c, BPF_W, R1, R6, arguments[1]);
	bpf_jump_if_imm(c, BPF_JGE, R1, 64, none);
	bpf_jump_if_imm(c, BPF_JGE, R3, KERNEL_SYSCALLS_MAX, none);
	bpf_alu_imm(c, BPF_LSH, R3, 3);
	bpf_load_map_value(c, R2, p->control, offsetof(struct bpf_control, commands));
	bpf_alu(c, BPF_ADD, R2, R3);
	bpf_load(c, BPF_DW, R2, R2, 0);
	bpf_alu(c, BPF_RSH, R2, R1);
	bpf_alu_imm(c, BPF_AND, R2, 1);
	bpf_jump_if_imm(c, BPF_JEQ, R2, 0, none);
	bpf_put_label(c, is_wanted);
}

/* Jumps to @none if a call with the word R9 and the number R3 has none of @wanted, bits of the word. */
static void leave_if_without(struct bpf_code *c, const struct bpf_plan *p, int wanted, int none)
{
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_AND, R1, wanted);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, none);
	if (p->has_extra)
		check_command(c, p, none);
}

/* ---------------------------------------------------------------- the record */

static void copy_arguments(struct bpf_code *c, const int *from, int to, int at)
{
	for (int i = 0; i < KERNEL_SYSCALL_N_ARGS; i++) {
		bpf_load(c, BPF_DW, R1, R6, from[i]);
		bpf_store(c, BPF_DW, to, at + RECORD + KERNEL_SYSCALL_ARGS + 8 * i, R1);
	}
}

/* Stores the head of a record for the call with number R8 and registers R6, at offset @at from
 * @to. */
static void store_call(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id, int to,
		       int at)
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

/* R2 becomes the address of the calling thread's word in control->late, R4 its bit. */
static void find_late(struct bpf_code *c, const struct bpf_plan *p)
{
	bpf_load(c, BPF_W, R1, FP, STACK_TID);
	bpf_alu(c, BPF_MOV, R3, R1);
	bpf_alu_imm(c, BPF_RSH, R3, 6);
	bpf_alu_imm(c, BPF_AND, R3, BPF_PIDS_MAX / 64 - 1);
	bpf_alu_imm(c, BPF_LSH, R3, 3);
	bpf_load_map_value(c, R2, p->control, offsetof(struct bpf_control, late));
	bpf_alu(c, BPF_ADD, R2, R3);
	bpf_alu_imm(c, BPF_AND, R1, 63);
	bpf_alu_imm(c, BPF_MOV, R4, 1);
	bpf_alu(c, BPF_LSH, R4, R1);
}

/* Clears the mark that an entry left for an exit that is not recorded. R9 is the call's word. */
static void forget_late(struct bpf_code *c, const struct bpf_plan *p, int leave)
{
	bpf_alu_imm(c, BPF_AND, R9, BPF_CALL_LATE);
	bpf_jump_if_imm(c, BPF_JEQ, R9, 0, leave);
	find_late(c, p);
	bpf_alu_imm(c, BPF_XOR, R4, -1);
	bpf_atomic(c, BPF_AND, R2, 0, R4);
	bpf_jump(c, leave);
}

/* rt_sigreturn takes its frame from the stack. The first argument of the staged record, which its event
 * does not have, becomes the address of the signal mask in there (struct ucontext). */
static void store_mask_address(struct bpf_code *c)
{
	enum { MASK = 296 };
	int is_other = bpf_label(c);

	bpf_jump_if_imm(c, BPF_JNE, R8, __NR_rt_sigreturn, is_other);
	bpf_load(c, BPF_DW, R1, R6, offsetof(struct pt_regs, rsp));
	bpf_alu_imm(c, BPF_ADD, R1, MASK);
	bpf_store(c, BPF_DW, R7, bpf_stage_record(BPF_ENTRY_STAGE) + RECORD + KERNEL_SYSCALL_ARGS,
		  R1);
	bpf_put_label(c, is_other);
}

/* ---------------------------------------------------------------- filters */

struct call_fields {
	struct bpf_filter_fields fields;
	const struct kernel_format *call;
};

/* A pointer counts as a number. */
static bool find_argument(const struct bpf_filter_fields *fields, const char *name,
			  struct bpf_filter_field *field)
{
	const struct kernel_format *call = ((const struct call_fields *)fields)->call;

	for (int i = 0; i < call->n_fields; i++) {
		const struct kernel_field *f = &call->fields[i];
		int number = (f->offset - KERNEL_SYSCALL_ARGS) / 8,
		    size = f->type_size && !f->is_pointer ? f->type_size : 8;

		if (strcmp(f->name, name) || f->offset < KERNEL_SYSCALL_ARGS ||
		    number >= KERNEL_SYSCALL_N_ARGS)
			continue;
		*field = (struct bpf_filter_field){ .size = (uint8_t)size,
						    .is_unsigned =
							    f->is_pointer || !f->type_is_signed,
						    .number = number };
		return true;
	}
	return false;
}

/* Register bits beyond the type's size are ignored. */
static void load_argument(const struct bpf_filter_fields *fields, struct bpf_code *c,
			  const struct bpf_filter_field *field)
{
	int unused = 64 - 8 * field->size;

	(void)fields;
	bpf_load(c, BPF_DW, R1, R6, arguments[field->number]);
	if (!unused)
		return;
	bpf_alu_imm(c, BPF_LSH, R1, unused);
	bpf_alu_imm(c, field->is_unsigned ? BPF_RSH : BPF_ARSH, R1, unused);
}

static bool find_result(const struct bpf_filter_fields *fields, const char *name,
			struct bpf_filter_field *field)
{
	(void)fields;
	*field = (struct bpf_filter_field){ .size = 8 };
	return !strcmp(name, "ret");
}

static void load_result(const struct bpf_filter_fields *fields, struct bpf_code *c,
			const struct bpf_filter_field *field)
{
	(void)fields, (void)field;
	bpf_alu(c, BPF_MOV, R1, R8);
}

/* Applies the filter whose number is at bit @shift of R9. */
static int filter_call(struct bpf_code *c, int shift, const struct kernel_bpf_filter *filters,
		       int n, int leave)
{
	int passes = bpf_label(c);

	for (int i = 0; i < n; i++) {
		const struct call_fields of_call = { { find_argument, load_argument },
						     filters[i].call };
		const struct bpf_filter_fields of_end = { find_result, load_result };
		int next = bpf_label(c);

		bpf_alu(c, BPF_MOV, R1, R9);
		bpf_alu_imm(c, BPF_RSH, R1, shift);
		bpf_alu_imm(c, BPF_AND, R1, BPF_CALL_FILTERS);
		bpf_jump_if_imm(c, BPF_JNE, R1, i + 1, next);
		if (bpf_filter(c, filters[i].expression,
			       filters[i].call ? &of_call.fields : &of_end, leave))
			return -EOPNOTSUPP;
		bpf_jump(c, passes);
		bpf_put_label(c, next);
	}
	bpf_put_label(c, passes);
	return 0;
}

/* ---------------------------------------------------------------- the programs */

static void record_pointed_to(const struct bpf_captures *k, uint16_t kernel_id, int leave)
{
	const struct bpf_plan *p = k->p;
	struct bpf_code *c = k->c;
	int is_in_memory = bpf_label(c);

	bpf_store(c, BPF_DW, FP, STACK_CALL, R9);
	bpf_store(c, BPF_DW, FP, STACK_NR, R8);
	bpf_store_imm(c, BPF_DW, R7, bpf_stage_late(BPF_ENTRY_STAGE), 0);
	store_call(c, p, kernel_id, R7, bpf_stage_record(BPF_ENTRY_STAGE));
	if (p->has_extra)
		store_mask_address(c);
	bpf_stage_begin(c, BPF_ENTRY_STAGE);
	bpf_stage_texts(c, BPF_ENTRY_STAGE);
	bpf_stage_captures(k);
	bpf_load(c, BPF_DW, R1, R7, bpf_stage_late(BPF_ENTRY_STAGE));
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, is_in_memory);
	find_late(c, p);
	bpf_atomic(c, BPF_OR, R2, 0, R4);
	bpf_put_label(c, is_in_memory);
	bpf_stage_to_ring(c, p, BPF_ENTRY_STAGE, leave);
}

int bpf_program_sys_enter(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id,
			  const struct kernel_bpf_filter *filters, int n)
{
	enum { SIZE = RECORD + KERNEL_SYSCALL_ARGS + 8 * KERNEL_SYSCALL_N_ARGS };
	struct bpf_captures k;
	int leave, points, is_plain;

	bpf_code_begin(c);
	bpf_captures_begin(&k, c, p, BPF_ENTRY_STAGE);
	leave = bpf_label(c);
	points = bpf_label(c);
	is_plain = bpf_label(c);
	bpf_load(c, BPF_DW, R6, R1, 0); /* registers */
	bpf_load(c, BPF_DW, R8, R1, 8); /* number */
	bpf_leave_if_off(c, p, leave);
	bpf_alu(c, BPF_MOV, R1, R8);
	look_up_call(c, p);
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_AND, R1, BPF_CALL_ENTRY);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, leave);
	bpf_leave_if_not_followed(c, p, leave);
	if (n && filter_call(c, BPF_CALL_ENTRY_FILTER, filters, n, leave))
		return -EOPNOTSUPP;
	bpf_get_ring(c, p, leave);
	bpf_alu(c, BPF_MOV, R3, R8);
	leave_if_without(c, p, 0xff << BPF_CALL_TEXTS | BPF_CALL_CAPTURES, is_plain);
	bpf_jump(c, points);
	bpf_put_label(c, is_plain);
	bpf_reserve(c, p, SIZE, leave);
	store_call(c, p, kernel_id, R9, 0);
	bpf_publish(c, SIZE);
	bpf_jump(c, leave);
	bpf_put_label(c, points);
	record_pointed_to(&k, kernel_id, leave);
	bpf_end(c, leave);
	bpf_captures_end(&k);
	return 0;
}

/* Records the exit of a call with result R8 and registers R6: late texts, and data written for the
 * caller. */
static void record_captured(const struct bpf_captures *k, uint16_t kernel_id, int leave)
{
	enum { RECORD_AT = BPF_EXIT_STAGE + (int)offsetof(struct bpf_stage, record) + RECORD };
	enum { ARGS_AT = BPF_EXIT_STAGE + (int)offsetof(struct bpf_stage, args) };
	const struct bpf_plan *p = k->p;
	struct bpf_code *c = k->c;
	int is_in_memory = bpf_label(c);

	bpf_store_common(c, R7, bpf_stage_record(BPF_EXIT_STAGE), kernel_id);
	bpf_load(c, BPF_DW, R1, FP, STACK_NR);
	bpf_store(c, BPF_DW, R7, RECORD_AT + KERNEL_SYSCALL_NR, R1);
	bpf_store(c, BPF_DW, R7, RECORD_AT + KERNEL_SYSCALL_ARGS, R8);
	for (int i = 0; i < KERNEL_SYSCALL_N_ARGS; i++) {
		bpf_load(c, BPF_DW, R1, R6, arguments[i]);
		bpf_store(c, BPF_DW, R7, ARGS_AT + 8 * (i + 1), R1);
	}
	bpf_store(c, BPF_DW, R7, ARGS_AT + 8 * ABI_CAPTURE_RESULT, R8);
	bpf_stage_begin(c, BPF_EXIT_STAGE);
	bpf_load(c, BPF_DW, R1, R7, bpf_stage_late(BPF_EXIT_STAGE));
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, is_in_memory);
	bpf_stage_texts(c, BPF_EXIT_STAGE);
	bpf_put_label(c, is_in_memory);
	bpf_stage_captures(k);
	bpf_stage_to_ring(c, p, BPF_EXIT_STAGE, leave);
}

/* Records an exit with only the result R8; with room for words, all empty. */
static void record_result(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id,
			  bool has_word, int leave)
{
	int size = RECORD + KERNEL_SYSCALL_ARGS + (has_word ? 16 : 8);

	bpf_reserve(c, p, size, leave);
	bpf_store_common(c, R9, 0, kernel_id);
	bpf_load(c, BPF_DW, R1, FP, STACK_NR);
	bpf_store(c, BPF_DW, R9, RECORD + KERNEL_SYSCALL_NR, R1);
	bpf_store(c, BPF_DW, R9, RECORD + KERNEL_SYSCALL_ARGS, R8);
	if (has_word)
		bpf_store_imm(c, BPF_DW, R9, RECORD + KERNEL_EXIT_LATE_WORD, 0);
	bpf_publish(c, size);
	bpf_jump(c, leave);
}

int bpf_program_sys_exit(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id,
			 const struct kernel_bpf_filter *filters, int n)
{
	int leave, points, may_be_late, is_complete, is_unwanted, is_plain;
	struct bpf_captures k;

	bpf_code_begin(c);
	bpf_captures_begin(&k, c, p, BPF_EXIT_STAGE);
	leave = bpf_label(c);
	points = bpf_label(c);
	may_be_late = bpf_label(c);
	is_complete = bpf_label(c);
	is_unwanted = bpf_label(c);
	is_plain = bpf_label(c);
	bpf_load(c, BPF_DW, R6, R1, 0); /* registers */
	bpf_load(c, BPF_DW, R8, R1, 8); /* result */
	bpf_leave_if_off(c, p, leave);
	bpf_load(c, BPF_DW, R1, R6, NUMBER);
	bpf_alu_imm(c, BPF_LSH, R1, 32);
	bpf_alu_imm(c, BPF_ARSH, R1, 32);
	bpf_store(c, BPF_DW, FP, STACK_NR, R1);
	look_up_call(c, p);
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_AND, R1, BPF_CALL_EXIT);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, leave);
	bpf_leave_if_not_followed(c, p, leave);
	if (n && filter_call(c, BPF_CALL_FILTER, filters, n, is_unwanted))
		return -EOPNOTSUPP;
	bpf_get_ring(c, p, leave);
	bpf_store(c, BPF_DW, FP, STACK_CALL, R9);
	bpf_store_imm(c, BPF_DW, R7, bpf_stage_late(BPF_EXIT_STAGE), 0);
	bpf_jump_if_imm(c, BPF_JSET, R9, BPF_CALL_LATE, may_be_late);
	bpf_load(c, BPF_DW, R3, FP, STACK_NR);
	leave_if_without(c, p, BPF_CALL_EXIT_CAPTURES, is_plain);
	bpf_jump(c, points);
	bpf_put_label(c, is_plain);
	record_result(c, p, kernel_id, false, leave);
	bpf_put_label(c, may_be_late);
	find_late(c, p);
	bpf_load(c, BPF_DW, R1, R2, 0);
	bpf_alu(c, BPF_AND, R1, R4);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, is_complete);
	bpf_alu_imm(c, BPF_XOR, R4, -1);
	bpf_atomic(c, BPF_AND, R2, 0, R4);
	bpf_store_imm(c, BPF_DW, R7, bpf_stage_late(BPF_EXIT_STAGE), 1);
	bpf_jump(c, points);
	bpf_put_label(c, is_complete);
	bpf_jump_if_imm(c, BPF_JSET, R9, BPF_CALL_EXIT_CAPTURES, points);
	record_result(c, p, kernel_id, true, leave);
	bpf_put_label(c, points);
	record_captured(&k, kernel_id, leave);
	bpf_put_label(c, is_unwanted);
	if (n) /* the verifier rejects unreachable instructions */
		forget_late(c, p, leave);
	bpf_end(c, leave);
	bpf_captures_end(&k);
	return 0;
}
#else
/* Only on x86 are both known: the place of registers, and that stores become visible in order. */
int bpf_program_sys_enter(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id,
			  const struct kernel_bpf_filter *filters, int n)
{
	(void)p, (void)kernel_id, (void)filters, (void)n;
	c->failed = true;
	return 0;
}

int bpf_program_sys_exit(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id,
			 const struct kernel_bpf_filter *filters, int n)
{
	(void)p, (void)kernel_id, (void)filters, (void)n;
	c->failed = true;
	return 0;
}
#endif
