/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/parts.h - the instruction sequences that BPF programs are composed of.
 *
 * Registers, once an event is wanted: R7 the CPU's ring, R9 the record, R6 and R8 the event's own.
 * A call destroys R0 to R5. @leave is always the label at which bpf_end() is.
 */
#ifndef KERNEL_BPF_PARTS_H
#define KERNEL_BPF_PARTS_H

#include <stdint.h>

#include "bpf/code.h"
#include "kernel/bpf/assemble.h"
#include "kernel/bpf/shared_ring.h"

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP };

/* Places on the stack. */
enum {
	STACK_CPU = -8,
	STACK_TID = -16,
	STACK_TIME = -24,
	STACK_WORD = -32,
	STACK_CALL = -40,
	STACK_BEGIN = -48
};
enum { STACK_ROW = -56, STACK_POINTER = -64, STACK_COUNT = -72, STACK_NR = -80 };
enum { STACK_FILTER = -88 }; /* and below: filter.c */

/* In a record, from its word on. */
enum { RECORD = 8, COMMON_TID = RECORD + 4 };

void bpf_leave_if_off(struct bpf_code *c, const struct bpf_plan *p, int leave);
/* bpf_leave_if_not_followed - for the calling thread. Its number stays on the stack. */
void bpf_leave_if_not_followed(struct bpf_code *c, const struct bpf_plan *p, int leave);
/* bpf_leave_if_no_task_followed - as with tracefs' set_event_pid: the task in argument @task of the
 * event (arguments in R6), or the running thread, must be followed. */
void bpf_leave_if_no_task_followed(struct bpf_code *c, const struct bpf_plan *p, int task,
				   int leave);
/* bpf_get_tid - the calling thread's number, to the stack and to R1. */
void bpf_get_tid(struct bpf_code *c);
/* bpf_jump_if_followed - for the thread in R1. */
void bpf_jump_if_followed(struct bpf_code *c, const struct bpf_plan *p, int label);
/* bpf_find_pid - for the thread in R1: @to, which is not R3, becomes the address of the word with
 * its bit; R1 becomes the bit's number. */
void bpf_find_pid(struct bpf_code *c, const struct bpf_plan *p, int to);

/* bpf_get_ring - R7 becomes the ring of this CPU. */
void bpf_get_ring(struct bpf_code *c, const struct bpf_plan *p, int leave);
/* bpf_find_ring - R7 becomes the ring of the CPU at STACK_CPU; jumps to @has_ring if there is one. */
void bpf_find_ring(struct bpf_code *c, const struct bpf_plan *p, int has_ring);
/* bpf_reserve - R9 becomes a new record of @size bytes or, if that is 0, of R8 bytes. */
void bpf_reserve(struct bpf_code *c, const struct bpf_plan *p, int size, int leave);
/* bpf_store_common - store the event id and the thread at offset @at from @to. The flags and the
 * preempt count are 0, because a program cannot read them. */
void bpf_store_common(struct bpf_code *c, int to, int at, uint16_t kernel_id);
/* bpf_publish - store the record's word, last: from then on the record is valid. On x86 stores
 * become visible in order. */
void bpf_publish(struct bpf_code *c, int size);
void bpf_end(struct bpf_code *c, int leave);

#endif
