/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/shared_ring.h - memory shared by BPF programs and the collector.
 *
 * Each CPU has a ring of records; programs write at `reserved`, the collector reads at `consumed`.
 * A record is a word, then the bytes that the kernel's own ring buffer would have for the event. So
 * both become CTF in one place, kernel/convert/class.h.
 *
 * A program may be interrupted by another one on the same CPU that writes too. So it reads
 * `reserved`, then the clock, then moves `reserved` by compare-and-exchange: times never decrease
 * along a ring. The word is stored last; while it is 0 the record is being written. The collector
 * clears the records it has read before it gives them back; if it is killed meanwhile, its
 * successor does. A record that begins before the ring's end continues beyond it: no record is in
 * two pieces.
 *
 *   (1) consumed <= reserved <= consumed + size
 *   (2) from consumed on, the word is 0 at each place where a record may begin and none is
 *       complete
 */
#ifndef KERNEL_BPF_SHARED_RING_H
#define KERNEL_BPF_SHARED_RING_H

#include <stdint.h>

#include "clock/track.h"
#include "abi/capture.h"
#include "kernel/convert/cpu.h"
#include "kernel/convert/layout.h"
#include "kernel/tracefs/syscalls.h"

/* In the word: the low bits are CLOCK_MONOTONIC in nanoseconds; above them is the record's size
 * with the word, in units of 8 bytes. No program sets the highest bit: it marks session time
 * (kernel/bpf/overwrite.c). */
enum { BPF_RING_TIME_BITS = 52, BPF_RING_UNIT = 8, BPF_RING_UNITS_MAX = 2047 };
#define BPF_RING_STAMPED (1ull << 63)

/*
 * The memory that arguments point to. Behind the arguments the record has a word, like a __data_loc
 * field's, for each text; more words for other captures (capture/table.h); some room; and
 * the bytes. A text of ABI_CAPTURE_TEXT_CUT bytes is cut there. An exit has the words behind the
 * result: one for the texts that its entry lacks, all in a row, each with its NUL; the others as in
 * entries. A word of 0: nothing was captured.
 */
enum {
	BPF_TEXT_MAX = ABI_CAPTURE_TEXT_CUT + 1, /* with its NUL */
	BPF_TEXTS_AT = KERNEL_CAPTURE_WORDS + 4 * ABI_CAPTURE_FIELDS + 20,
	BPF_EXIT_BYTES_AT = KERNEL_EXIT_WORDS + 4 * ABI_CAPTURE_FIELDS + 4,
	BPF_CAPTURE_BEGIN_MAX =
		12000, /* from the common fields on; a capture that would begin beyond it is
			* dropped */
	BPF_BYTES_MAX =
		BPF_CAPTURE_BEGIN_MAX + ABI_CAPTURE_BUFFER_MAX + 256, /* counted in the same way */
	BPF_RECORD_MAX = 8 + BPF_BYTES_MAX,
	BPF_PATH_MAX = 4096,
};
_Static_assert(BPF_TEXTS_AT % 8 == 0 && BPF_EXIT_BYTES_AT % 8 == 0, "arguments stay aligned");
_Static_assert(BPF_TEXTS_AT + KERNEL_SYSCALL_TEXTS * BPF_TEXT_MAX < BPF_BYTES_MAX,
	       "texts always fit");
_Static_assert(BPF_RECORD_MAX <= BPF_RING_UNITS_MAX * BPF_RING_UNIT, "its size is in the word");
_Static_assert(BPF_RECORD_MAX <= 65535, "the kernel's own words have 16 bits");

/* A program builds a record here if its size is known only after reading. */
struct bpf_stage {
	uint64_t position; /* stored and reloaded, so that the verifier knows only its bound */
	uint64_t late;	   /* a text is or was not in memory; here, so that the verifier does not
			    * follow both cases to the end */
	uint64_t args[8];  /* at an exit: the call's, counted from 1, then the result */
	/* Of a list of messages: messages and iovecs to come, and their addresses. */
	uint64_t messages, message, iovecs, iovec;
	uint64_t
		left; /* bytes that the call moved and that no iovec so far has; all bits: any number */
	uint64_t names; /* the most of a name */
	uint8_t record[BPF_RECORD_MAX];
};

/* One element of the map of rings. */
struct bpf_ring {
	uint64_t reserved; /* bytes since the beginning */
	uint64_t lost;	   /* events without room */
	uint64_t unused_1[6];
	uint64_t consumed;     /* the collector writes this and all that follows */
	uint64_t taken;	       /* data before it may be partly cleared, and will be given back */
	uint64_t unwritten;    /* events that were taken, and may not be in a file yet .. */
	uint64_t unwritten_at; /* .. if `taken` has this value */
	struct kernel_losses losses;
	struct bpf_stage entry, exit;
	char path[BPF_PATH_MAX]; /* of an exec, read before its record has a size */
	uint8_t data[];		 /* a power of two, then BPF_RING_SLACK */
};
_Static_assert(sizeof(struct bpf_ring) % 8 == 0, "records are aligned");

enum { BPF_RING_SLACK = 16384, BPF_PIDS_MAX = 1 << 22 };

/*
 * How to record a system call. The word has bits; then in three bytes each argument that is a text,
 * counted from 1; then the numbers of the filters for its results and its arguments; 0: none; then
 * the numbers of captures. Each
 * other capture has two words of its own: the argument, the kind of size, the argument with the
 * size, and the maximum; then the condition, the field, and the place of memory behind memory.
 */
enum {
	BPF_CALL_ENTRY = 1,
	BPF_CALL_EXIT = 2,
	BPF_CALL_CAPTURES = 4,	    /* at its entry; */
	BPF_CALL_EXIT_CAPTURES = 8, /* at its exit; */
	BPF_CALL_LATE = 16, /* its exit has room for texts that were not in memory at its entry */
	BPF_CALL_COMMANDS = 32, /* captures only of those in control->commands */
	BPF_CALL_TEXTS = 8,
	BPF_CALL_FILTER = 32,
	BPF_CALL_ENTRY_FILTER = 36,
	BPF_CALL_FILTERS = 15,
	BPF_CALL_N_CAPTURES = 40,      /* at its entry, .. */
	BPF_CALL_N_EXIT_CAPTURES = 44, /* .. at its exit */
	BPF_CALL_COUNT = 15,
};
enum {
	BPF_CAPTURE_HOW = 3,
	BPF_CAPTURE_SIZE = 7,
	BPF_CAPTURE_MOST = 16,
	BPF_CAPTURE_UNIT = 32,
	BPF_CAPTURE_MOVED = 40, /* two bits */
	BPF_CAPTURE_IS_INT = 1 << 10,
	BPF_CAPTURE_OF_FAILURES = 1 << 11,
	BPF_CAPTURE_PART = 1 << 12, /* if the next page cannot be read: the bytes before it */
	BPF_CAPTURE_IS_COMMAND = 1 << 13,
	BPF_CAPTURE_IS_BEHIND = 1 << 14,
	BPF_CAPTURE_IS_COUNTED = 1 << 15, /* there, in WIDTH + 1 bytes at COUNT_AT */
	BPF_CAPTURE_HOWS = 15,
	BPF_CAPTURE_ARGUMENTS = 7,
};
enum { /* in the second word; below them, 32 bits, the value of the condition */
       BPF_CAPTURE_AT = 32,
       BPF_CAPTURE_COUNT_AT = 40,
       BPF_CAPTURE_WIDTH = 48, /* three bits each */
       BPF_CAPTURE_FIELD = 51,
       BPF_CAPTURE_WHEN = 54,
       BPF_CAPTURE_ROOM = 57, /* an argument */
};

struct bpf_capture {
	uint64_t what, more;
};
enum { BPF_CAPTURE_ROW = 16 }; /* more than ABI_CAPTURES_MAX: a call is found by shifting */
_Static_assert((int)ABI_CAPTURES_MAX <= (int)BPF_CAPTURE_ROW && ABI_CAPTURE_FIELDS <= 8,
	       "few bits");

/* The element of the other map. */
struct bpf_control {
	uint64_t is_on;				    /* a bit for each program */
	uint64_t lost;				    /* events on CPUs that have no ring */
	uint64_t calls[KERNEL_SYSCALLS_MAX + 1];    /* by number; the last one for unnamed calls */
	uint64_t commands[KERNEL_SYSCALLS_MAX + 1]; /* bit N: command N, the second argument */
	/* At the entry, at the exit. */
	struct bpf_capture captures[KERNEL_SYSCALLS_MAX + 1][2][BPF_CAPTURE_ROW];
	uint64_t pids[BPF_PIDS_MAX / 64]; /* a bit for each followed thread */
	uint64_t late[BPF_PIDS_MAX /
		      64]; /* a bit for each thread in a call with a text that was not in memory */
	struct clock_track follow; /* the collector's; stored here for its successor */
};

#endif
