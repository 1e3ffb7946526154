/* SPDX-License-Identifier: MIT */
/* script/replay/bind.c - probes bound to the classes of their events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stacks/public.h"
#include "kernel/tracefs/public.h"
#include "script/replay/bind.h"

static void bind_slot(struct bound_slot *to, const struct replay_value *v, enum script_type type,
		      const struct replay_event *e, const struct ctf_event_class *c)
{
	struct replay_event of = *e;
	enum filter_error why;

	*to = (struct bound_slot){ .value = v, .type = type, .is_there = true };
	of.class = c;
	if (v->path && (!v->of_entry || e->kind == REPLAY_ENTRY)) {
		to->is_there = replay_field(&of, v->path, &to->field, &why);
		to->is_many = to->is_there && why == FILTER_IS_MANY;
		if (to->is_many && v->kind != VALUE_LABEL)
			to->is_there = false;
	}
}

static uint32_t call_number(const struct replay_event *e)
{
	for (int i = 0; i < KERNEL_SYSCALLS_MAX; i++) {
		const char *name = kernel_syscall_name(i);

		if (name && !strcmp(name, e->subject))
			return (uint32_t)i;
	}
	return UINT32_MAX;
}

static int bind_probe(struct bound *to, const struct script_probe *probe,
		      const struct replay_event *e, const struct ctf_event_class *c)
{
	*to = (struct bound){ .probe = probe,
			      .point = probe->point.data,
			      .n_slots = probe->handler->n_slots,
			      .call = UINT32_MAX };
	to->slots = calloc(to->n_slots + (size_t)1, sizeof *to->slots);
	if (!to->slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < to->n_slots; i++)
		bind_slot(&to->slots[i], probe->slots[i].data, probe->handler->slots[i].type, e, c);
	if (e->kind == REPLAY_ENTRY || e->kind == REPLAY_EXIT)
		to->call = call_number(e);
	return 0;
}

static void bind_contexts(struct bound_class *to, const struct replay_event *e,
			  const struct ctf_event_class *c)
{
	static const char *const names[BOUND_CONTEXTS][2] = {
		[BOUND_UID] = { "uid", "vuid" },    [BOUND_EUID] = { "euid", "veuid" },
		[BOUND_GID] = { "gid", "vgid" },    [BOUND_EGID] = { "egid", "vegid" },
		[BOUND_PPID] = { "ppid", "vppid" }, [BOUND_CGROUP] = { "cgroup_id", NULL },
		[BOUND_IP] = { "ip", NULL },
	};

	for (int i = 0; i < BOUND_CONTEXTS; i++)
		for (int k = 0; k < 2 && names[i][k] && !to->context[i]; k++)
			to->context[i] = ctf_class_find(c, CTF_CONTEXT, names[i][k]);
	if (!to->context[BOUND_IP] && e->is_kernel && e->kind != REPLAY_OTHER)
		to->context[BOUND_IP] = ctf_class_find(c, CTF_PAYLOAD, "ip");
	to->context[BOUND_FUNCTION] = e->is_kernel ? pass_function(c) : NULL;
	if (!strcmp(e->name, "sched_process_fork"))
		to->context[BOUND_CHILD] = ctf_class_find(c, CTF_PAYLOAD, "child_tid");
	to->has_stack = callstack_find(c, &to->stack_scope);
	to->is_dump = !strcmp(e->name, "lttng_statedump_process_state");
	if (to->is_dump) {
		to->dump[0] = ctf_class_find(c, CTF_PAYLOAD, "tid");
		to->dump[1] = ctf_class_find(c, CTF_PAYLOAD, "ppid");
	}
}

/* Values that @p reads at the exit of the call that begins with events @e. */
static int bind_kept(struct bound_class *to, const struct script_probe *p,
		     const struct replay_event *e, const struct ctf_event_class *c)
{
	const struct replay_point *point = p->point.data;

	if (e->kind != REPLAY_ENTRY || point->at != AT_EXIT || !point->event ||
	    strcmp(point->event, e->subject) != 0)
		return 0;
	for (uint32_t i = 0; i < p->handler->n_slots; i++) {
		const struct replay_value *v = p->slots[i].data;
		struct bound_slot *kept;

		if (!v->of_entry)
			continue;
		kept = realloc(to->kept, (to->n_kept + (size_t)1) * sizeof *kept);
		if (!kept)
			return -ENOMEM;
		to->kept = kept;
		bind_slot(&kept[to->n_kept++], v, p->handler->slots[i].type, e, c);
	}
	return 0;
}

int bind_class(struct bound_class *to, const struct replay *r, const struct script_program *program,
	       const struct replay_event *e, const struct ctf_event_class *c)
{
	*to = (struct bound_class){ .is_bound = true };
	bind_contexts(to, e, c);
	if (!c->program)
		return 0; /* its events cannot be decoded */
	for (uint32_t i = 0; i < program->n_probes; i++) {
		const struct script_probe *p = program->probes[i];
		struct bound *at;

		if (!replay_has(&r->world, &p->point))
			continue;
		if (bind_kept(to, p, e, c))
			return -ENOMEM;
		if (!replay_point_is_at(p->point.data, e))
			continue;
		at = realloc(to->at, (to->n + (size_t)1) * sizeof *at);
		if (!at)
			return -ENOMEM;
		to->at = at;
		if (bind_probe(&at[to->n++], p, e, c))
			return -ENOMEM;
	}
	return 0;
}

void bind_fini(struct bound_class *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		free(c->at[i].slots);
	free(c->at);
	free(c->kept);
	*c = (struct bound_class){ 0 };
}
