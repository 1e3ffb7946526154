/* SPDX-License-Identifier: MIT */
/*
 * analysis/pairing/pairing_numbers.c - which processes are outside the recorder's pid namespace.
 *
 * Events have process numbers of the first pid namespace. Arguments and results of a process in
 * another namespace have other numbers, which would give wrong names. A process is in another
 * namespace if its parent is, if clone, unshare or setns created it there, or if a call returned a
 * number of the process or its child that differs from the recording's. For processes that ran before,
 * a live recording reads /proc.
 */
#include "analysis/pairing/internal.h"

#include <sched.h>
#include <string.h>

void pairing_numbers_task(struct pairing *j, const struct event_table *p,
			  const struct trace_event *e, uint32_t thread)
{
	j->states[thread].child_flags = (uint64_t)pass_number(e, p->field[0], 0);
}

static struct pairing_state *leader_of(struct pairing *j, uint32_t thread)
{
	uint32_t process = pairing_process(j, thread);

	return &j->states[process < j->n_states ? process : thread];
}

/* Of a process that ran before: once. */
static void ask(struct pairing *j, uint32_t thread)
{
	struct pairing_state *leader = leader_of(j, thread);
	const struct thread *th = threads_at(j->run.threads, thread);

	if (leader->numbers_are_asked || !j->o.has_other_numbers)
		return;
	leader->numbers_are_asked = true;
	leader->has_other_numbers |=
		j->o.has_other_numbers(j->o.context, th->pid > 0 ? th->pid : th->tid);
}

bool pairing_numbers_are_ours(struct pairing *j, uint32_t thread)
{
	ask(j, thread);
	return !j->states[thread].has_other_numbers && !leader_of(j, thread)->has_other_numbers;
}

void pairing_numbers_fork(struct pairing *j, uint32_t thread, uint32_t child)
{
	struct pairing_state *parent = &j->states[thread], *st = &j->states[child];
	bool is_other = !pairing_numbers_are_ours(j, thread) || parent->makes_other_numbers ||
			parent->child_flags & CLONE_NEWPID;

	st->numbers_are_asked = true;
	st->has_other_numbers = is_other;
	parent->child_flags = 0;
	parent->child = child;
}

static bool is_one_of(const char *name, const char *const *all)
{
	while (*all && strcmp(*all, name) != 0)
		all++;
	return *all;
}

/* Whether the call in progress returned another number than the recording has. */
static bool shows_other_number(const struct pairing *j, uint32_t thread, const char *call,
			       int64_t result)
{
	static const char *const of_thread[] = { "gettid", "set_tid_address", NULL },
				 *const of_child[] = { "clone", "clone3", "fork", "vfork", NULL };
	const struct thread *th = threads_at(j->run.threads, thread);
	uint32_t child = j->states[thread].child;

	if (is_one_of(call, of_thread))
		return th->tid > 0 && result != th->tid;
	if (!strcmp(call, "getpid"))
		return th->pid > 0 && result != th->pid;
	return child && is_one_of(call, of_child) &&
	       result != threads_at(j->run.threads, child)->tid;
}

void pairing_numbers_learn(struct pairing *j, uint32_t thread, const char *call, int64_t result,
			   bool is_pair)
{
	struct pairing_state *st = &j->states[thread];
	const int64_t *args = st->made.args;

	if (result > 0 && shows_other_number(j, thread, call, result))
		st->has_other_numbers = leader_of(j, thread)->has_other_numbers = true;
	if (!result && is_pair &&
	    ((!strcmp(call, "unshare") && args[0] & CLONE_NEWPID) ||
	     (!strcmp(call, "setns") && (!args[1] || args[1] & CLONE_NEWPID))))
		st->makes_other_numbers = true; /* its own stay */
	if (result)
		st->child = 0;
}

bool pairing_numbers_need(const char *call)
{
	static const char *const all[] = { "gettid", "getpid",		"unshare",
					   "setns",  "set_tid_address", NULL };

	return is_one_of(call, all);
}
