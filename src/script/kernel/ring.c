/* SPDX-License-Identifier: MIT */
/* script/kernel/ring.c - instructions that reserve and publish a record.  See emit.h. */
#include <stddef.h>

#include "script/kernel/emit.h"

/* A try fails if another program interrupted this one; each failure means progress of the other. */
enum { TRIES = 4, DATA = offsetof(struct kernel_ring, data) };

void emit_lost(struct kernel_emit *e, int64_t lost, uint32_t losses)
{
	struct bpf_code *c = e->c;

	bpf_load_map_value(c, R1, e->control, lost >= 0 ? (uint32_t)lost : losses);
	if (lost < 0) {
		bpf_load(c, BPF_DW, R2, FP, STACK_PROBE);
		bpf_alu_imm(c, BPF_AND, R2, (int32_t)e->loss_rooms - 1);
		bpf_alu_imm(c, BPF_LSH, R2, 3);
		bpf_alu(c, BPF_ADD, R1, R2);
	}
	bpf_alu_imm(c, BPF_MOV, R2, 1);
	bpf_atomic(c, BPF_ADD, R1, 0, R2);
}

static void find_ring(struct kernel_emit *e, int none)
{
	struct bpf_code *c = e->c;

	bpf_call(c, BPF_FUNC_get_smp_processor_id);
	bpf_store(c, BPF_W, FP, STACK_CPU, R0);
	bpf_load_map(c, R1, e->rings);
	bpf_alu(c, BPF_MOV, R2, FP);
	bpf_alu_imm(c, BPF_ADD, R2, STACK_CPU);
	bpf_call(c, BPF_FUNC_map_lookup_elem);
	bpf_jump_if_imm(c, BPF_JEQ, R0, 0, none);
	bpf_alu(c, BPF_MOV, R7, R0);
}

void emit_reserve(struct kernel_emit *e, uint32_t bytes, int64_t lost, uint32_t losses, int leave)
{
	struct bpf_code *c = e->c;
	int is_full = bpf_label(c), is_ours = bpf_label(c);

	find_ring(e, is_full);
	for (int i = 0; i < TRIES; i++) {
		bpf_load(c, BPF_DW, R9, R7, offsetof(struct kernel_ring, reserved));
		bpf_call(c, BPF_FUNC_ktime_get_ns);
		bpf_store(c, BPF_DW, FP, STACK_TIME, R0);
		bpf_alu(c, BPF_MOV, R1, R9);
		bpf_alu_imm(c, BPF_ADD, R1, (int32_t)bytes);
		bpf_load(c, BPF_DW, R2, R7, offsetof(struct kernel_ring, consumed));
		bpf_alu(c, BPF_MOV, R3, R1);
		bpf_alu(c, BPF_SUB, R3, R2);
		bpf_jump_if_imm(c, BPF_JGT, R3, (int32_t)e->ring_bytes, is_full);
		bpf_alu(c, BPF_MOV, R0, R9);
		bpf_compare_exchange(c, R7, offsetof(struct kernel_ring, reserved), R1);
		bpf_jump_if(c, BPF_JEQ, R0, R9, is_ours);
	}
	bpf_put_label(c, is_full);
	emit_lost(e, lost, losses);
	bpf_jump(c, leave);
	bpf_put_label(c, is_ours);
	bpf_store(c, BPF_DW, FP, STACK_POSITION, R9);
	bpf_alu_imm(c, BPF_AND, R9, (int32_t)e->ring_bytes - 1);
	bpf_alu(c, BPF_ADD, R9, R7);
	bpf_alu_imm(c, BPF_ADD, R9, DATA);
}

/* Gives back the room that the texts did not need; R8 becomes the size that is kept. */
static void shrink(struct kernel_emit *e, uint32_t bytes)
{
	struct bpf_code *c = e->c;
	int done = bpf_label(c);

	bpf_alu_imm(c, BPF_ADD, R8, 7);
	bpf_alu_imm(c, BPF_AND, R8, -8);
	bpf_load(c, BPF_DW, R1, FP, STACK_POSITION);
	bpf_alu(c, BPF_MOV, R0, R1);
	bpf_alu_imm(c, BPF_ADD, R0, (int32_t)bytes);
	bpf_alu(c, BPF_MOV, R2, R0);
	bpf_alu(c, BPF_ADD, R1, R8);
	bpf_compare_exchange(c, R7, offsetof(struct kernel_ring, reserved), R1);
	bpf_jump_if(c, BPF_JEQ, R0, R2, done);
	bpf_alu_imm(c, BPF_MOV, R8, (int32_t)bytes); /* another record follows */
	bpf_put_label(c, done);
}

void emit_publish(struct kernel_emit *e, uint32_t bytes, bool has_texts)
{
	struct bpf_code *c = e->c;

	if (has_texts)
		shrink(e, bytes);
	bpf_load(c, BPF_DW, R1, FP, STACK_TIME);
	bpf_alu_imm(c, BPF_LSH, R1, 64 - RING_TIME_BITS);
	bpf_alu_imm(c, BPF_RSH, R1, 64 - RING_TIME_BITS);
	if (has_texts) {
		bpf_alu(c, BPF_MOV, R2, R8);
		bpf_alu_imm(c, BPF_LSH, R2, RING_TIME_BITS - 3);
	} else {
		bpf_mov64(c, R2, (uint64_t)(bytes / 8) << RING_TIME_BITS);
	}
	bpf_alu(c, BPF_OR, R1, R2);
	bpf_store(c, BPF_DW, R9, 0, R1);
}
