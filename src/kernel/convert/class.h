/* SPDX-License-Identifier: MIT */
/*
 * kernel/convert/class.h - the classes of events, found by the kernel's event id.
 *
 * A class is described (it gets an id in the trace and a block of metadata) when its first record
 * is converted, so a trace describes only the events in it. Descriptions gather in `tsdl`. They
 * must reach the metadata before the packet with that record reaches its stream.
 *
 * One raw_syscalls record becomes an event of its system call, with its arguments.
 */
#ifndef KERNEL_CONVERT_CLASS_H
#define KERNEL_CONVERT_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"
#include "kernel/tracefs/format.h"
#include "kernel/tracefs/page_format.h"
#include "kernel/convert/layout.h"
#include "kernel/convert/processes.h"

enum { KERNEL_NAME_MAX = 96, KERNEL_NOT_PLAIN = UINT16_MAX };

/* Extras: values that perf's samples have besides thread, time and address. */
enum {
	KERNEL_PERF_KERNEL_STACK = 1,
	KERNEL_PERF_USER_STACK = 2,
	KERNEL_PERF_STACKS = KERNEL_PERF_KERNEL_STACK | KERNEL_PERF_USER_STACK,
	KERNEL_PERF_VALUE = 4, /* << i: the value of the i-th counter */
};

struct kernel_class {
	/* A record of this length needs a change of its header only. KERNEL_NOT_PLAIN before the
	 * class is described, and for classes without such records. */
	uint16_t plain_length;
	uint16_t id; /* in the trace, once described */
	uint8_t n_fixes;
	bool is_described;
	bool has_name;	 /* a system call with a known name */
	bool is_birth;	 /* its events have the process of a thread */
	uint32_t extras; /* KERNEL_PERF_*: the values behind its fields */
	struct kernel_fix fixes[KERNEL_FIXES_MAX];
	/* task_newtask: where the child and the flags lie; 0: another event */
	uint16_t child_at, flags_at;
	struct kernel_class
		*by_syscall; /* KERNEL_SYSCALLS_MAX + 1 classes; the last serves unnamed calls */
	struct kernel_layout layout;
	char name[KERNEL_NAME_MAX];
};

struct kernel_classes {
	struct kernel_class **by_kernel_id; /* 65536, none NULL */
	struct kernel_class unknown;
	struct kernel_class *entry, *exit; /* by system call */
	uint16_t n_described;
	struct text tsdl; /* descriptions since it was last emptied */
	uint8_t *scratch;
	size_t scratch_size;
	bool was_birth; /* the record that was converted last: its packet's index entry shows it */
	struct kernel_processes processes;
};

/* @longest: the longest record, in bytes. */
int kernel_classes_init(struct kernel_classes *c, size_t longest);
void kernel_classes_fini(struct kernel_classes *c);

/* kernel_name_is_birth - whether events that the trace calls @name have the process of a new thread. */
bool kernel_name_is_birth(const char *name);

/* Adds the event @f; the trace calls it @name. */
int kernel_classes_add(struct kernel_classes *c, const struct kernel_format *f, const char *system,
		       const char *name);

/* kernel_classes_unused_id - an id without a class, for an event that the kernel does not have; 0: none. */
uint16_t kernel_classes_unused_id(const struct kernel_classes *c);

/* Adds raw_syscalls:sys_enter or sys_exit with format @f. -EOPNOTSUPP if the format is not the
 * expected one. Arguments are unknown until kernel_classes_describe_arguments(). */
int kernel_classes_add_syscalls(struct kernel_classes *c, const struct kernel_format *f,
				bool is_entry, struct diag *d);
/* @texts, @also, @late: kernel/convert/layout.h. */
int kernel_classes_describe_arguments(struct kernel_classes *c, int nr,
				      const struct kernel_format *f, unsigned texts,
				      const struct abi_captures *also);
/* Fields that records of exits have beside the result. */
int kernel_classes_describe_result(struct kernel_classes *c, int nr, bool late,
				   const struct abi_captures *also);

/* The fields for call stacks: of the kernel and of the user. */
extern const char *const kernel_stack_fields[2];
/*
 * kernel_classes_add_extras - the converter puts @extras (KERNEL_PERF_*) behind records of the
 * event @kernel_id, or of this system call: counters, as @fields describes them, then stacks. 0 or
 * -ENOMEM.
 *
 * kernel_classes_extras - the extras for a record of @length bytes from its common fields on.
 */
int kernel_classes_add_extras(struct kernel_classes *c, uint16_t kernel_id, uint32_t extras,
			      const char *fields);
int kernel_classes_add_extras_of_syscall(struct kernel_classes *c, int nr, bool is_entry,
					 uint32_t extras, const char *fields);
uint32_t kernel_classes_extras(const struct kernel_classes *c, const uint8_t *record,
			       size_t length);

/*
 * kernel_classes_describe_all - describe each tracepoint, also those that never happen: a reader then
 * tells "none happened" from "not recorded".  Of more than KERNEL_DESCRIBED_MAX only those that
 * happen are described, when they do.
 */
enum { KERNEL_DESCRIBED_MAX = 256 };
void kernel_classes_describe_all(struct kernel_classes *c);

/* kernel_classes_restart - describe all classes again, for another trace or in addition to one. New
 * ids start at @first_id. */
void kernel_classes_restart(struct kernel_classes *c, uint16_t first_id);

/* kernel_classes_describe - give an event made by duet an id; @fields as in a layout. */
uint16_t kernel_classes_describe(struct kernel_classes *c, const char *name, const char *fields);

/*
 * kernel_class_convert - write the event of a record.
 *
 * @out: at or before the record's header, which may be overwritten: it lies 4 bytes before @record.
 * @record: its @length bytes from the common fields on; changed.
 *
 * Returns the size of the event, at most @length + 4 + kernel_class_growth(); 0 if the record is not
 * understood.
 *
 * kernel_class_growth - by how much the event may be longer than its record.
 */
size_t kernel_class_growth(const struct kernel_classes *c, const uint8_t *record, size_t length);
size_t kernel_class_convert(struct kernel_classes *c, uint8_t *out, uint8_t *record, size_t length,
			    uint32_t time);

/* Changes the values that LTTng records in another form. The record must reach layout.end. */
void kernel_class_fix(const struct kernel_class *class, uint8_t *record);

#endif
