/* SPDX-License-Identifier: MIT */
/* kernel/convert/class.c - the tables of event classes, and the conversion of one record.
 *
 * A record that is not plain is gathered field by field in the scratch (gather.h). A class that is plain or ordered is converted in
 * place. */
#include "kernel/convert/class.h"

#include <assert.h>
#include <errno.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/convert/gather.h"
#include "kernel/tracefs/syscalls.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "records are taken apart as a little-endian kernel writes them");

enum { KERNEL_IDS = 65536, SHORT_RECORD_MAX = 112 };

int kernel_classes_init(struct kernel_classes *c, size_t longest)
{
	*c = (struct kernel_classes){ .scratch_size =
					      longest + KERNEL_EVENT_HEADER + KERNEL_GROWTH_MAX };
	c->unknown.plain_length = KERNEL_NOT_PLAIN;
	c->by_kernel_id = malloc(KERNEL_IDS * sizeof *c->by_kernel_id);
	c->scratch = malloc(c->scratch_size);
	if (!c->by_kernel_id || !c->scratch) {
		kernel_classes_fini(c);
		return -ENOMEM;
	}
	for (int i = 0; i < KERNEL_IDS; i++)
		c->by_kernel_id[i] = &c->unknown;
	return 0;
}

static void free_syscalls(struct kernel_class *classes)
{
	for (int i = 0; classes && i <= KERNEL_SYSCALLS_MAX; i++)
		kernel_layout_fini(&classes[i].layout);
	free(classes);
}

void kernel_classes_fini(struct kernel_classes *c)
{
	for (int i = 0; c->by_kernel_id && i < KERNEL_IDS; i++)
		if (c->by_kernel_id[i] != &c->unknown) {
			kernel_layout_fini(&c->by_kernel_id[i]->layout);
			free(c->by_kernel_id[i]);
		}
	free_syscalls(c->entry);
	free_syscalls(c->exit);
	free(c->by_kernel_id);
	free(c->scratch);
	text_fini(&c->tsdl);
	*c = (struct kernel_classes){ 0 };
}

/* Adds a class for records of @id, which has none yet. */
static struct kernel_class *new_class(struct kernel_classes *c, uint16_t id, const char *name)
{
	struct kernel_class *class = calloc(1, sizeof *class);

	if (!class || c->by_kernel_id[id] != &c->unknown) {
		free(class);
		return NULL;
	}
	class->plain_length = KERNEL_NOT_PLAIN;
	snprintf(class->name, sizeof class->name, "%s", name);
	c->by_kernel_id[id] = class;
	return class;
}

uint16_t kernel_classes_unused_id(const struct kernel_classes *c)
{
	uint16_t id = KERNEL_IDS - 1;

	while (id && c->by_kernel_id[id] != &c->unknown)
		id--;
	return id;
}

static uint16_t find_place(const struct kernel_format *f, const char *name, unsigned size)
{
	for (int i = 0; i < f->n_fields; i++)
		if (!strcmp(f->fields[i].name, name) && f->fields[i].size == size &&
		    f->fields[i].place == KERNEL_IN_RECORD)
			return f->fields[i].offset;
	return 0;
}

bool kernel_name_is_birth(const char *name)
{
	return !strcmp(name, "sched_process_fork") || !strcmp(name, "task_newtask");
}

int kernel_classes_add(struct kernel_classes *c, const struct kernel_format *f, const char *system,
		       const char *name)
{
	struct kernel_class *class = new_class(c, f->id, name);
	int err;

	if (!class)
		return c->by_kernel_id[f->id] == &c->unknown ? -ENOMEM : -EEXIST;
	err = kernel_layout_event(&class->layout, f, system);
	class->n_fixes = class->layout.n_fixes;
	memcpy(class->fixes, class->layout.fixes, sizeof class->fixes);
	/* by the trace's names, which trace/names.c looks for */
	class->is_birth = kernel_name_is_birth(name);
	if (!strcmp(system, "task") && !strcmp(f->name, "task_newtask")) {
		class->child_at = find_place(f, "pid", 4);
		class->flags_at = find_place(f, "clone_flags", 8);
	}
	return err;
}

static bool has_field(const struct kernel_format *f, const char *name, unsigned offset,
		      unsigned size)
{
	for (int i = 0; i < f->n_fields; i++)
		if (!strcmp(f->fields[i].name, name))
			return f->fields[i].offset == offset && f->fields[i].size == size;
	return false;
}

static int lay_out_syscall(struct kernel_class *class, int nr, bool is_entry)
{
	const char *name = kernel_syscall_name(nr);

	class->plain_length = KERNEL_NOT_PLAIN;
	class->has_name = name;
	snprintf(class->name, sizeof class->name, "syscall_%s_%s", is_entry ? "entry" : "exit",
		 name ? name : "unknown");
	if (!name)
		return kernel_layout_syscall_unknown(&class->layout, is_entry);
	return is_entry ? kernel_layout_syscall_entry(&class->layout, NULL, 0, NULL)
			: kernel_layout_syscall_exit(&class->layout, false, NULL);
}

int kernel_classes_add_syscalls(struct kernel_classes *c, const struct kernel_format *f,
				bool is_entry, struct diag *d)
{
	struct kernel_class **table = is_entry ? &c->entry : &c->exit, *class;
	const char *last = is_entry ? "args" : "ret";
	unsigned last_size = is_entry ? 8 * KERNEL_SYSCALL_N_ARGS : 8;
	int err = 0;

	if (!has_field(f, "id", KERNEL_SYSCALL_NR, 8) ||
	    !has_field(f, last, KERNEL_SYSCALL_ARGS, last_size))
		return diag_fail(d, -EOPNOTSUPP, "raw_syscalls:%s has an unknown format", f->name);
	*table = calloc(KERNEL_SYSCALLS_MAX + 1, sizeof **table);
	class = *table ? new_class(c, f->id, f->name) : NULL;
	if (!class)
		return diag_fail(d, -ENOMEM, "no memory for the system calls");
	class->by_syscall = *table;
	/* Entry KERNEL_SYSCALLS_MAX serves all calls without a name. */
	for (int nr = 0; !err && nr <= KERNEL_SYSCALLS_MAX; nr++)
		err = lay_out_syscall(&(*table)[nr], nr, is_entry);
	return err ? diag_fail(d, err, "no memory for the system calls") : 0;
}

int kernel_classes_describe_arguments(struct kernel_classes *c, int nr,
				      const struct kernel_format *f, unsigned texts,
				      const struct abi_captures *also)
{
	struct kernel_layout *l = &c->entry[nr].layout;

	assert(c->entry && nr >= 0 && nr <= KERNEL_SYSCALLS_MAX);
	kernel_layout_fini(l);
	return kernel_layout_syscall_entry(l, f, texts, also);
}

int kernel_classes_describe_result(struct kernel_classes *c, int nr, bool late,
				   const struct abi_captures *also)
{
	struct kernel_layout *l = &c->exit[nr].layout;

	assert(c->exit && nr >= 0 && nr <= KERNEL_SYSCALLS_MAX);
	kernel_layout_fini(l);
	return kernel_layout_syscall_exit(l, late, also);
}

#define STACK_FIELDS(whose)                                                                        \
	"\t\tuint16_t __callstack_" whose "_length;\n"                                             \
	"\t\tinteger { size = 64; align = 8; signed = false; base = 16; } _callstack_" whose       \
	"[ __callstack_" whose "_length ];\n"

const char *const kernel_stack_fields[2] = { STACK_FIELDS("kernel"), STACK_FIELDS("user") };

static int add_extras(struct kernel_class *class, uint32_t extras, const char *fields)
{
	struct text *t = &class->layout.fields;

	assert(!class->is_described);
	text_addf(t, "%s%s%s", fields,
		  extras & KERNEL_PERF_KERNEL_STACK ? kernel_stack_fields[0] : "",
		  extras & KERNEL_PERF_USER_STACK ? kernel_stack_fields[1] : "");
	class->extras = extras;
	return t->failed ? -ENOMEM : 0;
}

int kernel_classes_add_extras(struct kernel_classes *c, uint16_t kernel_id, uint32_t extras,
			      const char *fields)
{
	assert(c->by_kernel_id[kernel_id] != &c->unknown);
	return add_extras(c->by_kernel_id[kernel_id], extras, fields);
}

int kernel_classes_add_extras_of_syscall(struct kernel_classes *c, int nr, bool is_entry,
					 uint32_t extras, const char *fields)
{
	assert(nr >= 0 && nr <= KERNEL_SYSCALLS_MAX && (is_entry ? c->entry : c->exit));
	return add_extras(&(is_entry ? c->entry : c->exit)[nr], extras, fields);
}

uint16_t kernel_classes_describe(struct kernel_classes *c, const char *name, const char *fields)
{
	assert(c->n_described < UINT16_MAX);
	text_addf(&c->tsdl,
		  "event {\n\tname = \"%s\";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n"
		  "%s\t};\n};\n\n",
		  name, c->n_described, fields ? fields : "");
	return c->n_described++;
}

static void describe(struct kernel_classes *c, struct kernel_class *class)
{
	assert(!class->is_described);
	class->id = kernel_classes_describe(c, class->name, class->layout.fields.bytes);
	class->is_described = true;
	/* A longer record does not have its length in its header. */
	if (class->layout.is_plain && !class->is_birth && class->layout.end <= SHORT_RECORD_MAX)
		class->plain_length = class->layout.end;
}

/* A class of system calls has its own table, and those seen are enough there. */
static bool is_tracepoint(const struct kernel_classes *c, const struct kernel_class *class)
{
	return class != &c->unknown && !class->by_syscall;
}

void kernel_classes_describe_all(struct kernel_classes *c)
{
	int n = 0;

	for (int i = 0; i < KERNEL_IDS; i++)
		n += is_tracepoint(c, c->by_kernel_id[i]);
	if (n > KERNEL_DESCRIBED_MAX)
		return;
	for (int i = 0; i < KERNEL_IDS; i++)
		if (is_tracepoint(c, c->by_kernel_id[i]) && !c->by_kernel_id[i]->is_described)
			describe(c, c->by_kernel_id[i]);
}

static void forget(struct kernel_class *class)
{
	class->is_described = false;
	class->plain_length = KERNEL_NOT_PLAIN;
}

void kernel_classes_restart(struct kernel_classes *c, uint16_t first_id)
{
	for (int i = 0; i < KERNEL_IDS; i++)
		if (c->by_kernel_id[i] != &c->unknown)
			forget(c->by_kernel_id[i]);
	for (int nr = 0; nr <= KERNEL_SYSCALLS_MAX; nr++) {
		if (c->entry)
			forget(&c->entry[nr]);
		if (c->exit)
			forget(&c->exit[nr]);
	}
	c->n_described = first_id;
	c->tsdl.size = 0;
}

void kernel_class_fix(const struct kernel_class *class, uint8_t *record)
{
	for (int i = 0; i < class->n_fixes; i++) {
		uint8_t *at = record + class->fixes[i].offset;
		int32_t prio;
		int64_t state;
		uint64_t from, to;

		if (class->fixes[i].kind == KERNEL_FIX_PRIO) {
			memcpy(&prio, at, sizeof prio);
			prio = (int32_t)((uint32_t)prio - KERNEL_REALTIME_PRIORITIES);
			memcpy(at, &prio, sizeof prio);
		} else if (class->fixes[i].kind == KERNEL_FIX_ELAPSED) {
			memcpy(&from, record + class->fixes[i].from, sizeof from);
			memcpy(&to, at, sizeof to);
			to -= from;
			memcpy(at, &to, sizeof to);
		} else {
			memcpy(&state, at, sizeof state);
			if (state == 0x100)
				memset(at, 0, sizeof state);
		}
	}
}

/* Writes the event header. Its source lies at least 2 bytes behind its destination. */
static void put_header(uint8_t *out, const uint8_t *record, uint16_t id, uint32_t time)
{
	memmove(out + 6, record + 2, KERNEL_COMMON_SIZE - 2);
	memcpy(out, &time, 4);
	memcpy(out + 4, &id, 2);
}

/* A memmove for argument sizes: both ends are read before either is written. */
static inline void copy_small(uint8_t *to, const uint8_t *from, size_t size)
{
	uint64_t first, last;
	uint32_t head, tail;

	if (size >= 8 && size <= 16) {
		memcpy(&first, from, 8);
		memcpy(&last, from + size - 8, 8);
		memcpy(to, &first, 8);
		memcpy(to + size - 8, &last, 8);
	} else if (size >= 4 && size < 8) {
		memcpy(&head, from, 4);
		memcpy(&tail, from + size - 4, 4);
		memcpy(to, &head, 4);
		memcpy(to + size - 4, &tail, 4);
	} else {
		memmove(to, from, size);
	}
}

/* Copies to lower places in rising order: none overwrites the source of a later one. */
static size_t copy_in_place(const struct kernel_layout *l, uint8_t *out, const uint8_t *record)
{
	const struct kernel_op *op = l->ops, *end = op + l->n_ops;
	uint8_t *to = out + KERNEL_EVENT_HEADER;

	for (; op < end; op++) {
		copy_small(to, record + op->offset, op->size);
		to += op->size;
	}
	return (size_t)(to - out);
}

static struct kernel_class *class_of_syscall(struct kernel_class *class, const uint8_t *record,
					     size_t length)
{
	int64_t nr;

	if (length < KERNEL_SYSCALL_NR + sizeof nr)
		return NULL;
	memcpy(&nr, record + KERNEL_SYSCALL_NR, sizeof nr);
	/* rt_sigreturn leaves -1 as its number at its exit. */
	if (nr < 0 || nr > KERNEL_SYSCALLS_MAX || !class->by_syscall[nr].has_name)
		nr = KERNEL_SYSCALLS_MAX;
	return &class->by_syscall[nr];
}

/* NULL: the record is too short for a decision. */
static struct kernel_class *class_of(const struct kernel_classes *c, const uint8_t *record,
				     size_t length)
{
	struct kernel_class *class;
	uint16_t kernel_id;

	if (length < KERNEL_COMMON_SIZE)
		return NULL;
	memcpy(&kernel_id, record, sizeof kernel_id);
	class = c->by_kernel_id[kernel_id];
	return class->by_syscall ? class_of_syscall(class, record, length) : class;
}

uint32_t kernel_classes_extras(const struct kernel_classes *c, const uint8_t *record, size_t length)
{
	const struct kernel_class *class = class_of(c, record, length);

	return class ? class->extras : 0;
}

size_t kernel_class_growth(const struct kernel_classes *c, const uint8_t *record, size_t length)
{
	const struct kernel_class *class = class_of(c, record, length);

	return class ? class->layout.growth : 0;
}

/* The running thread is the parent. */
static void learn_birth(struct kernel_processes *p, const struct kernel_class *class,
			const uint8_t *record)
{
	int32_t parent, child;
	uint64_t flags;

	memcpy(&parent, record + 4, sizeof parent);
	memcpy(&child, record + class->child_at, sizeof child);
	memcpy(&flags, record + class->flags_at, sizeof flags);
	kernel_processes_born(p, parent, child, flags & CLONE_THREAD);
}

size_t kernel_class_convert(struct kernel_classes *c, uint8_t *out, uint8_t *record, size_t length,
			    uint32_t time)
{
	struct kernel_class *class =
		length > c->scratch_size - KERNEL_GROWTH_MAX ? NULL : class_of(c, record, length);
	size_t size = 0;

	c->was_birth = class && class->is_birth;
	if (!class || class == &c->unknown || length < class->layout.words)
		return 0;
	kernel_class_fix(class, record);
	if (class->child_at && class->flags_at)
		learn_birth(&c->processes, class, record);
	if (!class->layout.is_ordered && !kernel_gather(c, &class->layout, record, length, &size))
		return 0;
	if (!class->is_described)
		describe(c, class);
	put_header(out, record, class->id, time);
	if (class->layout.is_ordered)
		return copy_in_place(&class->layout, out, record);
	assert(KERNEL_EVENT_HEADER + size <= length + 4 + class->layout.growth);
	memcpy(out + KERNEL_EVENT_HEADER, c->scratch, size);
	return KERNEL_EVENT_HEADER + size;
}
