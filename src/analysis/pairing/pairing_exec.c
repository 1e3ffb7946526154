/* SPDX-License-Identifier: MIT */
/*
 * analysis/pairing/pairing_exec.c - a thread executes a program.
 *
 *   (1) the kernel ends all other threads of the process; the thread gets the tid of the first one, and its
 *       execve() goes on under that tid. So the state moves from the old number to the new one
 *   (2) the line of the call is given at this point if the tid changes; the rest of it follows at the exit
 */
#include <errno.h>
#include <string.h>

#include "analysis/pairing/internal.h"

/* The rest of this process is not shown, and its call has no end. */
static void leave_at_exec(struct pairing *j, uint32_t thread, int64_t time_ns)
{
	struct pairing_state *st = &j->states[thread];
	struct pairing_item item;

	if (st->made.call && j->is_wanted[st->made.call - 1]) {
		item = pairing_item_of(j, thread, PAIRING_CALL, time_ns);
		item.is_left = true;
		pairing_give(j, &item);
	}
	st->is_left = true;
	pairing_ended(j, thread);
}

/* The thread @before executes a program, and takes the place of its process's first thread @now. Its
 * call goes on there. */
static void supersede(struct pairing *j, uint32_t now, uint32_t before, int64_t time_ns)
{
	struct pairing_state *st = &j->states[before];
	struct pairing_item item;

	pairing_give_open(j, now, time_ns, "?");
	if (st->made.call && j->is_wanted[st->made.call - 1]) {
		item = pairing_item_of(j, before, PAIRING_CALL, time_ns);
		item.becomes = threads_at(j->run.threads, now)->tid;
		pairing_give(j, &item);
		st->was_given = true;
	}
	item = pairing_item_of(j, now, PAIRING_SUPERSEDED, time_ns);
	j->result.size = 0;
	text_addf(&j->result, "superseded by execve in pid %d",
		  (int)threads_at(j->run.threads, before)->tid);
	item.text = pairing_bytes(&j->result);
	pairing_give(j, &item);
}

int pairing_on_exec(struct pairing *j, const struct event_table *p, const struct trace_event *e)
{
	int64_t tid = pass_number(e, p->field[0], -1);
	int64_t now = threads_of(j->run.threads, e, tid),
		before = threads_of(j->run.threads, e, pass_number(e, p->field[1], tid));
	bool leaves = j->o.leaves_at_exec && tid != j->o.command;
	struct pairing_state *st;

	if (now < 0 || before < 0)
		return -ENOMEM;
	if (!now || !before)
		return 0;
	if (pass_grow(&j->states, &j->n_states, (uint32_t)(now > before ? now : before),
		      sizeof *j->states))
		return -ENOMEM;
	if (leaves && now == before)
		leave_at_exec(j, (uint32_t)now, e->time_ns);
	if (tid == j->o.command) {
		if (j->is_hiding && j->o.cwd && fds_set_cwd(&j->fds, (uint32_t)now, j->o.cwd))
			return -ENOMEM;
		j->is_hiding = false;
	}
	fds_exec(&j->fds, (uint32_t)now);
	st = &j->states[now];
	/* The name of the program is shown on the line that the thread's change of number ends. */
	if (!strcmp(pairing_call(j, &j->states[before]), "execve"))
		pairing_words_program(&j->states[before], p, e);
	if (now != before) {
		supersede(j, (uint32_t)now, (uint32_t)before, e->time_ns);
		pairing_words_fini(st);
		*st = j->states[before];
		j->states[before] = (struct pairing_state){ 0 };
		if (leaves) { /* the line of the call is given: it ends with the thread's new number */
			st->is_left = true;
			pairing_ended(j, (uint32_t)now);
		}
	}
	return st->text.failed ? -ENOMEM : 0;
}
