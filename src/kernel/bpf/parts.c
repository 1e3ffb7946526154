/* SPDX-License-Identifier: MIT */
/* kernel/bpf/parts.c - instruction sequences that all programs share: filter by thread, reserve,
 * publish. */
#include "kernel/bpf/parts.h"

#include <stddef.h>

/* A try fails if another program of duet interrupted this one; each failure means progress of the
 * other. */
enum { RESERVE_TRIES = 4 };

enum { DATA = offsetof(struct bpf_ring, data) };

/* ---------------------------------------------------------------- is it wanted */

void bpf_leave_if_off(struct bpf_code *c, const struct bpf_plan *p, int leave)
{
	bpf_load_map_value(c, R1, p->control, offsetof(struct bpf_control, is_on));
	bpf_load(c, BPF_DW, R1, R1, 0);
	bpf_alu_imm(c, BPF_AND, R1, (int32_t)p->bit);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, leave);
}

void bpf_find_pid(struct bpf_code *c, const struct bpf_plan *p, int to)
{
	bpf_alu(c, BPF_MOV, R3, R1);
	bpf_alu_imm(c, BPF_RSH, R3, 6);
	bpf_alu_imm(c, BPF_AND, R3, BPF_PIDS_MAX / 64 - 1);
	bpf_alu_imm(c, BPF_LSH, R3, 3);
	bpf_load_map_value(c, to, p->control, offsetof(struct bpf_control, pids));
	bpf_alu(c, BPF_ADD, to, R3);
	bpf_alu_imm(c, BPF_AND, R1, 63);
}

void bpf_jump_if_followed(struct bpf_code *c, const struct bpf_plan *p, int label)
{
	bpf_find_pid(c, p, R2);
	bpf_load(c, BPF_DW, R2, R2, 0);
	bpf_alu(c, BPF_RSH, R2, R1);
	bpf_jump_if_imm(c, BPF_JSET, R2, 1, label);
}

void bpf_get_tid(struct bpf_code *c)
{
	bpf_call(c, BPF_FUNC_get_current_pid_tgid);
	bpf_store(c, BPF_W, FP, STACK_TID, R0);
	bpf_load(c, BPF_W, R1, FP, STACK_TID);
}

void bpf_leave_if_not_followed(struct bpf_code *c, const struct bpf_plan *p, int leave)
{
	int go_on = bpf_label(c);

	bpf_get_tid(c);
	if (p->follows) {
		bpf_jump_if_followed(c, p, go_on);
		bpf_jump(c, leave);
	}
	bpf_put_label(c, go_on);
}

void bpf_leave_if_no_task_followed(struct bpf_code *c, const struct bpf_plan *p, int task,
				   int leave)
{
	int go_on = bpf_label(c);

	bpf_get_tid(c);
	if (p->follows) {
		bpf_jump_if_followed(c, p, go_on);
		bpf_load(c, BPF_DW, R1, R6, 8 * task);
		bpf_load(c, BPF_W, R1, R1, p->task_pid);
		bpf_jump_if_followed(c, p, go_on);
		bpf_jump(c, leave);
	}
	bpf_put_label(c, go_on);
}

/* ---------------------------------------------------------------- the record */

void bpf_find_ring(struct bpf_code *c, const struct bpf_plan *p, int has_ring)
{
	bpf_load_map(c, R1, p->rings);
	bpf_alu(c, BPF_MOV, R2, FP);
	bpf_alu_imm(c, BPF_ADD, R2, STACK_CPU);
	bpf_call(c, BPF_FUNC_map_lookup_elem);
	bpf_alu(c, BPF_MOV, R7, R0);
	bpf_jump_if_imm(c, BPF_JNE, R7, 0, has_ring);
}

void bpf_get_ring(struct bpf_code *c, const struct bpf_plan *p, int leave)
{
	int has_ring = bpf_label(c);

	bpf_call(c, BPF_FUNC_get_smp_processor_id);
	bpf_store(c, BPF_DW, FP, STACK_CPU, R0);
	bpf_find_ring(c, p, has_ring);
	bpf_load_map_value(c, R1, p->control, offsetof(struct bpf_control, lost));
	bpf_alu_imm(c, BPF_MOV, R2, 1);
	bpf_atomic(c, BPF_ADD, R1, 0, R2);
	bpf_jump(c, leave);
	bpf_put_label(c, has_ring);
}

void bpf_reserve(struct bpf_code *c, const struct bpf_plan *p, int size, int leave)
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
		bpf_jump_if_imm(c, BPF_JGT, R3, (int32_t)(p->ring_size - p->ring_kept), is_full);
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

void bpf_publish(struct bpf_code *c, int size)
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

void bpf_store_common(struct bpf_code *c, int to, int at, uint16_t kernel_id)
{
	bpf_store_imm(c, BPF_W, to, at + RECORD, kernel_id);
	bpf_load(c, BPF_W, R1, FP, STACK_TID);
	bpf_store(c, BPF_W, to, at + COMMON_TID, R1);
}

void bpf_end(struct bpf_code *c, int leave)
{
	bpf_put_label(c, leave);
	bpf_alu_imm(c, BPF_MOV, R0, 0);
	bpf_exit(c);
}
