/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/emit.h - BPF programs of a script, put together.
 *
 * Registers: R6 the context, R7 this CPU's ring, R8 where the next text goes in the record, R9 the
 * record.  A call destroys R0 to R5.  The stack has the words below, then cells of the section.
 *
 * A record in a ring:
 *
 *	0	word: the low 52 bits of CLOCK_MONOTONIC, above them the size in units of 8 bytes
 *	8	head: the probe's number (16 bits), a bit for each fetch that failed (48)
 *	16	cells of the fetches: numbers, blocks of bytes; of a text its length with the NUL
 *	..	texts, one behind the other
 *
 * The word is stored last; while it is 0 the record is being written.  Programs nest and may be
 * preempted by others on their CPU, so places are reserved by compare-and-exchange; the clock is
 * read after `reserved`, so times never decrease along a ring.  A record whose texts are shorter
 * than the room reserved for them gives the rest back, unless another one follows already.
 */
#ifndef SCRIPT_KERNEL_EMIT_H
#define SCRIPT_KERNEL_EMIT_H

#include "script/kernel/plan.h"

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP };

enum {
	STACK_CPU = -8,
	STACK_TIME = -16,
	STACK_POSITION = -24,
	STACK_FAULTS = -32,
	STACK_READ = -40, /* bytes that probe_read has read */
	STACK_TASK = -48,
	STACK_PID = -56,
	STACK_PROBE = -64,
	STACK_MASK = -72,
	STACK_TEXT = -80,
	STACK_CELLS = -80, /* cells lie below */
	STACK_MOST = 448,
};

enum {
	RING_TIME_BITS = 52,
	RING_RECORD_MAX = 2047 * 8,
	RING_SLACK = 16384,
	RECORD_HEAD = 8,
	RECORD_CELLS = 16,
	HEAD_FAULTS = 16, /* bits below are the probe's number */
	RING_PROBES_MAX = 65535,
};

struct kernel_ring {	   /* one element of the map of rings */
	uint64_t reserved; /* bytes since the beginning; programs write it */
	uint64_t unused[7];
	uint64_t consumed; /* the reader writes it */
	uint64_t unused_2[7];
	uint8_t data[]; /* a power of two, then RING_SLACK: a record never is in two pieces */
};

struct kernel_emit {
	struct bpf_code *c;
	const struct kernel_source *source;
	int rings, control; /* descriptors of maps */
	uint64_t ring_bytes;
	bool is_trusted;   /* members are loaded directly where the kernel knows the type */
	bool is_sleepable; /* memory of programs is brought in: probes of programs may wait for it */
	bool is_exit; /* of a function: the context is its arguments, and the result behind them */
	bool has_task, has_pid;	 /* are on the stack, for all code that follows */
	uint32_t used;		 /* bytes of the stack, from STACK_CELLS down */
	uint32_t loss_rooms;	 /* of losses by probe: a power of two */
	uint32_t own;		 /* not for this process; 0: for all */
	bool failed;		 /* too much for the stack */
	int16_t at[FETCHES_MAX]; /* fetches of the section that are on the stack; 0: not */
};

/* fetch.c.  R1 becomes the number that @f is, or the address of its text; on a failure 0, and bit
 * @number of STACK_FAULTS is set. */
void emit_number(struct kernel_emit *e, const struct kernel_fetch *f, uint32_t number);
/* The bytes of @f, a FETCH_BYTES or FETCH_COMM, to @to + @at. */
void emit_bytes(struct kernel_emit *e, const struct kernel_fetch *f, uint32_t number, int to,
		int at);
/* A text at R9 + R8; its length, or 0, to the record's cell at @cell; R8 moves behind it. */
void emit_text(struct kernel_emit *e, const struct kernel_fetch *f, uint32_t number, int cell);
/* Like emit_bytes() on the stack, zeroed behind the text's end: a key. */
void emit_key_text(struct kernel_emit *e, const struct kernel_fetch *f, int at);
/* Puts values of the thread on the stack, once, before all branches. */
void emit_begin(struct kernel_emit *e, const struct kernel_section *s);
/* A cell on the stack: its offset, or 0 and `failed`. */
int emit_cell(struct kernel_emit *e, uint32_t cells);

/* ring.c: adds 1 to what a probe has lost; R1 and R2 are used.  @lost: the offset in the control
 * map of the probe's count, or -1: found by STACK_PROBE from @losses on. */
void emit_lost(struct kernel_emit *e, int64_t lost, uint32_t losses);
/* R9 becomes a record of @bytes; if there is no room that is lost. */
void emit_reserve(struct kernel_emit *e, uint32_t bytes, int64_t lost, uint32_t losses, int leave);
/* @cells_end: where texts begin; has_texts: R8 is the end. */
void emit_publish(struct kernel_emit *e, uint32_t bytes, bool has_texts);

/* express.c.  R0 becomes the value of @x; all it uses is on the stack. */
void emit_expression(struct kernel_emit *e, const struct kernel_section *s,
		     const struct script_expr *x);
/* Puts the fetches that @x needs on the stack. */
void emit_needed(struct kernel_emit *e, const struct kernel_section *s,
		 const struct script_expr *x);

/* count.c: the body of a folded handler.  @lost: as of emit_lost(). */
void emit_fold(struct kernel_emit *e, const struct kernel_source *source,
	       const struct kernel_section *s, int64_t lost, int leave);

#endif
