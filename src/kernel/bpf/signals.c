/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/signals.c - the program for a signal that is sent or delivered.
 *
 * The record has the fields of the tracepoint's format and behind them the kernel's siginfo:
 * address of a fault, sender, status of a child. The tracepoint has two of its numbers only.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "kernel/bpf/assemble.h"
#include "kernel/bpf/bpf.h"
#include "kernel/bpf/parts.h"

/* Arguments of the tracepoints, 8 bytes each. */
enum {
	ARG_SIGNAL = 0,
	ARG_INFO = 8,
	ARG_ACTION = 16,
	ARG_TASK = 16,
	ARG_GROUP = 24,
	ARG_RESULT = 32
};
enum { INFO_ERRNO = 4, INFO_CODE = 8, BY_KERNEL = 0x80 };

enum what { SIGNAL, ERRNO, CODE, ACTION, ACTION_FLAGS, COMM, PID, GROUP, RESULT };

static const struct {
	const char *field;
	uint8_t size;
	enum what what;
} fields[] = {
	{ "sig", 4, SIGNAL },	     { "errno", 4, ERRNO },	      { "code", 4, CODE },
	{ "sa_handler", 8, ACTION }, { "sa_flags", 8, ACTION_FLAGS }, { "comm", 16, COMM },
	{ "pid", 4, PID },	     { "group", 4, GROUP },	      { "result", 4, RESULT },
};

static int find(const struct kernel_field *f)
{
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (!strcmp(fields[i].field, f->name) && fields[i].size == f->size &&
		    f->place == KERNEL_IN_RECORD)
			return (int)i;
	return -1;
}

uint16_t kernel_bpf_siginfo_at(const struct kernel_format *f)
{
	unsigned end = KERNEL_COMMON_SIZE;

	for (int i = 0; i < f->n_fields; i++)
		if (f->fields[i].offset + f->fields[i].size > end)
			end = f->fields[i].offset + f->fields[i].size;
	return (uint16_t)((end + 7) & ~7u);
}

/* R1 becomes the code. The kernel may pass 0 for a user's signal or 1 for its own instead of a
 * siginfo's address; then there is no siginfo to read. */
static void load_code(struct bpf_code *c, int info)
{
	int is_read = bpf_label(c), done = bpf_label(c);

	bpf_load(c, BPF_W, R1, R9, info);
	bpf_jump_if_imm(c, BPF_JNE, R1, 0, is_read);
	bpf_load(c, BPF_DW, R1, R6, ARG_INFO);
	bpf_store(c, BPF_DW, R9, info + INFO_CODE, R1); /* a number from here on */
	bpf_load(c, BPF_W, R1, R9, info + INFO_CODE);
	bpf_alu_imm(c, BPF_AND, R1, 1);
	bpf_alu_imm(c, BPF_MUL, R1, BY_KERNEL);
	bpf_store_imm(c, BPF_DW, R9, info + INFO_CODE, 0);
	bpf_jump(c, done);
	bpf_put_label(c, is_read);
	bpf_load(c, BPF_W, R1, R9, info + INFO_CODE);
	bpf_put_label(c, done);
}

/* Reads @size bytes from the place that the argument points to. */
static void read_argument(struct bpf_code *c, int argument, int size, int to)
{
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_ADD, R1, to);
	bpf_alu_imm(c, BPF_MOV, R2, size);
	bpf_load(c, BPF_DW, R3, R6, argument);
	bpf_call(c, BPF_FUNC_probe_read_kernel);
}

/* Stores a field at @to of the record. The handler's flags follow it in sigaction too. */
static void store_field(struct bpf_code *c, const struct bpf_plan *p, enum what what, int to,
			int info)
{
	switch (what) {
	case SIGNAL:
		bpf_load(c, BPF_DW, R1, R6, ARG_SIGNAL);
		break;
	case ERRNO:
		bpf_load(c, BPF_W, R1, R9, info + INFO_ERRNO);
		break;
	case CODE:
		load_code(c, info);
		break;
	case ACTION:
		return read_argument(c, ARG_ACTION, 16, to);
	case ACTION_FLAGS:
		return;
	case COMM:
		bpf_load(c, BPF_DW, R8, R6, ARG_TASK);
		for (int i = 0; i < 16; i += 8) {
			bpf_load(c, BPF_DW, R1, R8, p->task_comm + i);
			bpf_store(c, BPF_DW, R9, to + i, R1);
		}
		return;
	case PID:
		bpf_load(c, BPF_DW, R8, R6, ARG_TASK);
		bpf_load(c, BPF_W, R1, R8, p->task_pid);
		break;
	case GROUP:
		bpf_load(c, BPF_DW, R1, R6, ARG_GROUP);
		break;
	case RESULT:
		bpf_load(c, BPF_DW, R1, R6, ARG_RESULT);
		break;
	}
	bpf_store(c, BPF_W, R9, to, R1);
}

static bool is_laid_out(const struct bpf_plan *p, const struct kernel_format *f)
{
	int handler = -1, flags = -1;

	for (int i = 0; i < f->n_fields; i++) {
		int n = find(&f->fields[i]);

		if (n < 0)
			return false;
		if (fields[n].what == ACTION)
			handler = f->fields[i].offset;
		if (fields[n].what == ACTION_FLAGS)
			flags = f->fields[i].offset;
	}
	return p->task_pid >= 0 && p->task_comm >= 0 && p->has_sigaction &&
	       (handler < 0 || flags == handler + 8);
}

bool bpf_has_signal(const char *system, const char *event)
{
	return !strcmp(system, "signal") &&
	       (!strcmp(event, "signal_generate") || !strcmp(event, "signal_deliver"));
}

int bpf_program_signal(struct bpf_code *c, const struct bpf_plan *p, const struct kernel_format *f)
{
	bool is_sent = !strcmp(f->name, "signal_generate");
	int info = RECORD + kernel_bpf_siginfo_at(f), size = info + KERNEL_BPF_SIGINFO, leave;

	if (!bpf_has_signal("signal", f->name) || !is_laid_out(p, f) || size > 256)
		return -EOPNOTSUPP;
	bpf_code_begin(c);
	leave = bpf_label(c);
	bpf_alu(c, BPF_MOV, R6, R1);
	bpf_leave_if_off(c, p, leave);
	if (is_sent)
		bpf_leave_if_no_task_followed(c, p, ARG_TASK / 8, leave);
	else
		bpf_leave_if_not_followed(c, p, leave);
	bpf_get_ring(c, p, leave);
	bpf_reserve(c, p, size, leave);
	bpf_store_common(c, R9, 0, f->id);
	read_argument(c, ARG_INFO, KERNEL_BPF_SIGINFO, info);
	for (int i = 0; i < f->n_fields; i++)
		store_field(c, p, fields[find(&f->fields[i])].what, RECORD + f->fields[i].offset,
			    info);
	bpf_publish(c, size);
	bpf_end(c, leave);
	return 0;
}

bool kernel_bpf_signal(struct kernel_bpf *b, const char *system, struct kernel_format *f,
		       const char *filter, uint32_t *bit, struct diag *d)
{
	struct kernel_field *info = &f->fields[f->n_fields];

	if (!b || strcmp(system, "signal") != 0 || f->n_fields == KERNEL_FIELDS_MAX ||
	    kernel_bpf_event(b, system, f, filter, bit, d))
		return false;
	*info = (struct kernel_field){ .name = KERNEL_BPF_SIGINFO_FIELD,
				       .offset = kernel_bpf_siginfo_at(f),
				       .size = KERNEL_BPF_SIGINFO,
				       .element = 1,
				       .is_array = true };
	f->n_fields++;
	return true;
}

_Static_assert(KERNEL_BPF_SIGINFO % BPF_RING_UNIT == 0, "records are aligned");
