/* SPDX-License-Identifier: MIT */
/*
 * kernel/convert/class.h - the events that may occur, found by the kernel's number.
 *
 * An event is described (given an id in the trace and a block of metadata) when its first record is
 * seen, so a trace tells of what happened in it and of nothing else.  What is described gathers in
 * `tsdl`, which must reach the metadata before the packet with that record does.
 *
 * One raw_syscalls record becomes an event of the system call it is about, with its arguments.
 */
#ifndef KERNEL_CONVERT_CLASS_H
#define KERNEL_CONVERT_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"
#include "kernel/tracefs/format.h"
#include "kernel/convert/layout.h"

enum { KERNEL_NAME_MAX = 96, KERNEL_NOT_PLAIN = UINT16_MAX };

/* u32 time, u16 id, u8 flags, u8 preempt count, s32 tid: a record's header and common fields. */
enum { KERNEL_EVENT_HEADER = 12 };

struct kernel_class {
	/* Records of this length need only their header changed.  Before the class is described, or
	 * if that is never so: KERNEL_NOT_PLAIN. */
	uint16_t plain_length;
	uint16_t id; /* in the trace, once described */
	uint8_t n_fixes;
	bool is_described;
	bool has_name;	 /* of a system call */
	uint32_t extras; /* KERNEL_PERF_*: what stands behind its fields */
	struct kernel_fix fixes[KERNEL_FIXES_MAX];
	struct kernel_class
		*by_syscall; /* KERNEL_SYSCALLS_MAX + 1 classes, the last for the rest */
	struct kernel_layout layout;
	char name[KERNEL_NAME_MAX];
};

struct kernel_classes {
	struct kernel_class **by_kernel_id; /* 65536, none NULL */
	struct kernel_class unknown;
	struct kernel_class *entry, *exit; /* by system call */
	uint16_t n_described;
	struct text tsdl; /* described since it was last emptied */
	uint8_t *scratch;
	size_t scratch_size;
};

/* @longest: of a record, in bytes. */
int kernel_classes_init(struct kernel_classes *c, size_t longest);
void kernel_classes_fini(struct kernel_classes *c);

/* Adds the event @f under our name for it. */
int kernel_classes_add(struct kernel_classes *c, const struct kernel_format *f, const char *system,
		       const char *name);

/* Adds raw_syscalls:sys_enter or sys_exit, whose format is @f; -EOPNOTSUPP if it is not the one we
 * know.  Arguments are unknown until told. */
int kernel_classes_add_syscalls(struct kernel_classes *c, const struct kernel_format *f,
				bool is_entry, struct diag *d);
/* @texts, @also, @late: kernel/convert/layout.h. */
int kernel_classes_report_arguments(struct kernel_classes *c, int nr, const struct kernel_format *f,
				    unsigned texts, const struct kernel_captures *also);
/* What records of ends have beside the result. */
int kernel_classes_report_result(struct kernel_classes *c, int nr, bool late,
				 const struct kernel_captures *also);

/* The fields of call stacks, the kernel's and the user's. */
extern const char *const kernel_stack_fields[2];
/*
 * kernel_classes_add_extras - whoever converts records of the event @kernel_id, or of this system
 * call, puts @extras (KERNEL_PERF_*) behind them: first counters, as @fields has them, then stacks.
 * 0 or -ENOMEM.
 *
 * kernel_classes_extras - of a record, from the common fields on, of @length bytes.
 */
int kernel_classes_add_extras(struct kernel_classes *c, uint16_t kernel_id, uint32_t extras,
			      const char *fields);
int kernel_classes_add_extras_of_syscall(struct kernel_classes *c, int nr, bool is_entry,
					 uint32_t extras, const char *fields);
uint32_t kernel_classes_extras(const struct kernel_classes *c, const uint8_t *record,
			       size_t length);

/* kernel_classes_restart - describe all anew, for another trace or behind what one has: ids go on
 * from
 * @first_id. */
void kernel_classes_restart(struct kernel_classes *c, uint16_t first_id);

/* kernel_classes_describe - give an event of our own an id; @fields as in a layout. */
uint16_t kernel_classes_describe(struct kernel_classes *c, const char *name, const char *fields);

/*
 * kernel_class_convert - write the event of a record.
 *
 * @out: at or before the record's header, which may be overwritten: it lies 4 bytes before @record.
 * @record: its @length bytes from the common fields on; changed.
 *
 * Returns the size of the event, at most @length + 4; 0 if the record is not understood.
 */
size_t kernel_class_convert(struct kernel_classes *c, uint8_t *out, uint8_t *record, size_t length,
			    uint32_t time);

/* The values that LTTng records otherwise; the record must reach layout.end. */
void kernel_class_fix(const struct kernel_class *class, uint8_t *record);

#endif
