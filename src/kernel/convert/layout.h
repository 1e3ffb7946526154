/* SPDX-License-Identifier: MIT */
/*
 * kernel/convert/layout.h - converts a ring buffer record into the fields of a CTF event.
 *
 * A layout is a list of copies in the order of the record, and the TSDL that describes their
 * result. Names are LTTng's (prev_pid: prev_tid ...), so that analyses made for its traces work.
 * Padding is never copied: for some events the record is longer or shorter than the `format` and
 * the alignment of the fields suggest, so padding allows no conclusion.
 */
#ifndef KERNEL_CONVERT_LAYOUT_H
#define KERNEL_CONVERT_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"
#include "abi/capture.h"
#include "kernel/tracefs/format.h"

enum kernel_op_kind {
	KERNEL_OP_COPY,	     /* size bytes at offset */
	KERNEL_OP_STRING,    /* the text that the word at offset locates, as a CTF string */
	KERNEL_OP_SEQUENCE,  /* the elements it locates, as u16 count and bytes */
	KERNEL_OP_USER_TEXT, /* as _STRING; size 0: the text could not be read, so the pointer at
			      * `size` is shown; also if the call does not use it */
	KERNEL_OP_REQUEST,   /* the letters of a block request at offset, as LTTng's bits (u32) */
	KERNEL_OP_PARENT,    /* the process of the thread at offset (s32): of the parent, and of */
	KERNEL_OP_CHILD,     /* the child of a birth. It is not in the record: the event grows */
};

/* By how much an event may be longer than its record. */
enum { KERNEL_GROWTH_MAX = 8 };

struct kernel_op {
	uint8_t kind;
	uint8_t element;  /* bytes of a sequence's element */
	bool is_relative; /* the distance counts from the end of the word */
	uint16_t offset;
	uint16_t size;
	uint8_t condition; /* of _USER_TEXT: capture_text_condition() */
};

/* A value that LTTng records in another form; it is changed in place before any copy. */
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
	uint16_t end;	 /* a record must reach this far, .. */
	uint16_t words;	 /* .. or only to here, if nothing was captured */
	bool is_plain;	 /* the fields are exactly the record from the common ones to end */
	bool is_ordered; /* only copies, in rising order: possible in place */
	uint8_t growth;	 /* bytes of fields that the record lacks, at most KERNEL_GROWTH_MAX */
	uint8_t n_fixes;
	struct kernel_fix fixes[KERNEL_FIXES_MAX];
};

/* The raw_syscalls records: s64 number, then arguments or result. */
enum { KERNEL_SYSCALL_NR = 8, KERNEL_SYSCALL_ARGS = 16, KERNEL_SYSCALL_N_ARGS = 6 };

/* BPF records have words behind the arguments. Some locate the texts that arguments point to; the
 * others locate other captured memory, one word each. At exits they lie behind the result; there
 * too the first word locates texts. */
enum {
	KERNEL_SYSCALL_WORDS = KERNEL_SYSCALL_ARGS + 8 * KERNEL_SYSCALL_N_ARGS,
	KERNEL_SYSCALL_TEXTS = 3,
	KERNEL_CAPTURE_WORDS = KERNEL_SYSCALL_WORDS + 4 * KERNEL_SYSCALL_TEXTS,
	KERNEL_EXIT_LATE_WORD = KERNEL_SYSCALL_ARGS + 8,
	KERNEL_EXIT_WORDS = KERNEL_EXIT_LATE_WORD + 4,
};

/* All return 0 or -ENOMEM. @system is used for renaming only. */
int kernel_layout_event(struct kernel_layout *l, const struct kernel_format *f, const char *system);

/* kernel_layout_request - LTTng's bits for the kernel's letters for a block request ("WS"). */
uint32_t kernel_layout_request(const char *letters, size_t size);

/* kernel_layout_texts - a bit for each argument that points to a text, which means that the kernel
 * stops reading at a NUL. */
unsigned kernel_layout_texts(const struct kernel_format *f);

/* @f: the format of syscalls:sys_enter_NAME, with the names and types of arguments; NULL: unknown.
 * @texts: as from kernel_layout_texts(), for the texts in the records; 0 if there are none. @also:
 * the other captures in the records; NULL: none. */
int kernel_layout_syscall_entry(struct kernel_layout *l, const struct kernel_format *f,
				unsigned texts, const struct abi_captures *also);
/* @late: records have texts that were not in memory at the entry. */
int kernel_layout_syscall_exit(struct kernel_layout *l, bool late, const struct abi_captures *also);

/* For numbers without a name: the number itself comes first. */
int kernel_layout_syscall_unknown(struct kernel_layout *l, bool is_entry);

/* kernel_layout_shown_name - the name in traces of the field @field of @system. */
const char *kernel_layout_shown_name(const char *system, const char *field);
/* kernel_layout_kernel_name - the kernel's name for the field of @system that traces call @shown.
 */
const char *kernel_layout_kernel_name(const char *system, const char *shown);
/* kernel_layout_shift - the kernel's value minus the recorded value, for the field that the kernel
 * calls @name. */
int kernel_layout_shift(const char *name);

void kernel_layout_fini(struct kernel_layout *l);

#endif
