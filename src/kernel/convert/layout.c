/* SPDX-License-Identifier: MIT */
/*
 * kernel/convert/layout.c - builds the copies and the TSDL of an event from its format.
 *
 * Every identifier begins with an underscore, which readers drop: so none can be a TSDL keyword.
 * All identifiers of a struct must differ, or Babeltrace 2.0.4 aborts.
 */
#include "kernel/convert/layout.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/table.h"
#include "kernel/tracefs/events.h"

enum { IDENTIFIERS_MAX = 2 * KERNEL_FIELDS_MAX, IDENTIFIER_SIZE = 96 };

struct builder {
	struct kernel_layout *layout;
	int n_identifiers;
	char identifiers[IDENTIFIERS_MAX][IDENTIFIER_SIZE];
};

/* LTTng's names for fields, for any event of a system. */
static const struct {
	const char *system, *from, *to;
} renamed[] = {
	{ "sched", "pid", "tid" },
	{ "sched", "prev_pid", "prev_tid" },
	{ "sched", "next_pid", "next_tid" },
	{ "sched", "parent_pid", "parent_tid" },
	{ "sched", "child_pid", "child_tid" },
	{ "sched", "old_pid", "old_tid" },
};

static const struct {
	const char *name;
	uint16_t size;
	uint8_t kind;
} fixed[] = {
	{ "prio", 4, KERNEL_FIX_PRIO },	     { "prev_prio", 4, KERNEL_FIX_PRIO },
	{ "next_prio", 4, KERNEL_FIX_PRIO }, { "oldprio", 4, KERNEL_FIX_PRIO },
	{ "newprio", 4, KERNEL_FIX_PRIO },   { "prev_state", 8, KERNEL_FIX_STATE },
};

const char *kernel_layout_shown_name(const char *system, const char *field)
{
	for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
		if (!strcmp(system, renamed[i].system) && !strcmp(field, renamed[i].from))
			return renamed[i].to;
	return kernel_event_is_probe(system) && !strncmp(field, "__probe_", 8) ? field + 8 : field;
}

const char *kernel_layout_kernel_name(const char *system, const char *shown)
{
	for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
		if (!strcmp(system, renamed[i].system) && !strcmp(shown, renamed[i].to))
			return renamed[i].from;
	return shown;
}

int kernel_layout_shift(const char *name)
{
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		if (fixed[i].kind == KERNEL_FIX_PRIO && !strcmp(name, fixed[i].name))
			return KERNEL_REALTIME_PRIORITIES;
	return 0;
}

static void add_fix(struct kernel_layout *l, const struct kernel_field *f)
{
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		if (l->n_fixes < KERNEL_FIXES_MAX && f->place == KERNEL_IN_RECORD && !f->is_array &&
		    f->size == fixed[i].size && !strcmp(f->name, fixed[i].name))
			l->fixes[l->n_fixes++] =
				(struct kernel_fix){ .kind = fixed[i].kind, .offset = f->offset };
}

/* The exit of a traced function has the time of the entry (*@first) and of the exit (*@last). Only
 * their difference is useful, so *@first is subtracted from *@last and left out. */
static bool find_call_times(const struct kernel_format *f, const struct kernel_field **first,
			    const struct kernel_field **last)
{
	*first = *last = NULL;
	for (int i = 0; i < f->n_fields; i++) {
		const struct kernel_field *field = &f->fields[i];

		if (field->place != KERNEL_IN_RECORD || field->is_array || field->size != 8)
			continue;
		if (!strcmp(field->name, "calltime"))
			*first = field;
		else if (!strcmp(field->name, "rettime"))
			*last = field;
	}
	return *first && *last;
}

static bool is_used(const struct builder *b, const char *identifier)
{
	for (int i = 0; i < b->n_identifiers; i++)
		if (!strcmp(b->identifiers[i], identifier))
			return true;
	return false;
}

/* An identifier for @name that differs from all earlier ones. Valid as long as the builder. */
static const char *identifier(struct builder *b, const char *name, const char *suffix)
{
	char *to = b->identifiers[b->n_identifiers];

	snprintf(to, IDENTIFIER_SIZE, "_%s%s", name, suffix);
	for (int i = 2; is_used(b, to); i++)
		snprintf(to, IDENTIFIER_SIZE, "_%s_%d%s", name, i, suffix);
	b->n_identifiers++;
	return to;
}

/* A record must reach this far. */
static void require_end(struct kernel_layout *l, uint32_t end)
{
	if (end > UINT16_MAX)
		end = UINT16_MAX; /* longer than any record: none will be understood */
	if (end > l->end)
		l->end = (uint16_t)end;
}

static void add_op(struct kernel_layout *l, struct kernel_op op)
{
	struct kernel_op *last = l->n_ops ? &l->ops[l->n_ops - 1] : NULL;
	bool is_whole = op.kind == KERNEL_OP_COPY || op.kind == KERNEL_OP_REQUEST;
	uint32_t end = op.offset + (is_whole ? (uint32_t)op.size : 4u);

	if (op.kind != KERNEL_OP_COPY || op.offset < l->end)
		l->is_ordered = false;
	require_end(l, end);
	if (last && op.kind == KERNEL_OP_COPY && last->kind == KERNEL_OP_COPY &&
	    op.offset == last->offset + last->size)
		last->size += op.size;
	else
		l->ops[l->n_ops++] = op;
}

static void add_copy(struct kernel_layout *l, unsigned offset, unsigned size)
{
	add_op(l, (struct kernel_op){ KERNEL_OP_COPY, .offset = (uint16_t)offset,
				      .size = (uint16_t)size });
}

static const char *const text_type =
	"integer { size = 8; align = 8; signed = false; encoding = UTF8; }";

static void add_integer_type(struct text *t, unsigned size, bool is_signed, bool is_hex)
{
	if (is_hex)
		text_addf(t, "integer { size = %u; align = 8; signed = false; base = 16; }",
			  size * 8);
	else
		text_addf(t, "%sint%u_t", is_signed ? "" : "u", size * 8);
}

static void add_sequence(struct builder *b, const char *name, unsigned element, bool is_signed)
{
	struct text *t = &b->layout->fields;
	char inner[80];
	const char *length;

	snprintf(inner, sizeof inner, "_%s", name);
	length = identifier(b, inner, "_length");
	text_addf(t, "\t\tuint16_t %s;\n\t\t", length);
	add_integer_type(t, element, is_signed, element == 1);
	text_addf(t, " %s[%s];\n", identifier(b, name, ""), length);
}

static void add_dynamic(struct builder *b, const struct kernel_field *f, const char *name)
{
	struct kernel_op op = {
		.kind = f->is_text ? KERNEL_OP_STRING : KERNEL_OP_SEQUENCE,
		.element = f->element,
		.is_relative = f->place == KERNEL_REL_LOC,
		.offset = f->offset,
	};

	if (f->is_text)
		text_addf(&b->layout->fields, "\t\tstring %s;\n", identifier(b, name, ""));
	else
		add_sequence(b, name, f->element, f->type_is_signed);
	add_op(b->layout, op);
}

static void add_fixed(struct builder *b, const struct kernel_field *f, const char *name)
{
	struct text *t = &b->layout->fields;

	text_addf(t, "\t\t");
	if (f->is_text)
		text_addf(t, "%s", text_type);
	else
		add_integer_type(t, f->element, f->is_signed,
				 f->is_pointer || !strncmp(f->name, "__probe_", 8));
	text_addf(t, " %s", identifier(b, name, ""));
	if (f->is_array)
		text_addf(t, "[%u]", f->size / f->element);
	text_addf(t, ";\n");
	add_copy(b->layout, f->offset, f->size);
}

static int begin(struct builder *b, struct kernel_layout *l, int n_ops)
{
	*l = (struct kernel_layout){ .is_ordered = true, .end = KERNEL_COMMON_SIZE };
	b->layout = l;
	b->n_identifiers = 0;
	l->ops = calloc((size_t)n_ops, sizeof *l->ops);
	return l->ops ? 0 : -ENOMEM;
}

static int finish(struct kernel_layout *l)
{
	l->is_plain = l->is_ordered && l->n_ops == 1 && l->ops[0].offset == KERNEL_COMMON_SIZE;
	l->words = l->words ? l->words : l->end;
	if (!l->fields.failed)
		return 0;
	kernel_layout_fini(l);
	return -ENOMEM;
}

static bool is_address(const struct kernel_field *f)
{
	static const char *const addresses[] = { "ip", "parent_ip", "func", "retaddr", "args" };

	for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
		if (!strcmp(f->name, addresses[i]))
			return f->element == 8;
	return false;
}

static int lay_out_call(struct builder *b, const struct kernel_format *f)
{
	const struct kernel_field *first, *last;
	bool has_times = find_call_times(f, &first, &last);

	for (int i = 0; i < f->n_fields; i++) {
		struct kernel_field field = f->fields[i];
		bool is_end = has_times && &f->fields[i] == last,
		     is_value = !strcmp(field.name, "retval");

		if (field.place != KERNEL_IN_RECORD || (has_times && &f->fields[i] == first))
			continue;
		field.is_pointer = is_address(&field);
		field.is_signed |= is_value;
		add_fixed(b, &field, is_end ? "duration" : field.name);
	}
	if (has_times) {
		require_end(b->layout, first->offset + 8u);
		b->layout->fixes[b->layout->n_fixes++] = (struct kernel_fix){
			.kind = KERNEL_FIX_ELAPSED, .offset = last->offset, .from = first->offset
		};
	}
	return finish(b->layout);
}

static bool is_request(const struct kernel_field *f, const char *system)
{
	return !strcmp(system, "block") && !strcmp(f->name, "rwbs") &&
	       f->place == KERNEL_IN_RECORD && f->is_text && f->is_array && f->size >= 4;
}

static void add_request(struct builder *b, const struct kernel_field *f)
{
	text_addf(&b->layout->fields, "\t\tuint32_t %s;\n", identifier(b, f->name, ""));
	add_op(b->layout,
	       (struct kernel_op){ KERNEL_OP_REQUEST, .offset = f->offset, .size = f->size });
}

/* The processes of a birth, as LTTng has them. @f: the field with the thread. */
static void add_process(struct builder *b, const struct kernel_field *f)
{
	bool is_child = !strcmp(f->name, "child_pid");

	text_addf(&b->layout->fields, "\t\tint32_t %s;\n", identifier(b, f->name, ""));
	add_op(b->layout, (struct kernel_op){ is_child ? KERNEL_OP_CHILD : KERNEL_OP_PARENT,
					      .offset = f->offset });
	b->layout->growth += 4;
	assert(b->layout->growth <= KERNEL_GROWTH_MAX);
}

static void add_processes(struct builder *b, const struct kernel_format *f)
{
	for (int i = 0; i < f->n_fields; i++)
		if ((!strcmp(f->fields[i].name, "child_pid") ||
		     !strcmp(f->fields[i].name, "parent_pid")) &&
		    f->fields[i].place == KERNEL_IN_RECORD && f->fields[i].size == 4)
			add_process(b, &f->fields[i]);
}

static void add_any(struct builder *b, const struct kernel_field *f, const char *system)
{
	const char *name = kernel_layout_shown_name(system, f->name);

	if (is_request(f, system))
		add_request(b, f);
	else if (f->place == KERNEL_IN_RECORD)
		add_fixed(b, f, name);
	else
		add_dynamic(b, f, name);
}

int kernel_layout_event(struct kernel_layout *l, const struct kernel_format *f, const char *system)
{
	struct builder b;

	if (begin(&b, l, f->n_fields + 3))
		return -ENOMEM;
	if (kernel_event_is_tracer(system))
		return lay_out_call(&b, f);
	for (int i = 0; i < f->n_fields; i++) {
		add_any(&b, &f->fields[i], system);
		if (!strcmp(system, "sched"))
			add_fix(l, &f->fields[i]);
	}
	if (!strcmp(system, "sched") && !strcmp(f->name, "sched_process_fork"))
		add_processes(&b, f);
	return finish(l);
}

/* LTTng's names for arguments, and arguments that are an int whatever type the kernel declares. */
static const struct {
	const char *event, *from, *to;
	bool is_int;
} arguments[] = {
	{ "sys_enter_mmap", "off", "offset", false },
	{ "sys_enter_mmap", "fd", "fd", true },
	{ "sys_enter_clone", "clone_flags", "flags", false },
	{ "sys_enter_clone", "parent_tidptr", "parent_tid", false },
	{ "sys_enter_clone", "child_tidptr", "child_tid", false },
};

/* An argument is a register: bytes beyond its type may hold anything. */
static void add_argument(struct builder *b, const char *event, const struct kernel_field *f,
			 unsigned offset)
{
	unsigned size = f->type_size && !f->is_pointer ? f->type_size : 8;
	bool is_signed = f->type_is_signed && !f->is_pointer;
	const char *name = f->name;

	for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
		if (!strcmp(event, arguments[i].event) && !strcmp(f->name, arguments[i].from)) {
			name = arguments[i].to;
			is_signed |= arguments[i].is_int;
			size = arguments[i].is_int ? 4 : size;
		}
	text_addf(&b->layout->fields, "\t\t");
	add_integer_type(&b->layout->fields, size, is_signed, f->is_pointer);
	text_addf(&b->layout->fields, " %s;\n", identifier(b, name, ""));
	add_copy(b->layout, offset, size);
}

static void add_raw_arguments(struct kernel_layout *l)
{
	text_addf(&l->fields, "\t\t");
	add_integer_type(&l->fields, 8, false, true);
	text_addf(&l->fields, " _args[%d];\n", KERNEL_SYSCALL_N_ARGS);
	add_copy(l, KERNEL_SYSCALL_ARGS, 8 * KERNEL_SYSCALL_N_ARGS);
}

/* Arguments that name a file or similar are `const char *`. So are a few buffers with a length, and
 * a few texts are not const. */
static bool is_text(const char *event, const struct kernel_field *f)
{
	static const char *const others[] = { "filename", "dev_name", "dir_name", "type" };

	if (!f->is_chars)
		return false;
	if (f->is_const)
		return strcmp(f->name, "buf") != 0 && strcmp(f->name, "u_msg_ptr") != 0 &&
		       strcmp(f->name, "cmdline_ptr") != 0;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strcmp(f->name, others[i]))
			return true;
	return !strcmp(event, "sys_enter_umount") && !strcmp(f->name, "name");
}

static bool is_argument(const struct kernel_field *f)
{
	return f->offset >= KERNEL_SYSCALL_ARGS && f->size == 8 && f->place == KERNEL_IN_RECORD;
}

unsigned kernel_layout_texts(const struct kernel_format *f)
{
	unsigned n = 0, n_texts = 0, texts = 0;

	for (int i = 0; i < f->n_fields && n < KERNEL_SYSCALL_N_ARGS; i++) {
		if (!is_argument(&f->fields[i]))
			continue;
		if (is_text(f->name, &f->fields[i]) && n_texts < KERNEL_SYSCALL_TEXTS) {
			texts |= 1u << n;
			n_texts++;
		}
		n++;
	}
	return texts;
}

static uint8_t condition_of(const char *event, unsigned argument)
{
	const char *call = !strncmp(event, "sys_enter_", 10) ? event + 10 : event;

	return capture_text_condition(call, argument);
}

static void add_user_text(struct builder *b, const struct kernel_field *f, unsigned word,
			  unsigned pointer, uint8_t condition)
{
	text_addf(&b->layout->fields, "\t\tstring %s;\n", identifier(b, f->name, ""));
	add_op(b->layout, (struct kernel_op){ KERNEL_OP_USER_TEXT, .offset = (uint16_t)word,
					      .size = (uint16_t)pointer, .condition = condition });
}

static void add_captured(struct builder *b, const char *field, unsigned element, unsigned word)
{
	add_sequence(b, field, element, element > 1);
	add_op(b->layout, (struct kernel_op){ KERNEL_OP_SEQUENCE, .element = (uint8_t)element,
					      .offset = (uint16_t)word });
}

static void add_captures(struct builder *b, const struct abi_captures *also, unsigned words)
{
	int next = 0;

	for (int i = 0; also && i < also->n; i++)
		if (capture_place(also, i) == next)
			add_captured(b, capture_field(also->at[i]), capture_element(also->at[i]),
				     words + 4 * (unsigned)next++);
}

int kernel_layout_syscall_entry(struct kernel_layout *l, const struct kernel_format *f,
				unsigned texts, const struct abi_captures *also)
{
	struct builder b;
	unsigned n = 0, n_texts = 0;

	if (begin(&b, l, KERNEL_SYSCALL_N_ARGS + ABI_CAPTURE_FIELDS + 1))
		return -ENOMEM;
	for (int i = 0; f && i < f->n_fields && n < KERNEL_SYSCALL_N_ARGS; i++) {
		if (!is_argument(&f->fields[i]))
			continue;
		if (texts & 1u << n)
			add_user_text(&b, &f->fields[i], KERNEL_SYSCALL_WORDS + 4 * n_texts++,
				      KERNEL_SYSCALL_ARGS + 8 * n, condition_of(f->name, n + 1));
		else
			add_argument(&b, f->name, &f->fields[i], KERNEL_SYSCALL_ARGS + 8 * n);
		n++;
	}
	if (!f)
		add_raw_arguments(l);
	l->words = n_texts ? 0 : l->end;
	add_captures(&b, also, KERNEL_CAPTURE_WORDS);
	/* Even a call without arguments needs its number in the record. */
	if (l->end < KERNEL_SYSCALL_ARGS)
		l->end = KERNEL_SYSCALL_ARGS;
	return finish(l);
}

int kernel_layout_syscall_exit(struct kernel_layout *l, bool late, const struct abi_captures *also)
{
	struct builder b;

	assert(!also || also->n <= ABI_CAPTURES_MAX);
	if (begin(&b, l, ABI_CAPTURE_FIELDS + 2))
		return -ENOMEM;
	text_addf(&l->fields, "\t\tint64_t _ret;\n");
	add_copy(l, KERNEL_SYSCALL_ARGS, 8);
	if (late)
		add_captured(&b, ABI_CAPTURE_LATE, 1, KERNEL_EXIT_LATE_WORD);
	l->words = l->end;
	add_captures(&b, also, KERNEL_EXIT_WORDS);
	return finish(l);
}

int kernel_layout_syscall_unknown(struct kernel_layout *l, bool is_entry)
{
	struct builder b;

	if (begin(&b, l, 2))
		return -ENOMEM;
	text_addf(&l->fields, "\t\tint64_t _id;\n");
	add_copy(l, KERNEL_SYSCALL_NR, 8);
	if (is_entry) {
		add_raw_arguments(l);
	} else {
		text_addf(&l->fields, "\t\tint64_t _ret;\n");
		add_copy(l, KERNEL_SYSCALL_ARGS, 8);
	}
	return finish(l);
}

void kernel_layout_fini(struct kernel_layout *l)
{
	text_fini(&l->fields);
	free(l->ops);
	*l = (struct kernel_layout){ 0 };
}
