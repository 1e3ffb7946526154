/* SPDX-License-Identifier: MIT */
/* kernel/threads/thread_changes.c - applies reported changes to the table of threads.
 *
 * A change becomes a new version of the thread from the change's time on. Data that the change does
 * not report is read from /proc. */
#include "kernel/threads/thread_changes.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

#define INTO_CGROUP 0x200000000ull /* clone3's CLONE_INTO_CGROUP */
#define OTHER_NAMESPACES                                                                           \
	(CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID |              \
	 CLONE_NEWTIME | CLONE_NEWUSER | CLONE_NEWUTS)

#define SETTABLE (KERNEL_CONTEXT_PRIORITIES | KERNEL_CONTEXT_NAMESPACES)

static void apply_birth(struct thread_table *table, const struct kernel_change *change)
{
	struct thread *parent = threads_meet(table, change->by),
		      *t = threads_find_or_add(table, change->tid);
	bool is_thread = change->flags & CLONE_THREAD;
	const struct kernel_thread_state *from;
	uint32_t to_read = 0, own_fields = KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_VPID) |
					   KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_VTID) |
					   KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_PID_NS) |
					   KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_TIME_NS);
	struct thread_version *v = t ? threads_add_version(table, t, change->ns) : NULL;

	if (!v)
		return;
	t->dead_ns = 0; /* another thread had the same number */
	t->has_request = false;
	t->n_reported++;
	if (parent) {
		from = &thread_at(parent, change->ns)->state;
		v->state = *from;
		v->state.number[KERNEL_CONTEXT_PPID] =
			from->number[is_thread || change->flags & CLONE_PARENT
					     ? KERNEL_CONTEXT_PPID
					     : KERNEL_CONTEXT_PID];
		v->state.number[KERNEL_CONTEXT_VTID] = change->tid;
	}
	if (!is_thread)
		v->state.number[KERNEL_CONTEXT_PID] = v->state.number[KERNEL_CONTEXT_VPID] =
			change->tid;
	memset(v->state.name, 0, sizeof v->state.name);
	memccpy(v->state.name, change->text, 0, KERNEL_PROCNAME_BYTES - 1);
	t->scanned_ns = change->ns;
	/* The parent's data does not show the namespaces that the child is created in. */
	if (!parent || change->flags & OTHER_NAMESPACES)
		to_read = parent ? table->proc_only : ~KERNEL_CONTEXTS_REPORTED;
	if (change->flags & INTO_CGROUP)
		to_read |= KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_CGROUP);
	if (table->mask & own_fields)
		to_read |= own_fields;
	if (to_read)
		threads_reread(table, t, change->ns, to_read);
}

static void apply_cgroup(struct thread_table *table, struct thread *leader,
			 const struct kernel_change *change)
{
	int32_t pid = thread_newest(leader)->state.number[KERNEL_CONTEXT_PID];

	for (int i = 0; i < THREAD_BUCKETS; i++)
		for (struct thread *t = table->buckets[i]; t; t = t->next) {
			struct thread_version *v;

			if (t->dead_ns || !t->n ||
			    (t != leader &&
			     (pid != leader->tid ||
			      thread_newest(t)->state.number[KERNEL_CONTEXT_PID] != pid)))
				continue;
			v = threads_add_version(table, t, change->ns);
			if (v)
				snprintf(v->state.cgroup, sizeof v->state.cgroup, "%s",
					 change->text);
		}
}

static void apply_exec(struct thread_table *table, struct thread *t,
		       const struct kernel_change *change)
{
	struct thread *before = change->by != change->tid ? threads_find(table, change->by) : NULL;
	struct thread_version *v =
		before && before->n ? threads_add_version(table, t, change->ns) : NULL;

	if (v) {
		const struct kernel_thread_state leader = v->state;

		v->state = thread_newest(before)->state;
		v->state.number[KERNEL_CONTEXT_VTID] = leader.number[KERNEL_CONTEXT_VTID];
		memcpy(v->state.name, leader.name, sizeof leader.name); /* reported just before */
		t->dead_ns = 0;
		before->dead_ns = change->ns;
	}
	if (table->mask & KERNEL_CONTEXT_CREDENTIALS && kernel_thread_is_set_id(t->tid))
		threads_reread(table, t, change->ns, ~KERNEL_CONTEXTS_REPORTED);
	/* A program that starts another one often changes these first, as nice and unshare do. */
	if (!table->has_setters)
		threads_verify(table, t, change->ns, SETTABLE, SETTABLE);
}

/* Capabilities are not known, so a thread that is not root is taken to have none. */
static void set_ids(struct kernel_thread_state *s, enum kernel_setter call, const int32_t ids[2])
{
	bool of_user = call == KERNEL_SETUID || call == KERNEL_SETREUID || call == KERNEL_SETRESUID;
	int32_t *real = &s->number[of_user ? KERNEL_CONTEXT_UID : KERNEL_CONTEXT_GID];
	int32_t *effective = &s->number[of_user ? KERNEL_CONTEXT_EUID : KERNEL_CONTEXT_EGID];

	if (call == KERNEL_SETUID || call == KERNEL_SETGID) {
		*real = s->number[KERNEL_CONTEXT_EUID] ? *real : ids[0];
		*effective = ids[0];
		return;
	}
	*real = ids[0] == -1 ? *real : ids[0];
	*effective = ids[1] == -1 ? *effective : ids[1];
}

/* The arguments give users and groups. They are used because the thread may end before /proc can be
 * read. */
static void apply_rights(struct thread_table *table, struct thread *t,
			 const struct kernel_change *change)
{
	bool is_request = t->has_request && t->call == change->call;
	struct thread_version *v = is_request ? threads_add_version(table, t, change->ns) : NULL;

	t->has_request = false;
	t->n_reported++;
	if (v)
		set_ids(&v->state, change->call, t->ids);
	else if (!is_request && t->stamped_ns < change->ns) /* else the last read of /proc includes
						        * it: one read serves many changes at
						        * once */
		threads_verify(table, t, change->ns, table->proc_only,
			       change->call == KERNEL_SETPRIORITY ? KERNEL_CONTEXT_PRIORITIES
								  : KERNEL_CONTEXT_NAMESPACES);
}

void threads_change(void *arg, const struct kernel_change *change)
{
	struct thread_table *table = arg;
	struct thread *t;
	struct thread_version *v;

	if (change->kind == KERNEL_CHANGE_BIRTH) {
		apply_birth(table, change);
		return;
	}
	t = threads_meet(table, change->tid);
	if (!t)
		return;
	switch (change->kind) {
	case KERNEL_CHANGE_BIRTH:
		break;
	case KERNEL_CHANGE_NAME:
		v = threads_add_version(table, t, change->ns);
		if (v) {
			memset(v->state.name, 0, sizeof v->state.name);
			memccpy(v->state.name, change->text, 0, KERNEL_PROCNAME_BYTES - 1);
		}
		break;
	case KERNEL_CHANGE_EXEC:
		apply_exec(table, t, change);
		break;
	case KERNEL_CHANGE_CGROUP:
		apply_cgroup(table, t, change);
		break;
	case KERNEL_CHANGE_REQUESTED:
		t->has_request = true;
		t->call = change->call;
		memcpy(t->ids, change->ids, sizeof t->ids);
		break;
	case KERNEL_CHANGE_GRANTED:
		apply_rights(table, t, change);
		break;
	case KERNEL_CHANGE_END:
		t->dead_ns = change->ns;
		break;
	}
}
