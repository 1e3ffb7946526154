/* SPDX-License-Identifier: MIT */
/*
 * kernel/convert/layout.h - how a record of the ring buffer becomes a CTF event's fields.
 *
 * A layout is a list of copies in the order of the record, and the TSDL that describes their
 * result. Names are LTTng's (prev_pid: prev_tid ...), so that analyses made for its traces work.
 * Padding is never copied: some events' records are longer or shorter than their `format` and the
 * alignment of their fields suggest, so nothing can be concluded from it.
 */
#ifndef KERNEL_CONVERT_LAYOUT_H
#define KERNEL_CONVERT_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"
#include "kernel/convert/capture.h"
#include "kernel/tracefs/format.h"

enum kernel_op_kind {
	KERNEL_OP_COPY,	     /* size bytes at offset */
	KERNEL_OP_STRING,    /* the text that the word at offset locates, as a CTF string */
	KERNEL_OP_SEQUENCE,  /* the elements it locates, as u16 count and bytes */
	KERNEL_OP_USER_TEXT, /* as _STRING; of no size: could not be read, then the pointer at
				`size` in its place */
};

struct kernel_op {
	uint8_t kind;
	uint8_t element;  /* bytes of a sequence's element */
	bool is_relative; /* the place counts from behind the word */
	uint16_t offset;
	uint16_t size;
};

/* A value which LTTng records otherwise, changed in place before anything is copied. */
enum { KERNEL_REALTIME_PRIORITIES = 100 };

enum kernel_fix_kind {
	KERNEL_FIX_PRIO,    /* s32: minus KERNEL_REALTIME_PRIORITIES */
	KERNEL_FIX_STATE,   /* s64: preempted (0x100) becomes running (0) */
	KERNEL_FIX_ELAPSED, /* u64: minus the one at `from` */
};

struct kernel_fix {
	uint8_t kind;
	uint16_t offset, from;
};

enum { KERNEL_FIXES_MAX = 4 };

struct kernel_layout {
	struct text fields; /* TSDL, the inside of a struct */
	struct kernel_op *ops;
	int n_ops;
	uint16_t end;	 /* a record must reach this far */
	bool is_plain;	 /* the fields are the record from the common ones to end, nothing else */
	bool is_ordered; /* copies alone, in rising order: may be done in place */
	uint8_t n_fixes;
	struct kernel_fix fixes[KERNEL_FIXES_MAX];
};

/* The raw_syscalls records: s64 number, then arguments or result. */
enum { KERNEL_SYSCALL_NR = 8, KERNEL_SYSCALL_ARGS = 16, KERNEL_SYSCALL_N_ARGS = 6 };

/* Behind the arguments, in records of our own BPF programs: words that locate the texts that some
 * point to, and one for each of what else was captured.  In those of ends they are behind the
 * result; the first locates texts as well. */
enum {
	KERNEL_SYSCALL_WORDS = KERNEL_SYSCALL_ARGS + 8 * KERNEL_SYSCALL_N_ARGS,
	KERNEL_SYSCALL_TEXTS = 3,
	KERNEL_CAPTURE_WORDS = KERNEL_SYSCALL_WORDS + 4 * KERNEL_SYSCALL_TEXTS,
	KERNEL_EXIT_LATE_WORD = KERNEL_SYSCALL_ARGS + 8,
	KERNEL_EXIT_WORDS = KERNEL_EXIT_LATE_WORD + 4,
};

/* All return 0 or -ENOMEM.  Of @system alone the renaming depends. */
int kernel_layout_event(struct kernel_layout *l, const struct kernel_format *f, const char *system);

/* kernel_layout_texts - which arguments point to texts, as bits: those at which the kernel ends
 * reading at a NUL. */
unsigned kernel_layout_texts(const struct kernel_format *f);

/* @f: the format of syscalls:sys_enter_NAME, which names and types the arguments; NULL: unknown.
 * @texts: as kernel_layout_texts(), those of which records have the texts; 0 if they have none.
 * @also: what they have beside; NULL: nothing. */
int kernel_layout_syscall_entry(struct kernel_layout *l, const struct kernel_format *f,
				unsigned texts, const struct kernel_captures *also);
/* @late: records have texts that were not in memory at the entry. */
int kernel_layout_syscall_exit(struct kernel_layout *l, bool late,
			       const struct kernel_captures *also);

/* For numbers we have no name for: the number itself comes first. */
int kernel_layout_syscall_unknown(struct kernel_layout *l, bool is_entry);

/* kernel_layout_shown_name - what the field @field of @system is shown as. */
const char *kernel_layout_shown_name(const char *system, const char *field);
/* kernel_layout_kernel_name - what the kernel calls the field of @system that is shown as @shown.
 */
const char *kernel_layout_kernel_name(const char *system, const char *shown);
/* kernel_layout_shift - what the kernel's value of the field it calls @name has more than the one
 * shown. */
int kernel_layout_shift(const char *name);

void kernel_layout_fini(struct kernel_layout *l);

#endif
