/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/program.h - the BPF programs that record, as instructions.
 *
 * Each is for one tracepoint of the kernel's (type tp_btf: arguments come typed and are read
 * directly).  It asks whether the event is wanted, reserves a record in its CPU's ring, fills it,
 * publishes it: kernel/bpf/shared_ring.h.  Only what verifiers from Linux 6.1 on accept is used.
 */
#ifndef KERNEL_BPF_PROGRAM_H
#define KERNEL_BPF_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/btf.h"
#include "bpf/code.h"
#include "kernel/tracefs/format.h"

struct bpf_plan {
	int rings, control; /* descriptors of the maps */
	uint32_t ring_size; /* bytes, a power of two */
	uint32_t bit;	    /* of control->is_on, for the next program */
	bool follows;	    /* only threads that control->pids has */
	/* Where things are in the kernel's structures; negative: not known. */
	int task_pid, task_comm, task_prio, task_exit_state;
	int task_cpu, task_status; /* of thread_info, in the task */
};

/* bpf_plan_layout - find out where things are. */
void bpf_plan_layout(struct bpf_plan *p, const struct btf *b);

/* System calls; @kernel_id: of raw_syscalls:sys_enter or sys_exit, for the record.  @filters: @n of
 * them; a call's is told by its number, from 1 on (control->calls).  0; -EOPNOTSUPP if one cannot
 * be said. */
struct kernel_bpf_filter;
int bpf_program_sys_enter(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id,
			  const struct kernel_bpf_filter *filters, int n);
int bpf_program_sys_exit(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id,
			 const struct kernel_bpf_filter *filters, int n);

/* bpf_program_event - another event, those that pass @filter (NULL: all).  -EOPNOTSUPP if we have
 * no program for it, not for this format of it, or none that filters so. */
int bpf_program_event(struct bpf_code *c, const struct bpf_plan *p, const struct kernel_format *f,
		      const char *filter);

/* Children of who is followed are followed, and no more when they are gone. */
void bpf_program_fork(struct bpf_code *c, const struct bpf_plan *p);
void bpf_program_free(struct bpf_code *c, const struct bpf_plan *p);

#endif
