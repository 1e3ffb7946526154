/* SPDX-License-Identifier: MIT */
/* analysis/syscalls/pairing_signals.c - signals that threads are sent and get, and their ends: see internal.h. */
#include "analysis/syscalls/internal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static void add_code(struct text *t, int signal, int64_t code, int64_t from)
{
	const struct call_name *names = signal == SIGCHLD && code > 0 ? call_names_child_code
				      : signal == SIGSEGV && code > 0 ? call_names_fault_code
								      : call_names_signal_code;

	text_addf(t, " {si_signo=");
	call_signal(t, signal);
	text_addf(t, ", si_code=");
	call_one(t, names, code, 32);
	if (from)
		text_addf(t, ", si_pid=%lld", (long long)from);
	text_addf(t, "}");
}

/* Who was sent what, by whom. */
int pairs_see_sent(struct pairs *j, const struct plan *p, const struct trace_event *e, uint32_t thread)
{
	int64_t to = threads_of(j->run.threads, e, run_number(e, p->field[2], -1));
	uint32_t process = to > 0 ? pairs_process(j, (uint32_t)to) : 0;

	if (to <= 0 || run_number(e, p->field[3], 0)) /* another result: nobody gets it */
		return to < 0 ? -ENOMEM : 0;
	if (run_grow(&j->states, &j->n_states, process, sizeof *j->states))
		return -ENOMEM;
	j->states[process].sent = (int)run_number(e, p->field[0], 0);
	j->states[process].sent_code = run_number(e, p->field[1], 0);
	j->states[process].sent_by = threads_at(j->run.threads, pairs_process(j, thread))->tid;
	return 0;
}

int pairs_see_signal(struct pairs *j, const struct plan *p, const struct trace_event *e, uint32_t thread)
{
	struct pairs_state *st = &j->states[thread];
	struct pairs_state *whole = pairs_process(j, thread) < j->n_states ? &j->states[pairs_process(j, thread)] : st;
	int signal = (int)run_number(e, p->field[0], 0);
	int64_t code = run_number(e, p->field[1], 0);
	struct pairs_item item = pairs_item_of(j, thread, PAIRS_SIGNAL, e->time_ns);

	if (signal == SIGKILL && !code && whole->exits)
		return 0; /* so the kernel ends the other threads */
	/* What ends a process the kernel delivers as SIGKILL, whatever it was. */
	if (signal == SIGKILL && !code && whole->sent) {
		signal = whole->sent;
		code = whole->sent_code;
	}

	st->signal = run_number(e, p->field[2], 1) ? 0 : signal;
	j->result.size = 0;
	call_signal(&j->result, signal);
	if (p->field[1])
		add_code(&j->result, signal, code, whole->sent == signal && code < SI_KERNEL ? whole->sent_by : 0);
	item.text = pairs_bytes(&j->result);
	if (whole->sent == run_number(e, p->field[0], 0))
		whole->sent = 0; /* it has come */
	item.result = signal;
	pairs_give(j, &item);
	return j->result.failed ? -ENOMEM : 0;
}

int pairs_see_death(struct pairs *j, const struct trace_event *e, uint32_t thread)
{
	struct pairs_state *st = &j->states[thread];
	uint32_t process = pairs_process(j, thread);
	const struct pairs_state *whole = process < j->n_states ? &j->states[process] : st;
	bool exits = whole->exits || (st->made.call && !strcmp(j->calls.names[st->made.call - 1], "exit"));
	int status = whole->exits ? whole->status : (int)st->made.args[0], signal = st->signal;
	struct pairs_item item;

	pairs_give_open(j, thread, e->time_ns, "?");
	item = pairs_item_of(j, thread, PAIRS_DEATH, e->time_ns);
	j->result.size = 0;
	if (exits) {
		text_addf(&j->result, "exited with %d", status & 0xff);
	} else if (signal) {
		text_addf(&j->result, "killed by ");
		call_signal(&j->result, signal);
	} else {
		text_addf(&j->result, "ended");
	}
	item.text = pairs_bytes(&j->result);
	pairs_give(j, &item);
	return j->result.failed ? -ENOMEM : 0;
}
