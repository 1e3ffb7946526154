/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf_ring.h - memory that BPF programs of ours and the collector share.
 *
 * Each CPU has a ring of records; programs write at `reserved`, the collector reads at `consumed`.  A record is a
 * word, then what the kernel's own ring buffer would hold of the event: its format is tracefs', so that both become
 * CTF in one place, kernel/class.h.
 *
 * A program may be interrupted by another one, on the same CPU, that writes too.  So it reads `reserved`, then the
 * clock, then moves `reserved` by compare-and-exchange: times never decrease along a ring.  The word is stored last;
 * as long as it is 0 the record is being written.  The collector clears what it has read before it gives it back;
 * should it be killed meanwhile, its successor does.
 * What begins before the ring's end goes on behind it: no record is in two pieces.
 *
 *   (1) consumed <= reserved <= consumed + size
 *   (2) the word is 0 at each place from consumed on at which a record may begin and none is whole
 */
#ifndef KERNEL_BPF_RING_H
#define KERNEL_BPF_RING_H

#include <stdint.h>

#include "clock/follow.h"
#include "kernel/capture.h"
#include "kernel/cpu.h"
#include "kernel/layout.h"
#include "kernel/syscalls.h"

/* Of the word: CLOCK_MONOTONIC in nanoseconds below, the record's size, the word included, in units of 8 bytes.  The
 * highest bit, which no program sets: the time is the session's (kernel/bpf_flight.c). */
enum { BPF_RING_TIME_BITS = 56, BPF_RING_UNIT = 8, BPF_RING_UNITS_MAX = 127 };
#define BPF_RING_SETTLED (1ull << 63)

/*
 * What a system call's arguments point to: the record has, behind the arguments, for each text a word as a __data_loc
 * field has it, another one for what else was captured (kernel/capture.h), some room, and the bytes.  The last of a
 * text that is too long are three dots.  An end that has something captured has the same form.
 */
enum {
	BPF_TEXT_MAX = 256, /* with its end */
	BPF_TEXTS_AT = KERNEL_CAPTURE_WORD + 4 + 16,
	BPF_RECORD_MAX = 8 + BPF_TEXTS_AT + BPF_TEXT_MAX + KERNEL_CAPTURE_MAX + 7, /* a name and argv */
};
_Static_assert(BPF_TEXTS_AT % 8 == 0, "arguments stay aligned");
_Static_assert(KERNEL_SYSCALL_TEXTS * BPF_TEXT_MAX <= BPF_TEXT_MAX + KERNEL_CAPTURE_MAX, "three texts are less");
_Static_assert(BPF_RECORD_MAX < 1 << (64 - BPF_RING_TIME_BITS - 1 + 3), "its size is in the word");

/* An element of the map of rings. */
struct bpf_ring {
	uint64_t reserved; /* bytes since the beginning */
	uint64_t lost; /* events for which there was no room */
	uint64_t unused_1[6];
	uint64_t consumed; /* the collector writes this and what follows */
	uint64_t taken; /* what lies before may be cleared in part: it is given back in any case */
	uint64_t unwritten; /* events that were taken, and may not be in a file yet .. */
	uint64_t unwritten_at; /* .. if `taken` is that */
	struct kernel_losses losses;
	uint64_t unused_2[112];
	uint8_t stage[2560]; /* where a program gathers texts; for entries, */
	uint8_t exit_stage[512]; /* and for ends */
	uint8_t data[]; /* a power of two, then BPF_RING_SLACK */
};
_Static_assert(sizeof(struct bpf_ring) == 4096, "layout both sides agree on");

enum { BPF_RING_SLACK = 4096, BPF_PIDS_MAX = 1 << 22 };

/*
 * What to do with a system call: the lowest bits, then in three bytes each argument that is a text, counted from 1,
 * then in a byte what else is captured at its entry, and in one what at its end: the argument, the kind, and
 * the argument with its size.
 */
enum { BPF_CALL_ENTRY = 1, BPF_CALL_EXIT = 2 };
enum { BPF_CALL_TEXTS = 8, BPF_CALL_CAPTURE = 32, BPF_CALL_EXIT_CAPTURE = 40, BPF_CAPTURE_KIND = 3, BPF_CAPTURE_SIZE = 5 };

/* The element of the other map. */
struct bpf_control {
	uint64_t is_on; /* a bit for each program */
	uint64_t lost; /* events on CPUs that have no ring */
	uint64_t calls[KERNEL_SYSCALLS_MAX + 1]; /* by number; the last for the rest */
	uint64_t pids[BPF_PIDS_MAX / 64]; /* a bit for each thread that is followed */
	struct clock_follow follow; /* the collector's; here, its successor finds it */
};

#endif
