/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/calls.c - looks up calls, arguments and captured memory in each event class,
 * once.
 */
#include "analysis/syscalls/calls.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/table.h"
#include "analysis/syscalls/memory.h"
#include "analysis/syscalls/fds.h"

static const struct call_class no_call = { .is = CALL_NONE };

static uint32_t call_of(struct calls *c, const char *name)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (!strcmp(c->names[i], name))
			return i;
	assert(c->n < c->n_classes);
	c->names[c->n] = name;
	return c->n++;
}

/* Whether @op is a field that is shown; *@depth is updated for the next op. */
static bool shows(const struct ctf_op *op, int *depth)
{
	bool is_outside = !*depth;

	switch (op->code) {
	case OP_OPEN:
	case OP_LOOP:
		++*depth;
		break;
	case OP_CLOSE:
	case OP_CLOSE_ARRAY:
		--*depth;
		return false;
	case OP_NUMBER:
	case OP_STRING:
	case OP_LEB128:
	case OP_ARRAY:
	case OP_TEXT_ARRAY:
	case OP_SEQUENCE:
	case OP_TEXT_SEQUENCE:
		break;
	default:
		return false;
	}
	return is_outside && !op->is_hidden && op->name;
}

static void take_fields(struct call_class *to, const struct ctf_event_class *c)
{
	const struct ctf_program *p = c->program;
	int depth = 0;

	for (uint32_t i = p ? p->payload : 0; p && i < p->n_ops && to->n_fields < CALL_ARGS; i++) {
		const struct ctf_op *op = &p->ops[i];

		/* A sequence is the memory that an argument points to, not an argument. */
		if (op->scope != CTF_PAYLOAD || !shows(op, &depth) || op->code == OP_SEQUENCE)
			continue;
		to->name[to->n_fields] = op->name;
		to->field[to->n_fields++] = op;
	}
}

static struct abi_captures memory_of(const char *call, bool is_at_exit,
				     const struct ctf_event_class *c)
{
	const struct abi_captures all =
		capture_of_call(call, is_at_exit, CAPTURE_EXTRA | CAPTURE_ENVIRONMENT);
	struct abi_captures found = { 0 };

	for (int i = 0; i < all.n; i++)
		if (call_memory_is_in(all.at[i], c))
			found.at[found.n++] = all.at[i];
	return found;
}

static struct abi_captures files_of(const char *call, const struct ctf_event_class *c)
{
	const struct abi_captures all = capture_of_call(call, true, CAPTURE_FILES);
	struct abi_captures found = { 0 };

	for (int i = 0; i < all.n; i++)
		if (all.at[i]->is_of_file && call_memory_is_in(all.at[i], c))
			found.at[found.n++] = all.at[i];
	return found;
}

/* The room of class @number; NULL: it was described before, or there is no memory. */
static struct call_class *new_class(struct calls *c, uint32_t number)
{
	struct call_class *made;

	if (c->classes[number] != &no_call)
		return NULL;
	made = calloc(1, sizeof *made);
	if (!made)
		c->lacks_room = true;
	else
		c->classes[number] = made;
	return made;
}

static void plan_class(void *context, const struct trace_source *s, const struct ctf_event_class *c,
		       uint32_t number)
{
	struct calls *calls = context;
	const char *name = !strncmp(c->name, "compat_", 7) ? c->name + 7 : c->name;
	bool is_entry = !strncmp(name, "syscall_entry_", 14);
	bool is_exit = !strncmp(name, "syscall_exit_", 13);
	struct call_class *to = NULL;

	if (s->domain == TRACE_KERNEL && (is_entry || is_exit))
		to = new_class(calls, number);
	if (!to)
		return;
	if (is_entry) {
		*to = (struct call_class){ .is = CALL_ENTRY,
					   .call = call_of(calls, name + 14),
					   .fd = fds_call(name + 14) };
		take_fields(to, c);
		to->memory = memory_of(name + 14, false, c);
		to->at_exit = capture_of_call(name + 14, true, CAPTURE_EXTRA);
		to->lacks_memory =
			capture_of_call(name + 14, false, CAPTURE_EXTRA).n > to->memory.n;
		calls->has_entries = true;
	} else {
		*to = (struct call_class){ .is = CALL_EXIT, .call = call_of(calls, name + 13) };
		to->field[0] = ctf_class_find(c, CTF_PAYLOAD, "ret");
		to->memory = memory_of(name + 13, true, c);
		to->files = files_of(name + 13, c);
		to->has_late = call_memory_at_exit_is_in(c);
		calls->has_exits = true;
	}
}

int calls_update(struct calls *c, const struct pass *r)
{
	uint32_t n = trace_n_classes(r->trace) + 1;
	const char **names;
	const struct call_class **classes;

	if (n == c->n_classes)
		return 0;
	names = realloc(c->names, n * sizeof *names);
	c->names = names ? names : c->names;
	classes = names ? realloc(c->classes, n * sizeof *classes) : NULL;
	if (!classes)
		return -ENOMEM;
	c->classes = classes;
	while (c->n_classes < n)
		classes[c->n_classes++] = &no_call;
	pass_each_class(r, plan_class, c);
	return c->lacks_room ? -ENOMEM : 0;
}

int calls_init(struct calls *c, const struct pass *r)
{
	*c = (struct calls){ 0 };
	return calls_update(c, r);
}

void calls_fini(struct calls *c)
{
	for (uint32_t i = 0; i < c->n_classes; i++)
		if (c->classes[i] != &no_call)
			free((void *)c->classes[i]);
	free(c->names);
	free(c->classes);
	*c = (struct calls){ 0 };
}

void calls_read(const struct call_class *class, const struct trace_event *e, struct call_made *m)
{
	assert(class->is == CALL_ENTRY && class->n_fields <= CALL_ARGS);
	*m = (struct call_made){ .class = class, .call = class->call + 1 };
	for (uint32_t i = 0; i < class->n_fields; i++)
		m->args[i] = pass_number(e, class->field[i], 0);
}

const char *calls_object(const struct call_made *m, int64_t *number)
{
	static const char *const objects[] = { "fd", "uaddr", "epfd", "out_fd", "fd_in" };
	const char *name = m->class && m->class->n_fields ? m->class->name[0] : NULL;

	for (size_t i = 0; name && i < sizeof objects / sizeof *objects; i++)
		if (!strcmp(name, objects[i])) {
			*number = m->args[0];
			return objects[i];
		}
	return NULL;
}
