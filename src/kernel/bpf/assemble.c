/* SPDX-License-Identifier: MIT */
/* kernel/bpf/assemble.c - the programs for following children and for the scheduler's events.
 *
 * A field of a record is filled by a recipe for its name; an event with an unknown field has no
 * program. See assemble.h. */
#include "kernel/bpf/assemble.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "kernel/bpf/filter.h"
#include "kernel/bpf/parts.h"
#include "kernel/convert/layout.h"

void bpf_plan_layout(struct bpf_plan *p, const struct btf *b)
{
	int info = btf_member(b, "task_struct", "thread_info"),
	    cpu = btf_member(b, "thread_info", "cpu");
	int status = btf_member(b, "thread_info", "status");

	p->task_pid = btf_member(b, "task_struct", "pid");
	p->task_comm = btf_member(b, "task_struct", "comm");
	p->task_prio = btf_member(b, "task_struct", "prio");
	p->has_sigaction = !btf_member(b, "k_sigaction", "sa") &&
			   !btf_member(b, "sigaction", "sa_handler") &&
			   btf_member(b, "sigaction", "sa_flags") == 8;
	p->task_exit_state = btf_member(b, "task_struct", "exit_state");
	p->task_cpu = info < 0 || cpu < 0 ? -ENOENT : info + cpu;
	p->task_status = info < 0 || status < 0 ? -ENOENT : info + status;
	if (!p->has_extra)
		return;
	p->file.files = btf_member(b, "task_struct", "files");
	p->file.fdt = btf_member(b, "files_struct", "fdt");
	p->file.max_fds = btf_member(b, "fdtable", "max_fds");
	p->has_table = p->file.files >= 0 && p->file.fdt >= 0 && p->file.max_fds >= 0;
}

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
	bpf_jump_if_followed(c, p, is_followed);
	bpf_jump(c, leave);
	bpf_put_label(c, is_followed);
	bpf_load(c, BPF_W, R1, R6, p->task_pid);
	bpf_find_pid(c, p, R2);
	bpf_alu_imm(c, BPF_MOV, R4, 1);
	bpf_alu(c, BPF_LSH, R4, R1);
	bpf_atomic(c, BPF_OR, R2, 0, R4);
	bpf_end(c, leave);
}

void bpf_program_free(struct bpf_code *c, const struct bpf_plan *p)
{
	int leave;

	bpf_code_begin(c);
	leave = bpf_label(c);
	bpf_load(c, BPF_DW, R1, R1, 0);
	bpf_load(c, BPF_W, R1, R1, p->task_pid);
	bpf_find_pid(c, p, R2);
	bpf_alu_imm(c, BPF_MOV, R4, 1);
	bpf_alu(c, BPF_LSH, R4, R1);
	bpf_alu_imm(c, BPF_XOR, R4, -1);
	bpf_atomic(c, BPF_AND, R2, 0, R4);
	bpf_end(c, leave);
}

/* ---------------------------------------------------------------- scheduling */

enum source { TASK_COMM, TASK_PID, TASK_PRIO, TASK_CPU, TASK_STATE };

/* How to fill a field of a record from the task in argument @task. */
struct recipe {
	const char *event, *field;
	uint8_t size, task;
	uint8_t source;
};

static const struct recipe recipes[] = {
	{ "sched_switch", "prev_comm", 16, 1, TASK_COMM },
	{ "sched_switch", "prev_pid", 4, 1, TASK_PID },
	{ "sched_switch", "prev_prio", 4, 1, TASK_PRIO },
	{ "sched_switch", "prev_state", 8, 1, TASK_STATE },
	{ "sched_switch", "next_comm", 16, 2, TASK_COMM },
	{ "sched_switch", "next_pid", 4, 2, TASK_PID },
	{ "sched_switch", "next_prio", 4, 2, TASK_PRIO },
	{ "sched_waking", "comm", 16, 0, TASK_COMM },
	{ "sched_waking", "pid", 4, 0, TASK_PID },
	{ "sched_waking", "prio", 4, 0, TASK_PRIO },
	{ "sched_waking", "target_cpu", 4, 0, TASK_CPU },
	{ "sched_wakeup", "comm", 16, 0, TASK_COMM },
	{ "sched_wakeup", "pid", 4, 0, TASK_PID },
	{ "sched_wakeup", "prio", 4, 0, TASK_PRIO },
	{ "sched_wakeup", "target_cpu", 4, 0, TASK_CPU },
	{ "sched_wakeup_new", "comm", 16, 0, TASK_COMM },
	{ "sched_wakeup_new", "pid", 4, 0, TASK_PID },
	{ "sched_wakeup_new", "prio", 4, 0, TASK_PRIO },
	{ "sched_wakeup_new", "target_cpu", 4, 0, TASK_CPU },
};

static const struct recipe *recipe_of(const char *event, const struct kernel_field *f)
{
	for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
		if (!strcmp(recipes[i].event, event) && !strcmp(recipes[i].field, f->name))
			return recipes[i].size == f->size && f->place == KERNEL_IN_RECORD
				       ? &recipes[i]
				       : NULL;
	return NULL;
}

bool bpf_has_event(const char *system, const char *event)
{
	for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
		if (!strcmp(recipes[i].event, event))
			return !strcmp(system, "sched");
	return false;
}

/* R2 becomes the kernel's name for the state of the previous task, which is in R8: the highest of
 * the reported bits, as in __trace_sched_switch_state in its include/trace/events/sched.h. */
static void load_state(struct bpf_code *c, const struct bpf_plan *p)
{
	enum {
		REPORTED = 0x7f,
		IDLE = 0x402,
		REPORTED_IDLE = 0x80,
		PREEMPTED = 0x100,
		LIKE_BLOCKED = 0x9000,
		BLOCKED = 2
	};
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
}

/* The offset of a number in a task. */
static int place_of(const struct bpf_plan *p, int source)
{
	return source == TASK_PID ? p->task_pid : source == TASK_PRIO ? p->task_prio : p->task_cpu;
}

/* Stores one field of the record at R9, from the task in R8. */
static void store_field(struct bpf_code *c, const struct bpf_plan *p, int source, int offset)
{
	if (source == TASK_STATE) {
		load_state(c, p);
		bpf_store(c, BPF_DW, R9, offset, R2);
	} else if (source == TASK_COMM) {
		for (int i = 0; i < 16; i += 8) {
			bpf_load(c, BPF_DW, R1, R8, p->task_comm + i);
			bpf_store(c, BPF_DW, R9, offset + i, R1);
		}
	} else {
		bpf_load(c, BPF_W, R1, R8, place_of(p, source));
		bpf_store(c, BPF_W, R9, offset, R1);
	}
}

/* ---------------------------------------------------------------- filters */

struct event_fields {
	struct bpf_filter_fields fields;
	const struct bpf_plan *plan;
	const struct kernel_format *format;
};

static bool find_field(const struct bpf_filter_fields *fields, const char *shown,
		       struct bpf_filter_field *field)
{
	const struct event_fields *e = (const struct event_fields *)fields;
	const char *name = kernel_layout_kernel_name("sched", shown);

	for (int i = 0; i < e->format->n_fields; i++) {
		const struct kernel_field *f = &e->format->fields[i];
		const struct recipe *r =
			strcmp(f->name, name) ? NULL : recipe_of(e->format->name, f);

		if (!r)
			continue;
		*field = (struct bpf_filter_field){ .size = r->size,
						    .is_text = r->source == TASK_COMM,
						    .shift = kernel_layout_shift(name),
						    .number = (int)(r - recipes) };
		return field->is_text || f->is_signed;
	}
	return false;
}

static void load_field(const struct bpf_filter_fields *fields, struct bpf_code *c,
		       const struct bpf_filter_field *field)
{
	const struct bpf_plan *p = ((const struct event_fields *)fields)->plan;
	const struct recipe *r = &recipes[field->number];

	bpf_load(c, BPF_DW, R8, R6, 8 * r->task);
	if (r->source == TASK_COMM) {
		bpf_alu_imm(c, BPF_ADD, R8, p->task_comm);
	} else if (r->source == TASK_STATE) {
		load_state(c, p);
		bpf_alu(c, BPF_MOV, R1, R2);
	} else {
		bpf_load(c, BPF_W, R1, R8, place_of(p, r->source));
		bpf_alu_imm(c, BPF_LSH, R1, 32);
		bpf_alu_imm(c, BPF_ARSH, R1, 32);
	}
}

static bool is_laid_out(const struct bpf_plan *p)
{
	return p->task_pid >= 0 && p->task_comm >= 0 && p->task_prio >= 0 &&
	       p->task_exit_state >= 0 && p->task_cpu >= 0;
}

int bpf_program_event(struct bpf_code *c, const struct bpf_plan *p, const struct kernel_format *f,
		      const char *filter)
{
	const struct event_fields fields = { { find_field, load_field }, p, f };
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
	bpf_leave_if_off(c, p, leave);
	bpf_leave_if_no_task_followed(c, p, task, leave);
	if (filter && bpf_filter(c, filter, &fields.fields, leave))
		return -EOPNOTSUPP;
	bpf_get_ring(c, p, leave);
	bpf_reserve(c, p, size, leave);
	bpf_store_common(c, R9, 0, f->id);
	for (int i = 0; i < f->n_fields; i++) {
		const struct recipe *r = recipe_of(f->name, &f->fields[i]);

		if (r->task != loaded)
			bpf_load(c, BPF_DW, R8, R6, 8 * r->task);
		loaded = r->task;
		store_field(c, p, r->source, RECORD + f->fields[i].offset);
	}
	bpf_publish(c, size);
	bpf_end(c, leave);
	return 0;
}
