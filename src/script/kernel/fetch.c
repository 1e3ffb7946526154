/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/fetch.c - instructions that take one value.
 *
 * Where the kernel knows the type of a pointer its members are loaded directly, which costs a third
 * of a helper's call; the kernel makes such a load harmless.  A pointer that was loaded is compared
 * with NULL first: that is the failure that happens.  All else is read by helpers.
 */
#include <assert.h>

#include "script/kernel/emit.h"

/* ---------------------------------------------------------------- the stack */

int emit_cell(struct kernel_emit *e, uint32_t cells)
{
	e->used += 8 * cells;
	if (e->used > STACK_MOST + STACK_CELLS) {
		e->failed = true;
		e->used = 8 * cells;
	}
	return STACK_CELLS - (int)e->used;
}

void emit_begin(struct kernel_emit *e, const struct kernel_section *s)
{
	struct bpf_code *c = e->c;

	for (uint32_t i = 0; i < s->capture.n; i++) {
		const struct kernel_fetch *f = &s->capture.fetches[i];

		if (f->base == FETCH_TASK && f->what != FETCH_COMM && f->what != FETCH_STACK &&
		    !e->has_task) {
			bpf_call(c, e->is_trusted ? BPF_FUNC_get_current_task_btf
						  : BPF_FUNC_get_current_task);
			bpf_store(c, BPF_DW, FP, STACK_TASK, R0);
			e->has_task = true;
		}
		if (f->base == FETCH_PID_TGID && !e->has_pid) {
			bpf_call(c, BPF_FUNC_get_current_pid_tgid);
			bpf_store(c, BPF_DW, FP, STACK_PID, R0);
			e->has_pid = true;
		}
	}
	if (s->capture.may_fault)
		bpf_store_imm(c, BPF_DW, FP, STACK_FAULTS, 0);
}

/* ---------------------------------------------------------------- the base */

static int size_code(uint32_t bytes)
{
	return bytes == 1 ? BPF_B : bytes == 2 ? BPF_H : bytes == 4 ? BPF_W : BPF_DW;
}

static void load_base(struct kernel_emit *e, const struct kernel_fetch *f)
{
	struct bpf_code *c = e->c;

	switch (f->base) {
	case FETCH_ARGUMENT:
		bpf_load(c, BPF_DW, R1, R6, 8 * f->at);
		break;
	case FETCH_REGISTER:
		bpf_load(c, BPF_DW, R1, R6, f->at);
		break;
	case FETCH_RESULT:
		bpf_load(c, BPF_DW, R1, R6, e->is_exit ? 8 * f->at : (int)f->number);
		break;
	case FETCH_RECORD:
		bpf_load(c, size_code(f->bytes), R1, R6, f->at);
		break;
	case FETCH_TASK:
		bpf_load(c, BPF_DW, R1, FP, STACK_TASK);
		break;
	case FETCH_NUMBER:
		bpf_mov64(c, R1, (uint64_t)f->number);
		break;
	case FETCH_PID_TGID:
		bpf_load(c, BPF_DW, R1, FP, STACK_PID);
		break;
	default:
		bpf_call(c, f->base == FETCH_UID_GID  ? BPF_FUNC_get_current_uid_gid
			    : f->base == FETCH_CPU    ? BPF_FUNC_get_smp_processor_id
			    : f->base == FETCH_CGROUP ? BPF_FUNC_get_current_cgroup_id
						      : BPF_FUNC_get_attach_cookie);
		bpf_alu(c, BPF_MOV, R1, R0);
	}
}

/* R1 keeps the number's bits, extended to 64. */
static void extend(struct bpf_code *c, uint32_t at, uint32_t bits, bool is_signed)
{
	if (bits == 64)
		return;
	if (at + bits != 64)
		bpf_alu_imm(c, BPF_LSH, R1, (int32_t)(64 - at - bits));
	bpf_alu_imm(c, is_signed ? BPF_ARSH : BPF_RSH, R1, (int32_t)(64 - bits));
}

/* ---------------------------------------------------------------- memory */

static bool is_direct(const struct kernel_emit *e, const struct kernel_fetch *f, uint32_t hop)
{
	return e->is_trusted && f->is_trusted && hop < f->user_from;
}

/* @bytes at R1 + @offset to the address in R4, which a call keeps by no means: @to + @at. */
static void read_memory(struct kernel_emit *e, const struct kernel_fetch *f, uint32_t hop,
			int32_t offset, uint32_t bytes, int to, int at, int failed)
{
	struct bpf_code *c = e->c;

	bpf_alu(c, BPF_MOV, R3, R1);
	if (offset)
		bpf_alu_imm(c, BPF_ADD, R3, offset);
	bpf_alu(c, BPF_MOV, R1, to);
	bpf_alu_imm(c, BPF_ADD, R1, at);
	bpf_alu_imm(c, BPF_MOV, R2, (int32_t)bytes);
	bpf_call(c, hop < f->user_from ? BPF_FUNC_probe_read_kernel
		    : e->is_sleepable  ? BPF_FUNC_copy_from_user
				       : BPF_FUNC_probe_read_user);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, failed);
}

/* Brings the page of the address in R3 into memory; the address stays on the stack. */
static void touch(struct kernel_emit *e)
{
	struct bpf_code *c = e->c;

	bpf_store(c, BPF_DW, FP, STACK_TEXT, R3);
	bpf_alu(c, BPF_MOV, R1, FP);
	bpf_alu_imm(c, BPF_ADD, R1, STACK_READ);
	bpf_alu_imm(c, BPF_MOV, R2, 1);
	bpf_call(c, BPF_FUNC_copy_from_user);
	bpf_load(c, BPF_DW, R3, FP, STACK_TEXT);
}

/* R1 becomes the number of @bytes at R1 + @offset. */
static void load_memory(struct kernel_emit *e, const struct kernel_fetch *f, uint32_t hop,
			int32_t offset, uint32_t bytes, int failed)
{
	struct bpf_code *c = e->c;

	if (is_direct(e, f, hop) && offset >= 0 && offset <= INT16_MAX && !f->bits) {
		bpf_load(c, size_code(bytes), R1, R1, offset);
		return;
	}
	read_memory(e, f, hop, offset, bytes, FP, STACK_READ, failed);
	bpf_load(c, size_code(bytes), R1, FP, STACK_READ);
}

/* R1 becomes the pointer behind all hops. */
static void follow(struct kernel_emit *e, const struct kernel_fetch *f, int failed)
{
	load_base(e, f);
	for (uint32_t i = 0; i < f->n_hops; i++) {
		struct kernel_fetch pointer = *f;

		pointer.bits = 0;
		if (i && is_direct(e, f, i))
			bpf_jump_if_imm(e->c, BPF_JEQ, R1, 0, failed);
		load_memory(e, &pointer, i, f->hops[i], 8, failed);
	}
	if (f->n_hops && f->what != FETCH_VALUE && is_direct(e, f, f->n_hops))
		bpf_jump_if_imm(e->c, BPF_JEQ, R1, 0, failed);
}

static void add_fault(struct kernel_emit *e, const struct kernel_fetch *f, uint32_t number)
{
	if (!f->may_fault)
		return;
	bpf_load(e->c, BPF_DW, R1, FP, STACK_FAULTS);
	bpf_mov64(e->c, R2, 1ull << number);
	bpf_alu(e->c, BPF_OR, R1, R2);
	bpf_store(e->c, BPF_DW, FP, STACK_FAULTS, R1);
}

void emit_number(struct kernel_emit *e, const struct kernel_fetch *f, uint32_t number)
{
	int failed = bpf_label(e->c), done = bpf_label(e->c);
	uint32_t bits = f->bits ? f->bits : 8u * f->bytes;

	follow(e, f, failed);
	if (f->what == FETCH_LOAD)
		load_memory(e, f, f->n_hops, f->offset, f->bytes, failed);
	else if (f->offset)
		bpf_alu_imm(e->c, BPF_ADD, R1, f->offset);
	if (f->bits || f->is_signed || (f->what == FETCH_VALUE && !f->n_hops))
		extend(e->c, f->bit, bits, f->is_signed);
	bpf_jump(e->c, done);
	bpf_put_label(e->c, failed);
	add_fault(e, f, number);
	bpf_alu_imm(e->c, BPF_MOV, R1, 0);
	bpf_put_label(e->c, done);
}

/* ---------------------------------------------------------------- blocks and texts */

static void clear(struct bpf_code *c, int to, int at, uint32_t cells)
{
	for (uint32_t i = 0; i < cells; i++)
		bpf_store_imm(c, BPF_DW, to, at + 8 * (int)i, 0);
}

void emit_bytes(struct kernel_emit *e, const struct kernel_fetch *f, uint32_t number, int to,
		int at)
{
	struct bpf_code *c = e->c;
	int failed = bpf_label(c), done = bpf_label(c);

	if (f->what == FETCH_COMM) {
		bpf_alu(c, BPF_MOV, R1, to);
		bpf_alu_imm(c, BPF_ADD, R1, at);
		bpf_alu_imm(c, BPF_MOV, R2, COMM_BYTES);
		bpf_call(c, BPF_FUNC_get_current_comm);
		bpf_put_label(c, failed);
		bpf_put_label(c, done);
		return;
	}
	if (f->base == FETCH_RECORD) {
		for (uint32_t i = 0; i < f->size; i++) {
			bpf_load(c, BPF_B, R1, R6, f->at + (int)i);
			bpf_store(c, BPF_B, to, at + (int)i, R1);
		}
		bpf_put_label(c, failed);
		bpf_put_label(c, done);
		return;
	}
	follow(e, f, failed);
	if (is_direct(e, f, f->n_hops) && !(f->size % 8) && f->size <= 64 && f->offset >= 0 &&
	    f->offset < INT16_MAX - 64) {
		for (uint32_t i = 0; i < f->size; i += 8) {
			bpf_load(c, BPF_DW, R2, R1, f->offset + (int)i);
			bpf_store(c, BPF_DW, to, at + (int)i, R2);
		}
	} else {
		if (f->size % 8) /* the last cell is not filled */
			bpf_store_imm(c, BPF_DW, to, at + f->size / 8 * 8, 0);
		read_memory(e, f, f->n_hops, f->offset, f->size, to, at, failed);
	}
	bpf_jump(c, done);
	bpf_put_label(c, failed);
	add_fault(e, f, number);
	clear(c, to, at, fetch_cells(f));
	bpf_put_label(c, done);
}

void emit_key_text(struct kernel_emit *e, const struct kernel_fetch *f, int at)
{
	struct bpf_code *c = e->c;
	int failed;

	clear(c, FP, at, COMM_BYTES / 8); /* keys are compared by all bytes, also behind the NUL */
	if (f->what == FETCH_COMM) {	  /* older kernels leave those as they are */
		emit_bytes(e, f, 0, FP, at);
		return;
	}
	failed = bpf_label(c);
	follow(e, f, failed);
	bpf_alu(c, BPF_MOV, R3, R1);
	bpf_alu_imm(c, BPF_ADD, R3, f->offset);
	bpf_alu(c, BPF_MOV, R1, FP);
	bpf_alu_imm(c, BPF_ADD, R1, at);
	bpf_alu_imm(c, BPF_MOV, R2, COMM_BYTES);
	bpf_call(c, BPF_FUNC_probe_read_kernel_str);
	bpf_put_label(c, failed);
}

/* R1 becomes R9 + R8, R2 the most bytes. */
static void set_destination(struct bpf_code *c, uint32_t size)
{
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu(c, BPF_ADD, R1, R8);
	bpf_alu_imm(c, BPF_MOV, R2, (int32_t)size);
}

static void take_stack(struct kernel_emit *e, const struct kernel_fetch *f)
{
	struct bpf_code *c = e->c;

	bpf_alu(c, BPF_MOV, R1, R6);
	bpf_alu(c, BPF_MOV, R2, R9);
	bpf_alu(c, BPF_ADD, R2, R8);
	bpf_alu_imm(c, BPF_MOV, R3, 8 * FETCH_STACK_MAX);
	bpf_alu_imm(c, BPF_MOV, R4, f->user_from == FETCH_NEVER_USER ? 0 : BPF_F_USER_STACK);
	bpf_call(c, BPF_FUNC_get_stack);
}

void emit_text(struct kernel_emit *e, const struct kernel_fetch *f, uint32_t number, int cell)
{
	struct bpf_code *c = e->c;
	int failed = bpf_label(c), done = bpf_label(c);

	if (f->what == FETCH_STACK) {
		take_stack(e, f);
	} else if (f->what == FETCH_DATA_LOC) {
		bpf_load(c, BPF_W, R3, R6, f->at);
		bpf_alu_imm(c, BPF_AND, R3, 0xffff);
		bpf_alu(c, BPF_ADD, R3, R6);
		set_destination(c, f->size);
		bpf_call(c, BPF_FUNC_probe_read_kernel_str);
	} else {
		follow(e, f, failed);
		bpf_alu(c, BPF_MOV, R3, R1);
		if (f->offset)
			bpf_alu_imm(c, BPF_ADD, R3, f->offset);
		if (e->is_sleepable && f->user_from <= f->n_hops)
			touch(e);
		set_destination(c, f->size);
		bpf_call(c, f->user_from <= f->n_hops ? BPF_FUNC_probe_read_user_str
						      : BPF_FUNC_probe_read_kernel_str);
	}
	bpf_jump_if_imm(c, BPF_JSLE, R0, 0, failed);
	bpf_store(c, BPF_DW, R9, cell, R0);
	bpf_alu(c, BPF_ADD, R8, R0);
	bpf_jump(c, done);
	bpf_put_label(c, failed);
	add_fault(e, f, number);
	bpf_store_imm(c, BPF_DW, R9, cell, 0);
	bpf_put_label(c, done);
}
