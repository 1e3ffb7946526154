/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/lives.c - the programs for births, names and ends of threads.
 *
 * They are used where they make an instance unnecessary (kernel/setup_recorders.c). An instance has
 * buffers of its own for these rare events, so here a part of each ring is kept for them:
 * bpf_plan.ring_kept.
 *
 * In some kernels a name is 16 bytes in the record, in others a text behind it. Behind the fixed fields
 * each name has a room of a fixed size; the ring is clear, so a shorter one has its NUL. A path is read
 * before its record is reserved, which is then as long as the path: with longer ones a recorder that waits
 * for a CPU loses execs.
 */
#include "kernel/bpf/assemble.h"

#include <errno.h>
#include <string.h>

#include "kernel/bpf/parts.h"

enum { NAME_BYTES = 16, FIXED_MAX = 512 };

enum source { NUMBER, PRIORITY, SCORE, NAME, ARGUMENT, NEW_NAME, PATH };

/* How to fill a field from argument @arg of the tracepoint: that is a task, unless @source is one of
 * the last three. */
struct recipe {
	const char *system, *event, *field;
	uint8_t source, arg;
};

static const struct recipe recipes[] = {
	{ "sched", "sched_process_fork", "parent_comm", NAME, 0 },
	{ "sched", "sched_process_fork", "parent_pid", NUMBER, 0 },
	{ "sched", "sched_process_fork", "child_comm", NAME, 1 },
	{ "sched", "sched_process_fork", "child_pid", NUMBER, 1 },
	{ "sched", "sched_process_exec", "filename", PATH, 2 },
	{ "sched", "sched_process_exec", "pid", NUMBER, 0 },
	{ "sched", "sched_process_exec", "old_pid", ARGUMENT, 1 },
	{ "sched", "sched_process_exit", "comm", NAME, 0 },
	{ "sched", "sched_process_exit", "pid", NUMBER, 0 },
	{ "sched", "sched_process_exit", "prio", PRIORITY, 0 },
	{ "sched", "sched_process_exit", "group_dead", ARGUMENT, 1 },
	{ "task", "task_newtask", "pid", NUMBER, 0 },
	{ "task", "task_newtask", "comm", NAME, 0 },
	{ "task", "task_newtask", "clone_flags", ARGUMENT, 1 },
	{ "task", "task_newtask", "oom_score_adj", SCORE, 0 },
	{ "task", "task_rename", "pid", NUMBER, 0 },
	{ "task", "task_rename", "oldcomm", NAME, 0 },
	{ "task", "task_rename", "newcomm", NEW_NAME, 1 },
	{ "task", "task_rename", "oom_score_adj", SCORE, 0 },
};

bool bpf_has_life(const char *system, const char *event)
{
	for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
		if (!strcmp(recipes[i].event, event) && !strcmp(recipes[i].system, system))
			return true;
	return false;
}

void bpf_plan_lives(struct bpf_plan *p, const struct btf *b)
{
	p->has_lives = true;
	p->task_signal = btf_member(b, "task_struct", "signal");
	p->score = btf_member(b, "signal_struct", "oom_score_adj");
	p->path = btf_member(b, "linux_binprm", "filename");
}

static bool fits(const struct recipe *r, const struct kernel_field *f)
{
	bool is_here = f->place == KERNEL_IN_RECORD;

	switch (r->source) {
	case NUMBER:
	case PRIORITY:
		return is_here && f->size == 4;
	case SCORE:
		return is_here && f->size == 2;
	case NEW_NAME:
		return is_here && f->size == NAME_BYTES;
	case NAME:
		return f->place == KERNEL_DATA_LOC || (is_here && f->size == NAME_BYTES);
	case ARGUMENT:
		return is_here && (f->size == 1 || f->size == 4 || f->size == 8);
	default:
		return f->place == KERNEL_DATA_LOC;
	}
}

static const struct recipe *recipe_of(const char *event, const struct kernel_field *f)
{
	for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
		if (!strcmp(recipes[i].event, event) && !strcmp(recipes[i].field, f->name))
			return fits(&recipes[i], f) ? &recipes[i] : NULL;
	return NULL;
}

/* A path has none: it comes last. */
static int room_of(const struct recipe *r, const struct kernel_field *f)
{
	return f->place == KERNEL_IN_RECORD || r->source == PATH ? 0 : NAME_BYTES;
}

/*
 * The texts of a record begin behind its fixed fields. -1: the kernel has another format. @size: without its
 * path. @path: its recipe, or NULL.
 */
static int find_texts(const struct bpf_plan *p, const struct kernel_format *f, int *size,
		      const struct recipe **path)
{
	int end = KERNEL_COMMON_SIZE, rooms = 0;

	*path = NULL;

	for (int i = 0; i < f->n_fields; i++) {
		const struct kernel_field *field = &f->fields[i];
		const struct recipe *r = recipe_of(f->name, field);

		if (!r || (r->source == SCORE && (p->task_signal < 0 || p->score < 0)) ||
		    (r->source == PATH && (p->path < 0 || *path)))
			return -1;
		if (r->source == PATH)
			*path = r;
		if (field->offset + field->size > end)
			end = field->offset + field->size;
		rooms += room_of(r, field);
	}
	end = (end + BPF_RING_UNIT - 1) & -BPF_RING_UNIT;
	*size = RECORD + end + rooms;
	return f->n_fields && end <= 256 && rooms <= FIXED_MAX - 256 && p->task_pid >= 0 &&
			       p->task_comm >= 0 && p->task_prio >= 0
		       ? end
		       : -1;
}

/* ---------------------------------------------------------------- one field */

static int width_of(unsigned size)
{
	return size == 8 ? BPF_DW : size == 4 ? BPF_W : size == 2 ? BPF_H : BPF_B;
}

/* Stores the word that locates @size bytes at @at of the record. */
static void store_word(struct bpf_code *c, int to, int at, int size)
{
	bpf_mov64(c, R1, (uint64_t)size << 16 | (uint64_t)at);
	bpf_store(c, BPF_W, R9, to, R1);
}

/* Reads a text at the address in R3 to the address in R1. R0 becomes its length with the NUL. */
static void read_text(struct bpf_code *c, int room)
{
	int is_read = bpf_label(c);

	bpf_alu_imm(c, BPF_MOV, R2, room);
	bpf_call(c, BPF_FUNC_probe_read_kernel_str);
	bpf_jump_if_imm(c, BPF_JSGT, R0, 0, is_read);
	bpf_alu_imm(c, BPF_MOV, R0, 1); /* "" */
	bpf_put_label(c, is_read);
}

/* Reads the path into the ring's own room, where this program alone writes: it does not interrupt itself.
 * R8 becomes the size of the record, which has @size bytes without it. */
static void read_path(struct bpf_code *c, const struct bpf_plan *p, int arg, int size)
{
	bpf_load(c, BPF_DW, R3, R6, 8 * arg);
	bpf_load(c, BPF_DW, R3, R3, p->path);
	bpf_alu(c, BPF_MOV, R1, R7);
	bpf_alu_imm(c, BPF_ADD, R1, offsetof(struct bpf_ring, path));
	read_text(c, BPF_PATH_MAX);
	bpf_store(c, BPF_DW, FP, STACK_COUNT, R0);
	bpf_alu(c, BPF_MOV, R8, R0);
	bpf_alu_imm(c, BPF_ADD, R8, size + BPF_RING_UNIT - 1);
	bpf_alu_imm(c, BPF_AND, R8, -BPF_RING_UNIT);
}

/* At @at of the record; the word at @to locates it. */
static void store_path(struct bpf_code *c, int to, int at, int leave)
{
	bpf_load(c, BPF_DW, R2, FP, STACK_COUNT);
	bpf_jump_if_imm(c, BPF_JGT, R2, BPF_PATH_MAX, leave); /* never */
	bpf_alu(c, BPF_MOV, R1, R2);
	bpf_alu_imm(c, BPF_LSH, R1, 16);
	bpf_alu_imm(c, BPF_OR, R1, at);
	bpf_store(c, BPF_W, R9, to, R1);
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_ADD, R1, RECORD + at);
	bpf_alu(c, BPF_MOV, R3, R7);
	bpf_alu_imm(c, BPF_ADD, R3, offsetof(struct bpf_ring, path));
	bpf_call(c, BPF_FUNC_probe_read_kernel);
}

/* A task's name, 16 bytes, to @to of the record's word on. */
static void store_name(struct bpf_code *c, const struct bpf_plan *p, int arg, int to)
{
	bpf_load(c, BPF_DW, R2, R6, 8 * arg);
	for (int i = 0; i < NAME_BYTES; i += 8) {
		bpf_load(c, BPF_DW, R1, R2, p->task_comm + i);
		bpf_store(c, BPF_DW, R9, to + i, R1);
	}
}

static void store_number(struct bpf_code *c, const struct bpf_plan *p, const struct recipe *r,
			 const struct kernel_field *f)
{
	bpf_load(c, BPF_DW, R1, R6, 8 * r->arg);
	if (r->source == NUMBER)
		bpf_load(c, BPF_W, R1, R1, p->task_pid);
	else if (r->source == PRIORITY)
		bpf_load(c, BPF_W, R1, R1, p->task_prio);
	else if (r->source == SCORE) {
		bpf_load(c, BPF_DW, R1, R1, p->task_signal);
		bpf_load(c, BPF_H, R1, R1, p->score);
	}
	bpf_store(c, width_of(f->size), R9, RECORD + f->offset, R1);
}

/* @at: of the text's room, if the field has one. */
static void store_field(struct bpf_code *c, const struct bpf_plan *p, const struct recipe *r,
			const struct kernel_field *f, int at)
{
	int to = RECORD + f->offset;

	if (r->source == NEW_NAME) {
		bpf_load(c, BPF_DW, R3, R6, 8 * r->arg);
		bpf_alu(c, BPF_MOV, R1, R9);
		bpf_alu_imm(c, BPF_ADD, R1, to);
		read_text(c, NAME_BYTES);
	} else if (r->source == NAME && f->place != KERNEL_IN_RECORD) {
		store_word(c, to, at, NAME_BYTES);
		store_name(c, p, r->arg, RECORD + at);
	} else if (r->source == NAME) {
		store_name(c, p, r->arg, to);
	} else {
		store_number(c, p, r, f);
	}
}

/* As with tracefs' set_event_pid, the running thread must be followed. */
int bpf_program_life(struct bpf_code *c, const struct bpf_plan *plan, const struct kernel_format *f)
{
	struct bpf_plan p = *plan;
	const struct recipe *path;
	int size, leave, path_word = 0, at = find_texts(&p, f, &size, &path);

	if (at < 0)
		return -EOPNOTSUPP;
	p.ring_kept = 0;
	bpf_code_begin(c);
	leave = bpf_label(c);
	bpf_alu(c, BPF_MOV, R6, R1);
	bpf_leave_if_off(c, &p, leave);
	bpf_leave_if_not_followed(c, &p, leave);
	bpf_get_ring(c, &p, leave);
	if (path)
		read_path(c, &p, path->arg, size);
	bpf_reserve(c, &p, path ? 0 : size, leave);
	bpf_store_common(c, R9, 0, f->id);
	for (int i = 0; i < f->n_fields; i++) {
		const struct recipe *r = recipe_of(f->name, &f->fields[i]);

		if (r == path)
			path_word = RECORD + f->fields[i].offset;
		else
			store_field(c, &p, r, &f->fields[i], at);
		at += room_of(r, &f->fields[i]);
	}
	if (path)
		store_path(c, path_word, at, leave);
	bpf_publish(c, path ? 0 : size);
	bpf_end(c, leave);
	return 0;
}

_Static_assert(RECORD + (int)FIXED_MAX + (int)BPF_PATH_MAX <= (int)BPF_RECORD_MAX,
	       "a record is of a possible size");
