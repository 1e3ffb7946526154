/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/shared_ring.h - memory that BPF programs of ours and the collector share.
 *
 * Each CPU has a ring of records; programs write at `reserved`, the collector reads at `consumed`.
 * A record is a word, then what the kernel's own ring buffer would hold of the event: its format is
 * tracefs', so that both become CTF in one place, kernel/convert/class.h.
 *
 * A program may be interrupted by another one, on the same CPU, that writes too.  So it reads
 * `reserved`, then the clock, then moves `reserved` by compare-and-exchange: times never decrease
 * along a ring.  The word is stored last; as long as it is 0 the record is being written.  The
 * collector clears what it has read before it gives it back; should it be killed meanwhile, its
 * successor does. What begins before the ring's end goes on behind it: no record is in two pieces.
 *
 *   (1) consumed <= reserved <= consumed + size
 *   (2) the word is 0 at each place from consumed on at which a record may begin and none is whole
 */
#ifndef KERNEL_BPF_SHARED_RING_H
#define KERNEL_BPF_SHARED_RING_H

#include <stdint.h>

#include "clock/track.h"
#include "kernel/convert/capture.h"
#include "kernel/convert/cpu.h"
#include "kernel/convert/layout.h"
#include "kernel/tracefs/syscalls.h"

/* Of the word: CLOCK_MONOTONIC in nanoseconds below, the record's size, the word included, in units
 * of 8 bytes.  The highest bit, which no program sets: the time is the session's
 * (kernel/bpf/overwrite.c). */
enum { BPF_RING_TIME_BITS = 52, BPF_RING_UNIT = 8, BPF_RING_UNITS_MAX = 2047 };
#define BPF_RING_STAMPED (1ull << 63)

/*
 * What a system call's arguments point to: the record has, behind the arguments, for each text a
 * word as a __data_loc field has it, more of them for what else was captured
 * (kernel/convert/capture.h), some room, and the bytes.  The last of a text that is too long are
 * three dots.  An end has the words behind the result: one for the texts that its entry lacks, one
 * behind the other, each with its NUL; the others as in entries.  A word of 0: nothing.
 */
enum {
	BPF_TEXT_MAX = 256, /* with its end */
	BPF_TEXTS_AT = KERNEL_CAPTURE_WORDS + 4 * KERNEL_CAPTURES_MAX + 20,
	BPF_EXIT_BYTES_AT = KERNEL_EXIT_WORDS + 4 * KERNEL_CAPTURES_MAX + 4,
	BPF_CAPTURE_BEGIN_MAX =
		4096, /* from the common fields on; what would begin behind it is not captured */
	BPF_BYTES_MAX = BPF_CAPTURE_BEGIN_MAX + KERNEL_CAPTURE_BUFFER_MAX + 256, /* from there on */
	BPF_RECORD_MAX = 8 + BPF_BYTES_MAX,
};
_Static_assert(BPF_TEXTS_AT % 8 == 0 && BPF_EXIT_BYTES_AT % 8 == 0, "arguments stay aligned");
_Static_assert(BPF_TEXTS_AT + KERNEL_SYSCALL_TEXTS * BPF_TEXT_MAX < BPF_CAPTURE_BEGIN_MAX,
	       "texts come first");
_Static_assert(BPF_RECORD_MAX <= BPF_RING_UNITS_MAX * BPF_RING_UNIT, "its size is in the word");
_Static_assert(BPF_RECORD_MAX <= 65535, "the kernel's own words have 16 bits");

/* Where a program puts a record together: what of it becomes longer is known when it is read. */
struct bpf_stage {
	uint64_t position; /* what a verifier knows of it must not depend on how it was reached */
	uint64_t args[8];  /* of an end: the call's, counted from 1, then the result */
	uint8_t record[BPF_RECORD_MAX];
};

/* An element of the map of rings. */
struct bpf_ring {
	uint64_t reserved; /* bytes since the beginning */
	uint64_t lost;	   /* events for which there was no room */
	uint64_t unused_1[6];
	uint64_t consumed; /* the collector writes this and what follows */
	uint64_t taken; /* what lies before may be cleared in part: it is given back in any case */
	uint64_t unwritten;    /* events that were taken, and may not be in a file yet .. */
	uint64_t unwritten_at; /* .. if `taken` is that */
	struct kernel_losses losses;
	struct bpf_stage entry, exit;
	uint8_t data[]; /* a power of two, then BPF_RING_SLACK */
};
_Static_assert(sizeof(struct bpf_ring) % 8 == 0, "records are aligned");

enum { BPF_RING_SLACK = 12288, BPF_PIDS_MAX = 1 << 22 };

/*
 * What to do with a system call: bits, then in three bytes each argument that is a text, counted
 * from 1, then the numbers of the filters of its results and of its arguments; 0: none. What else
 * is captured is a word each: the argument, how, the one with its size, and the most.
 */
enum {
	BPF_CALL_ENTRY = 1,
	BPF_CALL_EXIT = 2,
	BPF_CALL_CAPTURES = 4,	    /* at its entry; */
	BPF_CALL_EXIT_CAPTURES = 8, /* at its end; */
	BPF_CALL_LATE = 16, /* its end has room for texts that were not in memory at its entry */
	BPF_CALL_TEXTS = 8,
	BPF_CALL_FILTER = 32,
	BPF_CALL_ENTRY_FILTER = 36,
	BPF_CALL_FILTERS = 15,
};
enum {
	BPF_CAPTURE_HOW = 3,
	BPF_CAPTURE_SIZE = 6,
	BPF_CAPTURE_MOST = 16,
	BPF_CAPTURE_UNIT = 32,
	BPF_CAPTURE_IS_INT = 1 << 9,
	BPF_CAPTURE_OF_FAILURES = 1 << 10,
};

/* The element of the other map. */
struct bpf_control {
	uint64_t is_on;				 /* a bit for each program */
	uint64_t lost;				 /* events on CPUs that have no ring */
	uint64_t calls[KERNEL_SYSCALLS_MAX + 1]; /* by number; the last for the rest */
	uint64_t captures[KERNEL_SYSCALLS_MAX + 1][2]
			 [KERNEL_CAPTURES_MAX]; /* at the entry, at the end */
	uint64_t pids[BPF_PIDS_MAX / 64];	/* a bit for each thread that is followed */
	uint64_t late[BPF_PIDS_MAX /
		      64]; /* one for each thread whose call has a text that was not in memory */
	struct clock_track follow; /* the collector's; here, its successor finds it */
};

#endif
