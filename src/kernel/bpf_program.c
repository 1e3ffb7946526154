/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf_program.c - see bpf_program.h.
 *
 * Registers, once an event is wanted: R7 the CPU's ring, R9 the record, R6 and R8 the event's own.  A call destroys
 * R0 to R5.
 */
#include "kernel/bpf_program.h"

#include <asm/ptrace.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "kernel/bpf_ring.h"

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP };

/* Places on the stack. */
enum { STACK_CPU = -8, STACK_TID = -16, STACK_TIME = -24, STACK_WORDS = -32 };

/* A try fails if another program of ours came between; each of them makes progress. */
enum { RESERVE_TRIES = 4 };

enum { DATA = offsetof(struct bpf_ring, data), STAGE = offsetof(struct bpf_ring, stage) };
/* In a record, from its word on. */
enum { RECORD = 8, COMMON_TID = RECORD + 4 };

#if defined __x86_64__
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
#endif

void bpf_plan_layout(struct bpf_plan *p, const struct btf *b)
{
	int info = btf_member(b, "task_struct", "thread_info"), cpu = btf_member(b, "thread_info", "cpu");
	int status = btf_member(b, "thread_info", "status");

	p->task_pid = btf_member(b, "task_struct", "pid");
	p->task_comm = btf_member(b, "task_struct", "comm");
	p->task_prio = btf_member(b, "task_struct", "prio");
	p->task_exit_state = btf_member(b, "task_struct", "exit_state");
	p->task_cpu = info < 0 || cpu < 0 ? -ENOENT : info + cpu;
	p->task_status = info < 0 || status < 0 ? -ENOENT : info + status;
}

/* ---------------------------------------------------------------- whether it is wanted */

static void leave_if_off(struct bpf_code *c, const struct bpf_plan *p, int leave)
{
	bpf_load_map_value(c, R1, p->control, offsetof(struct bpf_control, is_on));
	bpf_load(c, BPF_DW, R1, R1, 0);
	bpf_alu_imm(c, BPF_AND, R1, (int32_t)p->bit);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, leave);
}

/* @to, which is not R3, becomes the address of the word with the bit of the thread in R1; R1 the bit's number. */
static void find_pid(struct bpf_code *c, const struct bpf_plan *p, int to)
{
	bpf_alu(c, BPF_MOV, R3, R1);
	bpf_alu_imm(c, BPF_RSH, R3, 6);
	bpf_alu_imm(c, BPF_AND, R3, BPF_PIDS_MAX / 64 - 1);
	bpf_alu_imm(c, BPF_LSH, R3, 3);
	bpf_load_map_value(c, to, p->control, offsetof(struct bpf_control, pids));
	bpf_alu(c, BPF_ADD, to, R3);
	bpf_alu_imm(c, BPF_AND, R1, 63);
}

/* Whether the thread in R1 is followed. */
static void jump_if_followed(struct bpf_code *c, const struct bpf_plan *p, int label)
{
	find_pid(c, p, R2);
	bpf_load(c, BPF_DW, R2, R2, 0);
	bpf_alu(c, BPF_RSH, R2, R1);
	bpf_jump_if_imm(c, BPF_JSET, R2, 1, label);
}

/* The calling thread's number, to the stack and to R1. */
static void get_tid(struct bpf_code *c)
{
	bpf_call(c, BPF_FUNC_get_current_pid_tgid);
	bpf_store(c, BPF_W, FP, STACK_TID, R0);
	bpf_load(c, BPF_W, R1, FP, STACK_TID);
}

static void leave_if_not_followed(struct bpf_code *c, const struct bpf_plan *p, int leave)
{
	int go_on = bpf_label(c);

	get_tid(c);
	if (p->follows) {
		jump_if_followed(c, p, go_on);
		bpf_jump(c, leave);
	}
	bpf_put_label(c, go_on);
}

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

/* R7 becomes the ring of this CPU. */
static void get_ring(struct bpf_code *c, const struct bpf_plan *p, int leave)
{
	int is_there = bpf_label(c);

	bpf_call(c, BPF_FUNC_get_smp_processor_id);
	bpf_store(c, BPF_W, FP, STACK_CPU, R0);
	bpf_load_map(c, R1, p->rings);
	bpf_alu(c, BPF_MOV, R2, FP);
	bpf_alu_imm(c, BPF_ADD, R2, STACK_CPU);
	bpf_call(c, BPF_FUNC_map_lookup_elem);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, is_there);
	bpf_load_map_value(c, R1, p->control, offsetof(struct bpf_control, lost));
	bpf_alu_imm(c, BPF_MOV, R2, 1);
	bpf_atomic(c, BPF_ADD, R1, 0, R2);
	bpf_jump(c, leave);
	bpf_put_label(c, is_there);
	bpf_alu(c, BPF_MOV, R7, R0);
}

/* R9 becomes a new record of @size bytes or, if that is 0, of as many as R8 says. */
static void reserve(struct bpf_code *c, const struct bpf_plan *p, int size, int leave)
{
	int is_full = bpf_label(c), is_ours = bpf_label(c);

	for (int i = 0; i < RESERVE_TRIES; i++) {
		bpf_load(c, BPF_DW, R9, R7, offsetof(struct bpf_ring, reserved));
		bpf_call(c, BPF_FUNC_ktime_get_ns);
		bpf_store(c, BPF_DW, FP, STACK_TIME, R0);
		bpf_alu(c, BPF_MOV, R1, R9);
		if (size)
			bpf_alu_imm(c, BPF_ADD, R1, size);
		else
			bpf_alu(c, BPF_ADD, R1, R8);
		bpf_load(c, BPF_DW, R2, R7, offsetof(struct bpf_ring, consumed));
		bpf_alu(c, BPF_MOV, R3, R1);
		bpf_alu(c, BPF_SUB, R3, R2);
		bpf_jump_if_imm(c, BPF_JGT, R3, (int32_t)p->ring_size, is_full);
		bpf_alu(c, BPF_MOV, R0, R9);
		bpf_compare_exchange(c, R7, offsetof(struct bpf_ring, reserved), R1);
		bpf_jump_if(c, BPF_JEQ, R0, R9, is_ours);
	}
	bpf_put_label(c, is_full);
	bpf_alu_imm(c, BPF_MOV, R1, 1);
	bpf_atomic(c, BPF_ADD, R7, offsetof(struct bpf_ring, lost), R1);
	bpf_jump(c, leave);
	bpf_put_label(c, is_ours);
	bpf_alu_imm(c, BPF_AND, R9, (int32_t)p->ring_size - 1);
	bpf_alu(c, BPF_ADD, R9, R7);
	bpf_alu_imm(c, BPF_ADD, R9, DATA);
}

/* Its word, last: what it says of the record is true from here on.  On x86 stores become visible in their order. */
static void publish(struct bpf_code *c, int size)
{
	bpf_load(c, BPF_DW, R1, FP, STACK_TIME);
	bpf_alu_imm(c, BPF_LSH, R1, 64 - BPF_RING_TIME_BITS);
	bpf_alu_imm(c, BPF_RSH, R1, 64 - BPF_RING_TIME_BITS);
	if (size)
		bpf_mov64(c, R2, (uint64_t)(size / BPF_RING_UNIT) << BPF_RING_TIME_BITS);
	else
		bpf_alu(c, BPF_MOV, R2, R8);
	if (!size)
		bpf_alu_imm(c, BPF_LSH, R2, BPF_RING_TIME_BITS - 3);
	bpf_alu(c, BPF_OR, R1, R2);
	bpf_store(c, BPF_DW, R9, 0, R1);
}

/* Flags and count of preemption are 0: a program is not told them. */
static void store_common(struct bpf_code *c, int to, int at, uint16_t kernel_id)
{
	bpf_store_imm(c, BPF_W, to, at + RECORD, kernel_id);
	bpf_load(c, BPF_W, R1, FP, STACK_TID);
	bpf_store(c, BPF_W, to, at + COMMON_TID, R1);
}

static void end(struct bpf_code *c, int leave)
{
	bpf_put_label(c, leave);
	bpf_alu_imm(c, BPF_MOV, R0, 0);
	bpf_exit(c);
}

/* ---------------------------------------------------------------- system calls */

#if defined __x86_64__
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

	store_common(c, to, at, kernel_id);
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

/* R1 becomes the stage's byte R8 of its record. */
static void at_stage(struct bpf_code *c)
{
	bpf_alu(c, BPF_MOV, R1, R7);
	bpf_alu(c, BPF_ADD, R1, R8);
	bpf_alu_imm(c, BPF_ADD, R1, STAGE + RECORD);
}

/*
 * The text that argument R9 & 255, counted from 1, points to, behind what the stage has: R8 bytes of a record.  Its
 * word is number @i.  What is not in memory cannot be read here: its size is 0.
 */
static void stage_text(struct bpf_code *c, int i, int done)
{
	int is_bad = bpf_label(c), is_whole = bpf_label(c), next = bpf_label(c);

	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_AND, R1, 7);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, done);
	bpf_alu_imm(c, BPF_LSH, R1, 3);
	bpf_alu(c, BPF_ADD, R1, R7);
	bpf_load(c, BPF_DW, R3, R1, STAGE + RECORD + KERNEL_SYSCALL_ARGS - 8);
	at_stage(c);
	bpf_alu_imm(c, BPF_MOV, R2, BPF_TEXT_MAX + 1);
	bpf_call(c, BPF_FUNC_probe_read_user_str);
	bpf_jump_if_imm(c, BPF_JSLT, R0, 1, is_bad);
	bpf_jump_if_imm(c, BPF_JLE, R0, BPF_TEXT_MAX, is_whole);
	at_stage(c);
	for (int k = BPF_TEXT_MAX - 4; k < BPF_TEXT_MAX - 1; k++)
		bpf_store_imm(c, BPF_B, R1, k, '.');
	bpf_store_imm(c, BPF_B, R1, BPF_TEXT_MAX - 1, 0);
	bpf_alu_imm(c, BPF_MOV, R0, BPF_TEXT_MAX);
	bpf_put_label(c, is_whole);
	bpf_alu(c, BPF_MOV, R1, R0);
	bpf_alu_imm(c, BPF_LSH, R1, 16);
	bpf_alu(c, BPF_OR, R1, R8);
	bpf_store(c, BPF_W, R7, STAGE + RECORD + KERNEL_SYSCALL_WORDS + 4 * i, R1);
	bpf_alu(c, BPF_ADD, R8, R0);
	bpf_jump(c, next);
	bpf_put_label(c, is_bad);
	bpf_store(c, BPF_W, R7, STAGE + RECORD + KERNEL_SYSCALL_WORDS + 4 * i, R8);
	bpf_put_label(c, next);
	bpf_alu_imm(c, BPF_RSH, R9, 8);
}

_Static_assert(BPF_RECORD_MAX < 1024 && BPF_RING_SLACK >= 1024 + RECORD, "see below");

/*
 * A call with texts: how long they are is known when they are read, so its record is made in the ring's stage first.
 * That is this program's alone: no CPU runs a program that it runs already.
 */
static void record_texts(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id, int leave)
{
	int done = bpf_label(c);

	store_call(c, p, kernel_id, R7, STAGE);
	bpf_alu_imm(c, BPF_MOV, R8, BPF_TEXTS_AT);
	for (int i = 0; i < KERNEL_SYSCALL_TEXTS; i++)
		stage_text(c, i, done);
	bpf_put_label(c, done);
	bpf_alu_imm(c, BPF_ADD, R8, RECORD + 7);
	bpf_alu_imm(c, BPF_RSH, R8, 3);
	bpf_alu_imm(c, BPF_LSH, R8, 3);
	reserve(c, p, 0, leave);
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_ADD, R1, RECORD);
	bpf_alu(c, BPF_MOV, R2, R8);
	bpf_alu_imm(c, BPF_SUB, R2, RECORD);
	bpf_alu_imm(c, BPF_AND, R2, 1023); /* it is less: for the verifier, which does not see so */
	bpf_alu(c, BPF_MOV, R3, R7);
	bpf_alu_imm(c, BPF_ADD, R3, STAGE + RECORD);
	bpf_call(c, BPF_FUNC_probe_read_kernel);
	publish(c, 0);
	bpf_jump(c, leave);
}

void bpf_program_sys_enter(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id)
{
	enum { SIZE = RECORD + KERNEL_SYSCALL_ARGS + 8 * KERNEL_SYSCALL_N_ARGS };
	int leave, has_texts;

	bpf_code_begin(c);
	leave = bpf_label(c);
	has_texts = bpf_label(c);
	bpf_load(c, BPF_DW, R6, R1, 0); /* registers */
	bpf_load(c, BPF_DW, R8, R1, 8); /* number */
	leave_if_off(c, p, leave);
	bpf_alu(c, BPF_MOV, R1, R8);
	look_up_call(c, p);
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_AND, R1, BPF_CALL_ENTRY);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, leave);
	leave_if_not_followed(c, p, leave);
	get_ring(c, p, leave);
	bpf_alu_imm(c, BPF_RSH, R9, 8);
	bpf_jump_if_imm(c, BPF_JNE, R9, 0, has_texts);
	reserve(c, p, SIZE, leave);
	store_call(c, p, kernel_id, R9, 0);
	publish(c, SIZE);
	bpf_jump(c, leave);
	bpf_put_label(c, has_texts);
	record_texts(c, p, kernel_id, leave);
	end(c, leave);
}

void bpf_program_sys_exit(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id)
{
	enum { SIZE = RECORD + KERNEL_SYSCALL_ARGS + 8 };
	int leave;

	bpf_code_begin(c);
	leave = bpf_label(c);
	bpf_load(c, BPF_DW, R6, R1, 0); /* registers */
	bpf_load(c, BPF_DW, R8, R1, 8); /* result */
	leave_if_off(c, p, leave);
	bpf_load(c, BPF_DW, R6, R6, NUMBER);
	bpf_alu_imm(c, BPF_LSH, R6, 32);
	bpf_alu_imm(c, BPF_ARSH, R6, 32);
	bpf_alu(c, BPF_MOV, R1, R6);
	look_up_call(c, p);
	bpf_alu_imm(c, BPF_AND, R9, BPF_CALL_EXIT);
	bpf_jump_if_imm(c, BPF_JEQ, R9, 0, leave);
	leave_if_not_followed(c, p, leave);
	get_ring(c, p, leave);
	reserve(c, p, SIZE, leave);
	store_common(c, R9, 0, kernel_id);
	bpf_store(c, BPF_DW, R9, RECORD + KERNEL_SYSCALL_NR, R6);
	bpf_store(c, BPF_DW, R9, RECORD + KERNEL_SYSCALL_ARGS, R8);
	publish(c, SIZE);
	end(c, leave);
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

/* ---------------------------------------------------------------- following */

void bpf_program_fork(struct bpf_code *c, const struct bpf_plan *p)
{
	int leave, is_followed;

	bpf_code_begin(c);
	leave = bpf_label(c);
	is_followed = bpf_label(c);
	bpf_load(c, BPF_DW, R6, R1, 8); /* child */
	bpf_load(c, BPF_DW, R1, R1, 0); /* parent */
	bpf_load(c, BPF_W, R1, R1, p->task_pid);
	jump_if_followed(c, p, is_followed);
	bpf_jump(c, leave);
	bpf_put_label(c, is_followed);
	bpf_load(c, BPF_W, R1, R6, p->task_pid);
	find_pid(c, p, R2);
	bpf_alu_imm(c, BPF_MOV, R4, 1);
	bpf_alu(c, BPF_LSH, R4, R1);
	bpf_atomic(c, BPF_OR, R2, 0, R4);
	end(c, leave);
}

void bpf_program_free(struct bpf_code *c, const struct bpf_plan *p)
{
	int leave;

	bpf_code_begin(c);
	leave = bpf_label(c);
	bpf_load(c, BPF_DW, R1, R1, 0);
	bpf_load(c, BPF_W, R1, R1, p->task_pid);
	find_pid(c, p, R2);
	bpf_alu_imm(c, BPF_MOV, R4, 1);
	bpf_alu(c, BPF_LSH, R4, R1);
	bpf_alu_imm(c, BPF_XOR, R4, -1);
	bpf_atomic(c, BPF_AND, R2, 0, R4);
	end(c, leave);
}

/* ---------------------------------------------------------------- scheduling */

enum source { TASK_COMM, TASK_PID, TASK_PRIO, TASK_CPU, TASK_STATE };

/* How a field of a record is made, of the task in argument @task. */
struct recipe {
	const char *event, *field;
	uint8_t size, task;
	uint8_t source;
};

static const struct recipe recipes[] = {
	{ "sched_switch", "prev_comm", 16, 1, TASK_COMM },   { "sched_switch", "prev_pid", 4, 1, TASK_PID },
	{ "sched_switch", "prev_prio", 4, 1, TASK_PRIO },    { "sched_switch", "prev_state", 8, 1, TASK_STATE },
	{ "sched_switch", "next_comm", 16, 2, TASK_COMM },   { "sched_switch", "next_pid", 4, 2, TASK_PID },
	{ "sched_switch", "next_prio", 4, 2, TASK_PRIO },    { "sched_waking", "comm", 16, 0, TASK_COMM },
	{ "sched_waking", "pid", 4, 0, TASK_PID },	     { "sched_waking", "prio", 4, 0, TASK_PRIO },
	{ "sched_waking", "target_cpu", 4, 0, TASK_CPU },    { "sched_wakeup", "comm", 16, 0, TASK_COMM },
	{ "sched_wakeup", "pid", 4, 0, TASK_PID },	     { "sched_wakeup", "prio", 4, 0, TASK_PRIO },
	{ "sched_wakeup", "target_cpu", 4, 0, TASK_CPU },    { "sched_wakeup_new", "comm", 16, 0, TASK_COMM },
	{ "sched_wakeup_new", "pid", 4, 0, TASK_PID },	     { "sched_wakeup_new", "prio", 4, 0, TASK_PRIO },
	{ "sched_wakeup_new", "target_cpu", 4, 0, TASK_CPU },
};

static const struct recipe *recipe_of(const char *event, const struct kernel_field *f)
{
	for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
		if (!strcmp(recipes[i].event, event) && !strcmp(recipes[i].field, f->name))
			return recipes[i].size == f->size && f->place == KERNEL_IN_RECORD ? &recipes[i] : NULL;
	return NULL;
}

/* What the kernel calls the state of who is switched away from (R8 holds the task): the highest bit of those it
 * reports, as __trace_sched_switch_state in its include/trace/events/sched.h. */
static void store_state(struct bpf_code *c, const struct bpf_plan *p, int offset)
{
	enum { REPORTED = 0x7f, IDLE = 0x402, REPORTED_IDLE = 0x80, PREEMPTED = 0x100, LIKE_BLOCKED = 0x9000, BLOCKED = 2 };
	int done = bpf_label(c), not_idle = bpf_label(c), not_other = bpf_label(c);

	bpf_alu_imm(c, BPF_MOV, R2, PREEMPTED);
	bpf_load(c, BPF_DW, R1, R6, 0); /* preempted? */
	bpf_alu_imm(c, BPF_AND, R1, 255);
	bpf_jump_if_imm(c, BPF_JNE, R1, 0, done);
	bpf_load(c, BPF_DW, R3, R6, 24); /* state */
	bpf_load(c, BPF_W, R2, R8, p->task_exit_state);
	bpf_alu(c, BPF_OR, R2, R3);
	bpf_alu_imm(c, BPF_AND, R2, REPORTED);
	bpf_alu(c, BPF_MOV, R1, R3);
	bpf_alu_imm(c, BPF_AND, R1, IDLE);
	bpf_jump_if_imm(c, BPF_JNE, R1, IDLE, not_idle);
	bpf_alu_imm(c, BPF_MOV, R2, REPORTED_IDLE);
	bpf_put_label(c, not_idle);
	bpf_jump_if_imm(c, BPF_JSET, R3, LIKE_BLOCKED, not_other);
	for (int bit = REPORTED_IDLE; bit > 1; bit >>= 1) {
		int no = bpf_label(c);

		bpf_alu(c, BPF_MOV, R1, R2);
		bpf_alu_imm(c, BPF_AND, R1, bit);
		bpf_jump_if_imm(c, BPF_JEQ, R1, 0, no);
		bpf_alu_imm(c, BPF_MOV, R2, bit);
		bpf_jump(c, done);
		bpf_put_label(c, no);
	}
	bpf_jump(c, done);
	bpf_put_label(c, not_other);
	bpf_alu_imm(c, BPF_MOV, R2, BLOCKED);
	bpf_put_label(c, done);
	bpf_store(c, BPF_DW, R9, offset, R2);
}

/* One field of a record at R9, of the task in R8. */
static void store_field(struct bpf_code *c, const struct bpf_plan *p, int source, int offset)
{
	int at = source == TASK_PID ? p->task_pid : source == TASK_PRIO ? p->task_prio : p->task_cpu;

	if (source == TASK_STATE) {
		store_state(c, p, offset);
	} else if (source == TASK_COMM) {
		for (int i = 0; i < 16; i += 8) {
			bpf_load(c, BPF_DW, R1, R8, p->task_comm + i);
			bpf_store(c, BPF_DW, R9, offset + i, R1);
		}
	} else {
		bpf_load(c, BPF_W, R1, R8, at);
		bpf_store(c, BPF_W, R9, offset, R1);
	}
}

/* As tracefs' set_event_pid has it: whom it is about, or who runs. */
static void leave_if_no_task_followed(struct bpf_code *c, const struct bpf_plan *p, int task, int leave)
{
	int go_on = bpf_label(c);

	get_tid(c);
	if (p->follows) {
		jump_if_followed(c, p, go_on);
		bpf_load(c, BPF_DW, R1, R6, 8 * task);
		bpf_load(c, BPF_W, R1, R1, p->task_pid);
		jump_if_followed(c, p, go_on);
		bpf_jump(c, leave);
	}
	bpf_put_label(c, go_on);
}

static bool is_laid_out(const struct bpf_plan *p)
{
	return p->task_pid >= 0 && p->task_comm >= 0 && p->task_prio >= 0 && p->task_exit_state >= 0 &&
	       p->task_cpu >= 0;
}

int bpf_program_event(struct bpf_code *c, const struct bpf_plan *p, const struct kernel_format *f)
{
	int leave, size = RECORD + KERNEL_COMMON_SIZE, task = 0, loaded = -1;

	for (int i = 0; i < f->n_fields; i++) {
		const struct recipe *r = recipe_of(f->name, &f->fields[i]);

		if (!r)
			return -EOPNOTSUPP;
		if (r->task > task)
			task = r->task;
		if (RECORD + f->fields[i].offset + f->fields[i].size > size)
			size = RECORD + f->fields[i].offset + f->fields[i].size;
	}
	if (size == RECORD + KERNEL_COMMON_SIZE || size > 256 || !is_laid_out(p))
		return -EOPNOTSUPP;
	size = (size + BPF_RING_UNIT - 1) & -BPF_RING_UNIT;
	bpf_code_begin(c);
	leave = bpf_label(c);
	bpf_alu(c, BPF_MOV, R6, R1);
	leave_if_off(c, p, leave);
	leave_if_no_task_followed(c, p, task, leave);
	get_ring(c, p, leave);
	reserve(c, p, size, leave);
	store_common(c, R9, 0, f->id);
	for (int i = 0; i < f->n_fields; i++) {
		const struct recipe *r = recipe_of(f->name, &f->fields[i]);

		if (r->task != loaded)
			bpf_load(c, BPF_DW, R8, R6, 8 * r->task);
		loaded = r->task;
		store_field(c, p, r->source, RECORD + f->fields[i].offset);
	}
	publish(c, size);
	end(c, leave);
	return 0;
}
