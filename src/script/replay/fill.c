/* SPDX-License-Identifier: MIT */
/* script/replay/fill.c - the frame of a handler, filled from an event: only what the handler reads. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stacks/public.h"
#include "rules/pattern.h"
#include "script/replay/bind.h"

enum { COMM_MAX = 15 }; /* of the kernel's names of threads */

/* ---------------------------------------------------------------- the thread */

static const struct thread *thread_of(const struct fill *f)
{
	return threads_at(f->threads, f->thread);
}

static const struct thread *process_of(const struct fill *f)
{
	int64_t process = threads_process(f->threads, f->thread);

	return threads_at(f->threads, process > 0 ? (uint32_t)process : f->thread);
}

static const struct script_string *name_of(struct fill *f, const struct thread *t)
{
	/* All idle threads have tid 0. */
	if (!t->tid && f->e->stream->source->domain == TRACE_KERNEL) {
		f->scratch.size = 0;
		text_addf(&f->scratch, "swapper/%" PRIu32, f->e->cpu);
		return fill_string(f, f->scratch.bytes, f->scratch.size);
	}
	return fill_string(f, t->name, strnlen(t->name, t->name_size));
}

static int64_t pid_of(const struct fill *f)
{
	const struct thread *t = thread_of(f);

	return t->pid >= 0 ? t->pid : process_of(f)->tid;
}

static int64_t context(const struct fill *f, enum bound_context which, int64_t otherwise)
{
	return pass_number(f->e, f->class->context[which], otherwise);
}

/* The number of the parent's process among the threads; 0: unknown. */
static uint32_t parent_of(const struct fill *f)
{
	const struct thread *t = process_of(f);
	uint32_t process = (uint32_t)(t - threads_at(f->threads, 0));
	int64_t parent = 0;

	if (process < f->n_parents && f->parents[process] > 0)
		parent = threads_of(f->threads, f->e, f->parents[process]);
	else if (t->parent)
		parent = threads_process(f->threads, t->parent);
	return parent > 0 ? (uint32_t)parent : 0;
}

static int64_t ppid_of(const struct fill *f)
{
	uint32_t parent = parent_of(f);

	return context(f, BOUND_PPID, parent ? threads_at(f->threads, parent)->tid : 0);
}

/* ---------------------------------------------------------------- whose event */

static const char *kernel_function(struct fill *f)
{
	int64_t address = context(f, BOUND_FUNCTION, 0);
	const char *name =
		address && f->r->kernel ? kallsyms_find(f->r->kernel, (uint64_t)address) : NULL;

	return name ? name : "";
}

static bool is_named(const struct thread *t, const char *program)
{
	size_t n = strlen(program), have = strnlen(t->name, t->name_size);

	return have == (n < COMM_MAX ? n : COMM_MAX) && !memcmp(t->name, program, have);
}

bool fill_is_of(struct fill *f, const struct bound *b)
{
	const struct replay_point *p = b->point;
	const struct thread *t = thread_of(f);

	if (p->pid && pid_of(f) != p->pid)
		return false;
	if (p->program && !is_named(process_of(f), p->program) && !is_named(t, p->program))
		return false;
	switch (p->at) {
	case AT_CALLED:
	case AT_RETURNED:
		if (f->class->context[BOUND_FUNCTION] && p->known &&
		    (p->known->kind == REPLAY_GRAPH_ENTRY || p->known->kind == REPLAY_GRAPH_EXIT ||
		     p->known->kind == REPLAY_FUNCTION)) {
			const char *name = kernel_function(f);

			return pattern_glob(p->event, p->event + strlen(p->event), name,
					    name + strlen(name));
		}
		return true;
	case AT_PROCESS_END:
		return t->tid == pid_of(f);
	case AT_THREAD_END:
		return t->tid != pid_of(f);
	case AT_THREAD_BEGIN: {
		int64_t child = threads_of(f->threads, f->e, context(f, BOUND_CHILD, -1));

		return child > 0 && threads_at(f->threads, (uint32_t)child)->made == MADE_THREAD;
	}
	default:
		return true;
	}
}

/* ---------------------------------------------------------------- standard cells */

static const struct script_string *text_of(struct fill *f, const char *text)
{
	return fill_string(f, text ? text : "", text ? strlen(text) : 0);
}

/* Addresses of the kernel are those with the highest bit. */
static const struct script_string *stack_of(struct fill *f, bool is_user)
{
	uint64_t at[CALLSTACK_FRAMES_MAX];
	int n = f->class->has_stack ? callstack_read(f->e, f->class->stack_scope, at) : 0;

	f->scratch.size = 0;
	text_add(&f->scratch, "", 0);
	for (int i = 0; i < n; i++)
		if (at[i] && (at[i] >> 63 == 0) == is_user)
			text_addf(&f->scratch, "%s0x%" PRIx64, f->scratch.size ? " " : "", at[i]);
	return fill_string(f, f->scratch.bytes ? f->scratch.bytes : "", f->scratch.size);
}

static const struct script_string *function_name(struct fill *f, const struct bound *b)
{
	if (f->function)
		return text_of(f, f->function);
	if (f->class->context[BOUND_FUNCTION])
		return text_of(f, kernel_function(f));
	if (b->probe->point.name)
		return text_of(f, b->probe->point.name);
	return text_of(f, f->r->by_class[trace_class_number(f->e)]->subject);
}

static bool is_in_user_mode(const struct fill *f, const struct bound *b)
{
	uint64_t at[CALLSTACK_FRAMES_MAX];

	if (b->point->at != AT_SAMPLE)
		return b->probe->point.is_user;
	return !f->class->has_stack || !callstack_read(f->e, f->class->stack_scope, at) ||
	       at[0] >> 63 == 0;
}

static union script_cell number(int64_t n)
{
	return (union script_cell){ .number = n };
}

static union script_cell text(const struct script_string *s)
{
	return (union script_cell){ .text = s };
}

static union script_cell standard(struct fill *f, const struct bound *b, enum script_standard which)
{
	switch (which) {
	case STANDARD_TIME_NS:
		return number(f->e->time_ns);
	case STANDARD_MONOTONIC_NS:
		return number((int64_t)f->e->clock);
	case STANDARD_CPU:
		return number((int32_t)f->e->cpu);
	case STANDARD_PID:
		return number(pid_of(f));
	case STANDARD_TID:
		if (b->point->at == AT_THREAD_BEGIN)
			return number(context(f, BOUND_CHILD, 0));
		return number(thread_of(f)->tid);
	case STANDARD_PPID:
		return number(ppid_of(f));
	case STANDARD_UID:
		return number(context(f, BOUND_UID, 0));
	case STANDARD_EUID:
		return number(context(f, BOUND_EUID, context(f, BOUND_UID, 0)));
	case STANDARD_GID:
		return number(context(f, BOUND_GID, 0));
	case STANDARD_EGID:
		return number(context(f, BOUND_EGID, context(f, BOUND_GID, 0)));
	case STANDARD_CGROUP:
		return number(context(f, BOUND_CGROUP, 0));
	case STANDARD_ADDRESS:
		return number(context(f, BOUND_IP, context(f, BOUND_FUNCTION, 0)));
	case STANDARD_EXECNAME:
		return text(name_of(f, thread_of(f)));
	case STANDARD_PROCNAME:
		return text(name_of(f, process_of(f)));
	case STANDARD_PARENT_NAME:
		return text(parent_of(f) ? name_of(f, threads_at(f->threads, parent_of(f)))
					 : text_of(f, ""));
	case STANDARD_POINT:
		return text(text_of(f, b->probe->point.text));
	case STANDARD_FUNCTION:
		return text(function_name(f, b));
	case STANDARD_MODULE:
		return text(text_of(f, b->probe->point.module));
	case STANDARD_KERNEL_STACK:
		return text(stack_of(f, false));
	case STANDARD_USER_STACK:
		return text(stack_of(f, true));
	case STANDARD_IS_RETURN:
		return number(b->probe->point.is_return);
	case STANDARD_IS_USER:
		return number(is_in_user_mode(f, b));
	default: /* not recorded */
		return script_standard_type(which) == SCRIPT_STRING ? text(text_of(f, ""))
								    : number(0);
	}
}

/* ---------------------------------------------------------------- slots */

static int64_t whole(double real)
{
	return real >= 9223372036854775807.0	? INT64_MAX
	       : real <= -9223372036854775808.0 ? INT64_MIN
	       : real != real			? 0
						: (int64_t)real;
}

static union script_cell scratch(struct fill *f)
{
	return text(fill_string(f, f->scratch.bytes ? f->scratch.bytes : "", f->scratch.size));
}

static union script_cell field_text(struct fill *f, const struct bound_slot *s,
				    const struct filter_value *v)
{
	size_t size = v->more;

	if (s->field.filter_type != FILTER_STRING) {
		fill_label(&f->scratch, &s->field, v);
		return scratch(f);
	}
	if (s->value->limit > 0 && size > (uint64_t)s->value->limit)
		size = (size_t)s->value->limit;
	if (!s->value->is_quoted)
		return text(fill_string(f, v->text, size));
	fill_quoted(&f->scratch, v->text, size);
	return scratch(f);
}

static union script_cell field_number(struct fill *f, const struct bound_slot *s,
				      const struct filter_value *v)
{
	if (s->field.filter_type == FILTER_F64)
		return number(whole(v->real) + s->value->index);
	if (s->field.filter_type != FILTER_STRING)
		return number((int64_t)v->bits + s->value->index);
	f->scratch.size = 0;
	text_add(&f->scratch, v->text, v->more);
	return number(f->scratch.bytes ? strtoll(f->scratch.bytes, NULL, 0) : 0);
}

bool fill_field(struct fill *f, const struct bound_slot *s, union script_cell *cell)
{
	struct filter_value v;
	int64_t thread;

	f->scratch.size = 0;
	if (s->is_many) {
		fill_field_text(&f->scratch, f->e->ctf, s->value->path);
		*cell = scratch(f);
		return true;
	}
	if (!s->is_there || !match_field_get(&s->field, f->e->ctf, &v))
		return false;
	if (s->value->kind == VALUE_LABEL) {
		fill_label(&f->scratch, &s->field, &v);
		*cell = scratch(f);
	} else if (s->type == SCRIPT_STRING) {
		*cell = field_text(f, s, &v);
	} else {
		*cell = field_number(f, s, &v);
	}
	if (s->value->kind != VALUE_PROCESS)
		return true;
	thread = threads_of(f->threads, f->e, cell->number);
	thread = thread > 0 ? threads_process(f->threads, (uint32_t)thread) : 0;
	if (thread > 0)
		cell->number = threads_at(f->threads, (uint32_t)thread)->tid;
	return true;
}

static bool slot(struct fill *f, const struct bound *b, const struct bound_slot *s,
		 union script_cell *cell)
{
	f->scratch.size = 0;
	if (s->value->of_entry)
		return entries_take(f->entries, f, s, cell);
	switch (s->value->kind) {
	case VALUE_FIELD:
	case VALUE_LABEL:
	case VALUE_PROCESS:
		return fill_field(f, s, cell);
	case VALUE_ALL:
		if (f->e->ctf)
			fill_all(&f->scratch, f->e->ctf);
		*cell = scratch(f);
		return true;
	case VALUE_NAME:
	case VALUE_CALL:
		*cell = text(function_name(f, b));
		return true;
	case VALUE_ARGSTR:
		*cell = text(text_of(f, f->argstr));
		return true;
	case VALUE_RETSTR:
		*cell = text(text_of(f, f->retstr));
		return true;
	case VALUE_CALL_NUMBER:
		*cell = number(b->call == UINT32_MAX ? -1 : (int64_t)b->call);
		return true;
	}
	return false;
}

void fill_frame(struct fill *f, const struct bound *b, struct script_frame *frame)
{
	frame->faults = 0;
	fill_forget_strings(f);
	for (uint64_t needs = b->probe->handler->needs; needs; needs &= needs - 1) {
		enum script_standard which = (enum script_standard)__builtin_ctzll(needs);

		if (which < STANDARD_N)
			frame->standard[which] = standard(f, b, which);
	}
	for (uint32_t i = 0; i < b->n_slots; i++) {
		const struct bound_slot *s = &b->slots[i];

		if (slot(f, b, s, &frame->slot[i]))
			continue;
		frame->slot[i] = s->type == SCRIPT_STRING ? text(text_of(f, "")) : number(0);
		frame->faults |= 1ull << i;
	}
}
