/* SPDX-License-Identifier: MIT */
/*
 * analysis/pairing/pairing_signals.c - signals that threads are sent and receive, and exits of
 * threads: see internal.h.
 */
#include "analysis/pairing/internal.h"
#include "analysis/syscalls/structs.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static void add_code(struct text *t, int signal, int64_t code, int64_t from)
{
	const struct call_name *names = call_siginfo_codes(signal, code);

	text_addf(t, " {si_signo=");
	call_signal(t, signal);
	text_addf(t, ", si_code=");
	call_one(t, names, code, 32);
	if (from)
		text_addf(t, ", si_pid=%lld", (long long)from);
	text_addf(t, "}");
}

/* Reads the siginfo that BPF programs recorded. False if there is none: the kernel has none for some
 * of its own signals. */
static bool read_info(struct pairing *j, const struct trace_event *e)
{
	static const struct abi_capture siginfo = { .call = "", .kind = ABI_CAPTURE_SIGINFO };
	int32_t signal = 0;

	if (!call_memory_is_in(&siginfo, e->ctf->class))
		return false;
	call_memory_read(&j->memory[0], &siginfo, e->ctf);
	if (j->memory[0].size == PAIRING_SIGINFO)
		memcpy(&signal, j->memory[0].bytes, sizeof signal);
	return signal;
}

/* Remembers the last signal sent to each process, its code and its sender. */
int pairing_on_sent(struct pairing *j, const struct event_table *p, const struct trace_event *e,
		    uint32_t thread)
{
	int64_t to = threads_of(j->run.threads, e, pass_number(e, p->field[2], -1));
	uint32_t process = to > 0 ? pairing_process(j, (uint32_t)to) : 0;

	if (to <= 0 || pass_number(e, p->field[3], 0)) /* any other result: it is not delivered */
		return to < 0 ? -ENOMEM : 0;
	if (pass_grow(&j->states, &j->n_states, process, sizeof *j->states))
		return -ENOMEM;
	j->states[process].sent = (int)pass_number(e, p->field[0], 0);
	j->states[process].sent_code = pass_number(e, p->field[1], 0);
	memset(j->states[process].sent_info, 0, PAIRING_SIGINFO);
	if (read_info(j, e))
		memcpy(j->states[process].sent_info, j->memory[0].bytes, PAIRING_SIGINFO);
	j->states[process].sent_by = threads_at(j->run.threads, pairing_process(j, thread))->tid;
	return 0;
}

static bool take_sent_info(struct pairing *j, const struct pairing_state *leader)
{
	int32_t signal;

	memcpy(&signal, leader->sent_info, sizeof signal);
	memcpy(j->memory[0].bytes, leader->sent_info, PAIRING_SIGINFO);
	return signal;
}

int pairing_on_signal(struct pairing *j, const struct event_table *p, const struct trace_event *e,
		      uint32_t thread)
{
	struct pairing_state *st = &j->states[thread];
	struct pairing_state *leader = pairing_process(j, thread) < j->n_states
					       ? &j->states[pairing_process(j, thread)]
					       : st;
	int signal = (int)pass_number(e, p->field[0], 0);
	int64_t code = pass_number(e, p->field[1], 0);
	struct pairing_item item = pairing_item_of(j, thread, PAIRING_SIGNAL, e->time_ns);
	bool has_info;

	if (signal == SIGKILL && !code && leader->exits)
		return 0; /* the kernel ends the other threads this way */
	has_info = read_info(j, e);
	/* The kernel delivers every fatal signal as SIGKILL, whatever its number was. */
	if (signal == SIGKILL && !code && leader->sent) {
		signal = leader->sent;
		code = leader->sent_code;
		has_info = take_sent_info(j, leader);
	}

	st->signal = pass_number(e, p->field[2], 1) ? 0 : signal;
	if (signal == SIGKILL) { /* the program ends; the signal is not delivered to it */
		leader->sent = 0;
		return 0;
	}
	j->result.size = 0;
	call_signal(&j->result, signal);
	if (has_info) {
		text_addf(&j->result, " ");
		call_siginfo(&j->result, j->memory[0].bytes);
	} else if (p->field[1]) {
		add_code(&j->result, signal, code,
			 leader->sent == signal && (code <= 0 || signal == SIGCHLD)
				 ? leader->sent_by
				 : 0);
	}
	item.text = pairing_bytes(&j->result);
	if (leader->sent == pass_number(e, p->field[0], 0))
		leader->sent = 0; /* it is delivered */
	item.result = signal;
	pairing_give(j, &item);
	return j->result.failed ? -ENOMEM : 0;
}

/* Whether @thread, the first of its process, ends because another one executes a program. That one
 * takes its place. */
static bool gives_way(const struct pairing *j, uint32_t thread, int signal)
{
	uint32_t n =
		j->n_states < threads_n(j->run.threads) ? j->n_states : threads_n(j->run.threads);

	if (pairing_process(j, thread) != thread || (signal && signal != SIGKILL))
		return false; /* a program that is executed kills the others */
	for (uint32_t i = 0; i < n; i++)
		if (i != thread && pairing_executes(j, &j->states[i]) &&
		    pairing_process(j, i) == thread)
			return true;
	return false;
}

int pairing_on_death(struct pairing *j, const struct trace_event *e, uint32_t thread)
{
	struct pairing_state *st = &j->states[thread];
	uint32_t process = pairing_process(j, thread);
	const struct pairing_state *leader = process < j->n_states ? &j->states[process] : st;
	bool exits = leader->exits ||
		     (st->made.call && !strcmp(j->calls.names[st->made.call - 1], "exit"));
	int status = leader->exits ? leader->status : (int)st->made.args[0], signal = st->signal;
	struct pairing_item item;

	pairing_give_open(j, thread, e->time_ns, "?");
	if (!exits && gives_way(j, thread, signal)) {
		pairing_ended(j, thread);
		return 0;
	}
	item = pairing_item_of(j, thread, PAIRING_DEATH, e->time_ns);
	j->result.size = 0;
	if (exits) {
		text_addf(&j->result, "exited with %d", status & 0xff);
	} else if (signal) {
		text_addf(&j->result, "killed by ");
		call_signal(&j->result, signal);
	} else {
		text_addf(&j->result, "ended");
	}
	item.text = pairing_bytes(&j->result);
	pairing_give(j, &item);
	pairing_ended(j, thread);
	return j->result.failed ? -ENOMEM : 0;
}
