/* SPDX-License-Identifier: MIT */
/*
 * replay/needs.c - the events that the probes of a script need, for the recorder.
 *
 * An event of applications that no handler needs always is filtered where it happens (push.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/write/public.h"
#include "filter/compile.h"
#include "kernel/threads/event_contexts.h"
#include "script/replay/internal.h"
#include "script/replay/push.h"

enum { PATTERNS_MAX = 4096, MANY_CALLS = 64 };

/* What names processes: without these, a thread that is new has no name. */
static const char *const naming[] = { "sched_process_exec", "sched_process_fork",
				      "sched_process_exit", "task_newtask", "task_rename" };

static void add_kernel(struct replay_needs *n, const char *pattern)
{
	if (!pattern || n->n_kernel == PATTERNS_MAX) {
		n->has_failed = true;
		return;
	}
	for (int i = 0; i < n->n_kernel; i++)
		if (!strcmp(n->kernel[i], pattern))
			return;
	n->kernel[n->n_kernel++] = pattern;
}

struct finder {
	struct push push; /* first */
	const struct script_probe *probe;
	struct script_vm *vm;
};

/* -G may have set it. */
static int64_t global_value(struct push *p, const struct script_variable *v)
{
	struct script_vm *vm = ((struct finder *)p)->vm;

	return values_globals(script_vm_values(vm))[v->index].number;
}

/* A plain field of an application's event.  Programs that define the event otherwise, without the
 * field, do not record it. */
static enum push_kind find_field(struct push *p, const struct script_expr *e, struct push_field *f)
{
	const struct script_probe *probe = ((struct finder *)p)->probe;
	const struct replay_point *point = probe->point.data;
	const struct replay_value *v = probe->slots[e->slot].data;
	const struct ctf_type *type;
	enum filter_error why;
	struct match_field m;

	if ((v->kind != VALUE_FIELD && v->kind != VALUE_LABEL) || strpbrk(v->path, ".[") ||
	    !replay_field(point->known, v->path, &m, &why) || why != FILTER_FINE)
		return PUSH_UNSURE;
	if (v->kind == VALUE_LABEL || v->index || v->limit || v->is_quoted)
		return PUSH_THERE;
	f->name = v->path;
	if (m.filter_type == FILTER_STRING)
		return v->type == SCRIPT_STRING ? PUSH_TEXT : PUSH_THERE;
	type = m.type->kind == CTF_ENUM ? m.type->of : m.type;
	if (m.filter_type != FILTER_INTEGER || v->type != SCRIPT_LONG ||
	    type->kind != CTF_INTEGER || !type->size_bits || type->size_bits > 64)
		return PUSH_THERE;
	if (type->size_bits == 64 && !type->is_signed)
		return PUSH_WIDE;
	f->high = (int64_t)(UINT64_MAX >> (64 - type->size_bits + type->is_signed));
	f->low = type->is_signed ? -f->high - 1 : 0;
	return PUSH_NUMBER;
}

static struct replay_app *find_app(struct replay_needs *n, const char *name)
{
	for (int i = 0; i < n->n_apps; i++)
		if (!strcmp(n->apps[i].name, name))
			return &n->apps[i];
	n->apps[n->n_apps] = (struct replay_app){ .name = name };
	return &n->apps[n->n_apps++];
}

static bool does_compile(const char *filter)
{
	struct filter_code code;

	return !filter_compile(filter, &code, NULL);
}

bool replay_needs_filter(const struct replay *r, const struct script_probe *probe,
			 struct script_vm *vm, struct text *t)
{
	const struct replay_point *p = probe->point.data;
	struct finder f = { { .find = find_field,
			      .global = global_value,
			      .string_bytes = script_vm_limits(vm)->string_bytes },
			    probe,
			    vm };

	return r->live && p->known && !p->known->is_kernel &&
	       push_handler(&f.push, probe->handler, t);
}

/* Adds the needs of @probe to those of other probes of its event. */
static void add_app(struct replay_needs *n, const struct replay *r,
		    const struct script_probe *probe, struct script_vm *vm)
{
	struct replay_app *e =
		find_app(n, ((const struct replay_point *)probe->point.data)->known->name);

	text_addf(&e->filter, e->filter.size ? " || (" : "(");
	if (!replay_needs_filter(r, probe, vm, &e->filter))
		e->is_whole = true;
	text_addf(&e->filter, ")");
	if (e->filter.failed || e->is_whole || !does_compile(e->filter.bytes))
		e->is_whole = true;
}

static const struct {
	enum script_standard cell;
	const char *context; /* of the kernel's events and of applications' */
} contexts[] = {
	{ STANDARD_PPID, "ppid" },     { STANDARD_PARENT_NAME, "ppid" }, { STANDARD_UID, "uid" },
	{ STANDARD_EUID, "euid" },     { STANDARD_GID, "gid" },		 { STANDARD_EGID, "egid" },
	{ STANDARD_CGROUP, "cgroup" },
};

static void add_contexts(struct replay_needs *n, uint64_t needs)
{
	for (size_t i = 0; i < sizeof contexts / sizeof *contexts; i++) {
		if (!(needs & 1ull << contexts[i].cell))
			continue;
		kernel_contexts_parse(contexts[i].context, &n->kernel_contexts, NULL);
		context_parse(contexts[i].context, &n->app_contexts, NULL);
	}
	if (needs & 1ull << STANDARD_USER_STACK)
		context_parse("callstack", &n->app_contexts, NULL);
}

/* What selects a kernel event with the call stack, if the handler needs it. */
static const char *with_stack(const struct script_probe *probe)
{
	const uint64_t stacks = 1ull << STANDARD_USER_STACK | 1ull << STANDARD_KERNEL_STACK;

	return probe->handler->needs & stacks ? "stack:" : "";
}

static void add_probe(struct replay_needs *n, const struct replay *r,
		      const struct script_probe *probe, struct script_vm *vm)
{
	const struct replay_point *p = probe->point.data;
	struct script_arena *a = r->world.arena;
	const char *stack = with_stack(probe);
	uint32_t n_calls = p->at == AT_EXIT ? n->n_exits : n->n_entries;
	const char *call = p->event && n_calls < MANY_CALLS ? p->event : "*";

	add_contexts(n, probe->handler->needs);
	if (p->at == AT_ENTRY || p->at == AT_EXIT) {
		add_kernel(n, replay_format(a, "%ssyscall_entry_%s", stack, call));
		if (p->at == AT_EXIT)
			add_kernel(n, replay_format(a, "%ssyscall_exit_%s", stack, call));
	} else if (p->at == AT_SAMPLE) {
		add_kernel(n, replay_format(a, "profile:%lld", (long long)p->hz));
	} else if (p->known && !p->known->is_kernel) {
		add_app(n, r, probe, vm);
	} else {
		add_kernel(n, replay_format(a, "%s%s", stack, p->event));
	}
}

static uint32_t count_points(const struct replay *r, const struct script_program *program,
			     enum replay_at at)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < program->n_probes; i++) {
		const struct script_world_point *w = &program->probes[i]->point;

		n += replay_has(&r->world, w) && ((const struct replay_point *)w->data)->at == at;
	}
	return n;
}

int replay_needs_find(struct replay_needs *n, const struct replay *r,
		      const struct script_program *program, struct script_vm *vm, struct diag *d)
{
	*n = (struct replay_needs){
		.apps = calloc((size_t)program->n_probes + 1, sizeof *n->apps),
		.kernel = calloc(PATTERNS_MAX, sizeof *n->kernel),
	};
	if (!n->apps || !n->kernel)
		return diag_fail(d, -ENOMEM, "no memory for events");
	n->n_entries = count_points(r, program, AT_ENTRY);
	n->n_exits = count_points(r, program, AT_EXIT);
	for (uint32_t i = 0; i < program->n_probes; i++)
		if (replay_has(&r->world, &program->probes[i]->point))
			add_probe(n, r, program->probes[i], vm);
	for (size_t i = 0; n->n_kernel && i < sizeof naming / sizeof *naming; i++)
		add_kernel(n, naming[i]);
	if (n->n_apps > PATTERNS_MAX || n->has_failed)
		return diag_fail(d, -E2BIG, "the probes mean more than %d kinds of events",
				 PATTERNS_MAX);
	return 0;
}

void replay_needs_fini(struct replay_needs *n)
{
	for (int i = 0; i < n->n_apps; i++)
		text_fini(&n->apps[i].filter);
	free(n->apps);
	free(n->kernel);
	*n = (struct replay_needs){ .n_apps = 0 };
}
