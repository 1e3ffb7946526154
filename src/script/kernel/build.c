/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/build.c - the program of a site: its sections, one behind the other.
 *
 * The program of system calls begins with a table: a bit for each section that the call is of.  So
 * a call without probes costs a few instructions, and forty probes no more than one.
 */
#include <asm/ptrace.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "script/kernel/emit.h"

/* The number of the probe that an event of this section is of, to STACK_PROBE if it is not always
 * the same.  Returns it, or -1. */
static int64_t probe_number(struct kernel_emit *e, const struct kernel_site *site,
			    const struct kernel_section *s)
{
	struct bpf_code *c = e->c;

	if (s->n_probes == 1)
		return s->probes[0];
	if (site->point->kind == KIND_CALL) { /* R8 is the call's number, below CALL_TABLE */
		bpf_load_map_value(c, R1, e->control, s->table_at);
		bpf_alu(c, BPF_ADD, R1, R8);
		bpf_alu(c, BPF_ADD, R1, R8);
		bpf_load(c, BPF_H, R1, R1, 0);
	} else { /* a function of a program: given when it was attached */
		bpf_alu(c, BPF_MOV, R1, R6);
		bpf_call(c, BPF_FUNC_get_attach_cookie);
		bpf_alu(c, BPF_MOV, R1, R0);
	}
	bpf_store(c, BPF_DW, FP, STACK_PROBE, R1);
	return -1;
}

/* Puts the values of the test on the stack and leaves if it does not hold.  A value that could not be
 * read is for the machine to report. */
static void test(struct kernel_emit *e, const struct kernel_section *s, int skip)
{
	struct bpf_code *c = e->c;
	int go_on = bpf_label(c);

	emit_needed(e, s, s->test);
	if (s->capture.may_fault) {
		bpf_load(c, BPF_DW, R1, FP, STACK_FAULTS);
		bpf_jump_if_imm(c, BPF_JNE, R1, 0, go_on);
	}
	emit_expression(e, s, s->test);
	bpf_jump_if_imm(c, s->is_test_negated ? BPF_JNE : BPF_JEQ, R0, 0, skip);
	bpf_put_label(c, go_on);
}

static void store_fetch(struct kernel_emit *e, const struct kernel_section *s, uint32_t i)
{
	const struct kernel_fetch *f = &s->capture.fetches[i];
	int to = RECORD_CELLS + 8 * s->capture.cell[i];

	if (fetch_is_long(f))
		return emit_text(e, f, i, to);
	if (fetch_is_text(f)) /* also if the test has a copy: that one ends at its NUL */
		return emit_bytes(e, f, i, R9, to);
	if (e->at[i])
		bpf_load(e->c, BPF_DW, R1, FP, e->at[i]);
	else
		emit_number(e, f, i);
	bpf_store(e->c, BPF_DW, R9, to, R1);
}

static void store_head(struct kernel_emit *e, const struct kernel_section *s, int64_t probe)
{
	struct bpf_code *c = e->c;

	if (probe >= 0)
		bpf_alu_imm(c, BPF_MOV, R1, (int32_t)probe);
	else
		bpf_load(c, BPF_DW, R1, FP, STACK_PROBE);
	if (s->capture.may_fault) {
		bpf_load(c, BPF_DW, R2, FP, STACK_FAULTS);
		bpf_alu_imm(c, BPF_LSH, R2, HEAD_FAULTS);
		bpf_alu(c, BPF_OR, R1, R2);
	}
	bpf_store(c, BPF_DW, R9, RECORD_HEAD, R1);
}

static void record(struct kernel_emit *e, const struct kernel_source *source,
		   const struct kernel_section *s, int64_t probe, int64_t lost, int skip)
{
	const struct kernel_capture *p = &s->capture;

	emit_reserve(e, p->bytes, lost, source->losses_at, skip);
	if (p->has_texts)
		bpf_alu_imm(e->c, BPF_MOV, R8, RECORD_CELLS + 8 * (int32_t)p->n_cells);
	for (uint32_t i = 0; i < p->n; i++)
		if (p->fetches[i].base != FETCH_CPU || fetch_is_text(&p->fetches[i]))
			store_fetch(e, s, i);
	store_head(e, s, probe);
	emit_publish(e, p->bytes, p->has_texts);
}

static void section(struct kernel_emit *e, const struct kernel_source *source,
		    const struct kernel_site *site, const struct kernel_section *s, int skip)
{
	bool has_task = e->has_task, has_pid = e->has_pid;
	int64_t probe = probe_number(e, site, s);
	int64_t lost = probe < 0 ? -1 : (int64_t)source->losses_at + 8 * probe;

	e->used = 0;
	memset(e->at, 0, sizeof e->at);
	emit_begin(e, s);
	if (s->is_folded) {
		emit_fold(e, source, s, lost, skip);
	} else {
		if (s->test)
			test(e, s, skip);
		record(e, source, s, probe, lost, skip);
	}
	e->has_task = has_task;
	e->has_pid = has_pid;
}

/* ---------------------------------------------------------------- for whom */

/* Events of this process itself would make it write, which would make more of them. */
static void leave_if_own(struct kernel_emit *e, int leave)
{
	struct bpf_code *c = e->c;

	if (!e->own)
		return;
	bpf_call(c, BPF_FUNC_get_current_pid_tgid);
	bpf_store(c, BPF_DW, FP, STACK_PID, R0);
	e->has_pid = true;
	bpf_alu_imm(c, BPF_RSH, R0, 32);
	bpf_jump_if_imm(c, BPF_JEQ, R0, (int32_t)e->own, leave);
}

static void leave_if_other(struct kernel_emit *e, const struct kernel_source *source,
			   const struct kernel_point *p, int leave)
{
	pid_t pid = p->kind == KIND_TRACE ? kernel_point_pid(source->k, p) : 0;
	struct bpf_code *c = e->c;
	uint8_t comm[COMM_BYTES] = { 0 };
	uint64_t word;

	if (pid || p->is_leader_only) {
		bpf_call(c, BPF_FUNC_get_current_pid_tgid);
		bpf_store(c, BPF_DW, FP, STACK_PID, R0);
		e->has_pid = true;
		bpf_alu(c, BPF_MOV, R1, R0);
		bpf_alu_imm(c, BPF_RSH, R1, 32);
		if (pid)
			bpf_jump_if_imm(c, BPF_JNE, R1, pid, leave);
		bpf_alu_imm(c, BPF_LSH, R0, 32);
		bpf_alu_imm(c, BPF_RSH, R0, 32);
		if (p->is_leader_only)
			bpf_jump_if(c, BPF_JNE, R0, R1, leave);
	}
	if (!p->program)
		return;
	memcpy(comm, p->program, strnlen(p->program, COMM_BYTES - 1));
	for (int i = 0; i < COMM_BYTES; i += 8) /* older kernels leave the bytes behind the NUL */
		bpf_store_imm(c, BPF_DW, FP, STACK_CELLS - COMM_BYTES + i, 0);
	bpf_alu(c, BPF_MOV, R1, FP);
	bpf_alu_imm(c, BPF_ADD, R1, STACK_CELLS - COMM_BYTES);
	bpf_alu_imm(c, BPF_MOV, R2, COMM_BYTES);
	bpf_call(c, BPF_FUNC_get_current_comm);
	for (int i = 0; i < COMM_BYTES; i += 8) {
		memcpy(&word, comm + i, 8);
		bpf_load(c, BPF_DW, R1, FP, STACK_CELLS - COMM_BYTES + i);
		bpf_mov64(c, R2, word);
		bpf_jump_if(c, BPF_JNE, R1, R2, leave);
	}
}

/* ---------------------------------------------------------------- system calls */

#if defined __x86_64__
enum { USER_64 = 0x33, CS_AT = offsetof(struct pt_regs, cs) };

/* The numbers of 32-bit programs' calls are others. */
static void leave_if_32_bit(struct kernel_emit *e, int leave)
{
	const struct kernel_fetch cs = { .base = FETCH_ARGUMENT,
					 .what = FETCH_LOAD,
					 .offset = CS_AT,
					 .bytes = 2,
					 .user_from = FETCH_NEVER_USER,
					 .is_trusted = false };

	if (e->is_trusted) {
		bpf_load(e->c, BPF_DW, R1, R6, 0);
		bpf_load(e->c, BPF_H, R1, R1, CS_AT);
	} else {
		emit_number(e, &cs, 0);
	}
	bpf_jump_if_imm(e->c, BPF_JNE, R1, USER_64, leave);
}
#else
static void leave_if_32_bit(struct kernel_emit *e, int leave)
{
	(void)e;
	(void)leave;
}
#endif

static void calls(struct kernel_emit *e, const struct kernel_source *source,
		  const struct kernel_site *site, int leave)
{
	const struct kernel_fetch number = kernel_call_number();
	struct bpf_code *c = e->c;

	if (site->point->is_return)
		emit_number(e, &number, 0);
	else
		bpf_load(c, BPF_DW, R1, R6, 8);
	bpf_jump_if_imm(c, BPF_JGE, R1, CALL_TABLE, leave);
	bpf_alu(c, BPF_MOV, R8, R1);
	bpf_load_map_value(c, R2, e->control, site->masks_at);
	bpf_alu_imm(c, BPF_LSH, R1, 3);
	bpf_alu(c, BPF_ADD, R2, R1);
	bpf_load(c, BPF_DW, R9, R2, 0);
	bpf_jump_if_imm(c, BPF_JEQ, R9, 0, leave);
	bpf_store(c, BPF_DW, FP, STACK_MASK, R9);
	leave_if_32_bit(e, leave);
	leave_if_own(e, leave);
	for (uint32_t i = 0; i < site->n; i++) {
		int skip = bpf_label(c);

		if (site->n > 1 || site->first) {
			bpf_load(c, BPF_DW, R1, FP, STACK_MASK);
			bpf_alu_imm(c, BPF_RSH, R1, (int32_t)(site->first + i));
			bpf_alu_imm(c, BPF_AND, R1, 1);
			bpf_jump_if_imm(c, BPF_JEQ, R1, 0, skip);
		}
		if (i) { /* texts of a section before this one took R8 */
			if (site->point->is_return) {
				emit_number(e, &number, 0);
				bpf_alu(c, BPF_MOV, R8, R1);
			} else {
				bpf_load(c, BPF_DW, R8, R6, 8);
			}
			bpf_jump_if_imm(c, BPF_JGE, R8, CALL_TABLE, leave);
		}
		section(e, source, site, site->sections[i], skip);
		bpf_put_label(c, skip);
	}
}

int kernel_build(struct kernel_source *s, const struct kernel_site *site, bool is_trusted,
		 bool is_sleepable, struct bpf_code *c)
{
	struct kernel_emit e = { .c = c,
				 .source = s,
				 .rings = s->rings_map,
				 .control = s->control_map,
				 .ring_bytes = s->ring_bytes,
				 .is_trusted = is_trusted,
				 .is_sleepable = is_sleepable,
				 .is_exit = site->is_exit,
				 .loss_rooms = s->loss_rooms,
				 .own = s->own };
	int leave;

	bpf_code_begin(c);
	leave = bpf_label(c);
	bpf_alu(c, BPF_MOV, R6, R1);
	if (site->point->kind == KIND_CALL) {
		calls(&e, s, site, leave);
	} else {
		leave_if_other(&e, s, site->point, leave);
		for (uint32_t i = 0; i < site->n; i++) {
			int skip = bpf_label(c);

			section(&e, s, site, site->sections[i], skip);
			bpf_put_label(c, skip);
		}
	}
	bpf_put_label(c, leave);
	bpf_alu_imm(c, BPF_MOV, R0, 0);
	bpf_exit(c);
	if (e.failed || bpf_code_end(c))
		return -E2BIG;
	bpf_code_prune(c);
	return 0;
}
