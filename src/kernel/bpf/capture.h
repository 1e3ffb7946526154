/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/capture.h - the part of the system call programs that reads the memory that arguments
 * point to.
 *
 * A record with such data is built in the ring's stage first, because its size is known only after
 * reading. There is one stage for entries and one for exits, since an entry's program may be
 * preempted by an exit's. Each stage has one user at a time: no CPU runs a program that it is
 * already running.
 *
 * Each capture is a call of one function, and each turn of its loops is another one, so that the
 * verifier walks each once, not once for every way to get there (bpf/functions.h).
 *
 * Registers: R7 the ring, R8 the size of the record so far.
 */
#ifndef KERNEL_BPF_CAPTURE_H
#define KERNEL_BPF_CAPTURE_H

#include <stddef.h>

#include "kernel/bpf/parts.h"

enum {
	BPF_ENTRY_STAGE = offsetof(struct bpf_ring, entry),
	BPF_EXIT_STAGE = offsetof(struct bpf_ring, exit)
};

/* The offset of a stage's record, with its word, from the ring. */
static inline int bpf_stage_record(int stage)
{
	return stage + (int)offsetof(struct bpf_stage, record);
}

/* The offset of its mark for texts that are not in memory. */
static inline int bpf_stage_late(int stage)
{
	return stage + (int)offsetof(struct bpf_stage, late);
}

/* bpf_stage_begin - clear the words. R8 becomes the position of the first captured byte. */
void bpf_stage_begin(struct bpf_code *c, int stage);
/* bpf_stage_texts - read the texts that STACK_CALL lists. At an exit all share one word. */
void bpf_stage_texts(struct bpf_code *c, int stage);

/* The functions: bpf_captures_begin names them, bpf_captures_end adds them behind a program. */
enum bpf_capture_function {
	CAPTURE_ONE,
	CAPTURE_TEXTS,
	CAPTURE_TEXT,
	CAPTURE_ENVIRONMENTS,
	CAPTURE_COUNT,
	CAPTURE_COUNT_BLOCK,
	CAPTURE_COUNT_REST,
	CAPTURE_VECTOR,
	CAPTURE_IOVEC,
	CAPTURE_HEADER,
	CAPTURE_HEADERS,
	CAPTURE_HEADERS_TURN,
	CAPTURE_EACH,
	CAPTURE_BLOCK,
	CAPTURE_FUNCTIONS
};
struct bpf_captures {
	struct bpf_code *c;
	const struct bpf_plan *p;
	int stage;
	int functions[CAPTURE_FUNCTIONS]; /* labels */
};
void bpf_captures_begin(struct bpf_captures *k, struct bpf_code *c, const struct bpf_plan *p,
			int stage);
void bpf_captures_end(const struct bpf_captures *k);

/* bpf_capture_file - if R1 (the kind of size) names a file: read the file that the descriptor is open
 * on, and jump to @done. */
void bpf_capture_file(const struct bpf_captures *k, int done);
/* bpf_capture_set - the same for a set of descriptors. */
void bpf_capture_set(const struct bpf_captures *k, int done);
/* bpf_stage_captures - read the other captures of call STACK_NR. */
void bpf_stage_captures(const struct bpf_captures *k);
/* bpf_stage_to_ring - copy the stage into a new record. */
void bpf_stage_to_ring(struct bpf_code *c, const struct bpf_plan *p, int stage, int leave);

#endif
