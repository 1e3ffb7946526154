/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/capture.h - the part of the programs for system calls that reads what arguments point
 * to.
 *
 * A record with such bytes is made in the ring's stage first: how long it becomes is known when it
 * is read.  There is a stage for entries and one for ends, since an entry's program may be
 * preempted by an end's; each is one program's alone: no CPU runs a program that it runs already.
 *
 * Registers: R7 the ring, R8 the bytes that the record has so far.
 */
#ifndef KERNEL_BPF_CAPTURE_H
#define KERNEL_BPF_CAPTURE_H

#include <stddef.h>

#include "kernel/bpf/parts.h"

enum {
	BPF_ENTRY_STAGE = offsetof(struct bpf_ring, entry),
	BPF_EXIT_STAGE = offsetof(struct bpf_ring, exit)
};

/* Of a stage: the word before the record, from the ring on. */
static inline int bpf_stage_record(int stage)
{
	return stage + (int)offsetof(struct bpf_stage, record);
}

/* bpf_stage_begin - no words yet; the stack gets the row of what is captured of the call whose
 * number the stack's STACK_NR has; R8 becomes where bytes begin. */
void bpf_stage_begin(struct bpf_code *c, const struct bpf_plan *p, int stage);
/* bpf_stage_texts - the texts that the call's word in STACK_CALL has.  At an end all as one. */
void bpf_stage_texts(struct bpf_code *c, int stage);
/* bpf_stage_captures - what else is captured.  R6 and R9 are lost. */
void bpf_stage_captures(struct bpf_code *c, int stage);
/* bpf_stage_to_ring - what lies in the stage becomes a record. */
void bpf_stage_to_ring(struct bpf_code *c, const struct bpf_plan *p, int stage, int leave);

#endif
