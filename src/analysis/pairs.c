/* SPDX-License-Identifier: MIT */
/* analysis/pairs.c - see pairs.h. */
#include "analysis/pairs.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum role { ROLE_NONE, ROLE_FILE, ROLE_FORK, ROLE_EXEC, ROLE_DEATH, ROLE_SIGNAL, ROLE_SENT };

static const struct plan_kind kinds[] = {
	{ "lttng_statedump_file_descriptor", ROLE_FILE, { "pid", "fd", "filename", "flags" } },
	{ "sched_process_fork", ROLE_FORK, { "child_tid" } },
	{ "sched_process_exec", ROLE_EXEC, { "tid", "old_tid", "filename" } },
	{ "sched_process_exit", ROLE_DEATH, { NULL } },
	{ "signal_generate", ROLE_SENT, { "sig", "code", "pid", "result" } },
	{ "signal_deliver", ROLE_SIGNAL, { "sig", "code", "sa_handler" } },
};

static uint32_t process_of(struct pairs *j, uint32_t thread)
{
	int64_t process = threads_process(j->run.threads, thread);

	return process < 0 ? thread : (uint32_t)process;
}

static struct call_about about(struct pairs *j, uint32_t thread, const struct trace_event *e)
{
	return (struct call_about){ .fds = j->o.names_fds ? &j->fds : NULL, .process = process_of(j, thread),
				    .threads = j->o.names_pids ? j->run.threads : NULL, .event = e };
}

/* ---------------------------------------------------------------- giving */

static bool is_ours(struct pairs *j, uint32_t thread, int64_t time_ns)
{
	const struct thread *th = threads_at(j->run.threads, thread);
	const struct thread *process = j->o.n_pids ? threads_at(j->run.threads, process_of(j, thread)) : th;
	int i = 0;

	if (time_ns < j->o.range.from_ns || time_ns > j->o.range.to_ns)
		return false;
	if (j->is_hiding && th->tid == j->o.command)
		return false;
	while (i < j->o.n_pids && j->o.pids[i] != th->tid && j->o.pids[i] != process->tid)
		i++;
	return !j->o.n_pids || i < j->o.n_pids;
}

static void give(struct pairs *j, const struct pairs_item *item)
{
	if (j->o.n_paths && (item->kind == PAIRS_CALL || item->kind == PAIRS_LASTING) && !j->states[item->thread].is_about)
		return;
	if (!j->is_over && is_ours(j, item->thread, item->end_ns))
		j->is_over = j->o.give(j->o.context, item);
}

static const char *bytes_of(const struct text *t)
{
	return t->size ? t->bytes : "";
}

static struct pairs_item item_of(const struct pairs *j, uint32_t thread, enum pairs_kind kind, int64_t time_ns)
{
	const struct pairs_state *st = &j->states[thread];
	bool is_call = kind == PAIRS_CALL || kind == PAIRS_LASTING;

	return (struct pairs_item){ .kind = kind, .thread = thread, .begin_ns = is_call ? st->begin_ns : time_ns,
				     .end_ns = time_ns, .name = is_call ? j->calls.names[st->made.call - 1] : "",
				     .text = is_call ? bytes_of(&st->text) : "", .result_text = "",
				     .early_text = is_call ? bytes_of(&st->early) : "",
				     .late_text = is_call ? bytes_of(&st->late) : "", .has_begin = true,
				     .was_given = st->was_given };
}

/* The call in progress will not be seen to return; @result: why, if it is not that something was lost. */
static void give_open(struct pairs *j, uint32_t thread, int64_t time_ns, const char *result)
{
	struct pairs_state *st = &j->states[thread];
	struct pairs_item item;

	if (!st->made.call)
		return;
	item = item_of(j, thread, PAIRS_CALL, time_ns);
	item.result_text = result;
	if (j->is_wanted[st->made.call - 1])
		give(j, &item);
	st->made = (struct call_made){ 0 };
}

/* ---------------------------------------------------------------- calls */

/* @e: the call's beginning, for texts; NULL: they are not there. */
static void read_values(const struct call_class *c, const struct trace_event *e, const struct call_made *m,
			struct call_value values[CALL_ARGS])
{
	for (uint32_t i = 0; i < c->n_fields; i++) {
		const struct ctf_op *op = c->field[i];
		struct call_value *v = &values[i];

		*v = (struct call_value){ .n = m->args[i], .size_bits = (uint8_t)op->size_bits, .is_signed = op->is_signed,
					  .is_address = op->type && op->type->base == 16 };
		if (e && op->code != OP_NUMBER && !ctf_event_text(e->ctf, op, &v->text, &v->text_size))
			v->text = NULL;
	}
}

static struct call_moment moment_of(const struct pairs *j, const struct pairs_state *st, const struct call_about *about)
{
	return (struct call_moment){ .args = st->made.args, .string_bytes = j->o.string_bytes, .about = about };
}

static void read_memory(struct pairs *j, const struct call_class *c, const struct trace_event *e)
{
	j->n_memory = c->memory.n;
	for (int i = 0; i < c->memory.n; i++)
		call_memory_read(&j->memory[i], c->memory.at[i], e->ctf);
}

/* Before which argument a call that lasts ends, as long as it does. */
static uint32_t first_late(const struct pairs *j, const struct pairs_state *st)
{
	const struct kernel_captures at_exit = st->made.class->at_exit;
	uint32_t first = CALL_ARGS;

	for (int i = 0; i < at_exit.n; i++) {
		uint32_t place = call_place(&j->call_plans[st->class], at_exit.at[i]->argument - 1u);

		if (call_memory_waits(at_exit.at[i], st->made.args) && place < first)
			first = place;
	}
	return first;
}

static void join(struct pairs *j, struct pairs_state *st)
{
	const struct call_plan *p = &j->call_plans[st->class];

	st->text.size = st->early.size = st->late.size = 0;
	call_join(&st->text, p, &st->parts, 0, CALL_ARGS);
	call_join(&st->early, p, &st->parts, 0, st->first_late);
	call_join(&st->late, p, &st->parts, st->first_late, CALL_ARGS);
}

static bool is_path(const struct pairs *j, const char *name, size_t size)
{
	for (int i = 0; i < j->o.n_paths; i++)
		if (strlen(j->o.paths[i]) == size && !memcmp(j->o.paths[i], name, size))
			return true;
	return false;
}

/* Whether the call in progress names one of the paths that are wanted, or a descriptor of one. */
static bool is_about(struct pairs *j, uint32_t thread, const struct pairs_state *st, const struct call_value *values, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct call_rule *r = j->call_plans[st->class].rules[i];
		const struct fd_file *f = NULL;

		if (values[i].text && is_path(j, values[i].text, values[i].text_size))
			return true;
		if (r && (r->kind == CALL_FD || r->kind == CALL_AT_FD))
			f = fds_look(&j->fds, process_of(j, thread), (int32_t)values[i].n);
		if (f && f->name && is_path(j, f->name, strlen(f->name)))
			return true;
	}
	return false;
}

/* The arguments of the call that begins with @e. */
static void tell_arguments(struct pairs *j, uint32_t thread, const struct trace_event *e)
{
	struct pairs_state *st = &j->states[thread];
	const struct call_class *c = st->made.class;
	const struct call_about known = about(j, thread, e);
	const struct call_moment moment = moment_of(j, st, &known);
	struct call_value values[CALL_ARGS] = { 0 };

	read_values(c, e, &st->made, values);
	read_memory(j, c, e);
	for (int i = 0; i < j->n_memory; i++)
		if (j->memory[i].what->argument <= c->n_fields)
			values[j->memory[i].what->argument - 1].memory = &j->memory[i];
	st->is_about = j->o.n_paths && is_about(j, thread, st, values, c->n_fields);
	call_arguments(&st->parts, &j->call_plans[st->class], values, c->n_fields, UINT32_MAX, &moment);
	st->first_late = first_late(j, st);
	join(j, st);
}

static void fini_words(struct pairs_state *st)
{
	text_fini(&st->text);
	text_fini(&st->early);
	text_fini(&st->late);
	call_parts_fini(&st->parts);
}

static void forget_words(struct pairs_state *st)
{
	st->text.size = st->early.size = st->late.size = 0;
}

static int enter(struct pairs *j, const struct call_class *c, const struct trace_event *e, uint32_t thread)
{
	struct pairs_state *st = &j->states[thread];

	give_open(j, thread, e->time_ns, "");
	calls_read(c, e, &st->made);
	st->class = trace_class_number(e);
	st->begin_ns = e->time_ns;
	st->epoch = j->run.epoch[TRACE_KERNEL];
	st->was_given = false;
	st->signal = 0;
	forget_words(st);
	if (!strcmp(j->calls.names[c->call], "exit_group")) {
		struct pairs_state *process;

		if (run_grow(&j->states, &j->n_states, process_of(j, thread), sizeof *j->states))
			return -ENOMEM;
		st = &j->states[thread];
		process = &j->states[process_of(j, thread)];
		process->exits = true;
		process->status = (int)st->made.args[0];
	}
	if (c->fd && fds_enter(&j->fds, thread, c, e))
		return -ENOMEM;
	if (!j->o.has_text || !j->is_wanted[c->call])
		return 0;
	tell_arguments(j, thread, e);
	return st->text.failed ? -ENOMEM : 0;
}

static bool makes_child(const char *call)
{
	return !strcmp(call, "clone") || !strcmp(call, "clone3") || !strcmp(call, "fork") || !strcmp(call, "vfork");
}

/* rt_sigreturn restores the registers, and with them the call's number: its end has none. */
static uint32_t call_that_ends(const struct pairs *j, const struct call_class *c, const struct pairs_state *st)
{
	bool returns = st->made.call && !strcmp(j->calls.names[st->made.call - 1], "rt_sigreturn");

	return returns && !strcmp(j->calls.names[c->call], "unknown") ? st->made.call - 1 : c->call;
}

/* "[128]" and "[16]": "[128 => 16]". */
static void add_change(struct text *part, const struct text *now, const char *between)
{
	if (!part->size || part->bytes[0] != '[' || (part->size == now->size && !memcmp(part->bytes, now->bytes, now->size))) {
		part->size = 0;
		text_add(part, now->bytes, now->size);
	} else if (*between == ']') {
		text_addf(part, " => %.*s", (int)now->size, now->bytes);
	} else {
		part->size--;
		text_addf(part, " => %.*s", (int)now->size - 1, now->bytes + 1);
	}
}

/* One thing that the kernel has written where an argument points to. */
static void tell_written(struct pairs *j, struct pairs_state *st, const struct call_memory *m, const struct call_moment *x)
{
	uint32_t i = m->what->argument - 1u;
	struct text now = { 0 };

	if (!(st->parts.uses & 1u << i) || !call_memory_add(&now, m, x)) {
		text_fini(&now);
		return;
	}
	if (m->what->kind == KERNEL_CAPTURE_LENGTH || m->what->kind == KERNEL_CAPTURE_OFFSET) {
		add_change(&st->parts.part[i], &now, m->what->kind == KERNEL_CAPTURE_OFFSET ? "]" : "");
		text_fini(&now);
	} else {
		text_fini(&st->parts.part[i]);
		st->parts.part[i] = now;
	}
	(void)j;
}

/* Texts that were not in memory when the call began. */
static void tell_late_texts(struct pairs *j, struct pairs_state *st, const struct trace_event *e)
{
	const struct call_class *c = st->made.class;
	const char *p = call_memory_late(e->ctf, &j->memory[0]), *end = p ? p + j->memory[0].size : NULL;

	for (uint32_t i = 0; p && i < c->n_fields && p < end; i++) {
		struct text *part = &st->parts.part[i];
		size_t n = strnlen(p, (size_t)(end - p));

		if (c->field[i]->code != OP_STRING)
			continue;
		if (n && part->size > 2 && !memcmp(part->bytes, "\"0x", 3)) {
			part->size = 0;
			call_quoted(part, p, n);
			j->n_late_texts++;
		}
		p += n + 1;
	}
}

/* A new child's number, which the kernel writes for its parent. */
static void tell_child(struct pairs_state *st, const char *name, int64_t result)
{
	if (!strcmp(name, "clone3") && st->parts.part[0].size && strstr(st->parts.part[0].bytes, "CLONE_PARENT_SETTID"))
		text_addf(&st->parts.part[0], " => {parent_tid=[%lld]}", (long long)result);
	if (!strcmp(name, "clone") && st->parts.uses & 4) {
		st->parts.part[2].size = 0;
		text_addf(&st->parts.part[2], "[%lld]", (long long)result);
	}
}

/* What is told behind the result: "([{fd=3, revents=POLLIN}], left {tv_sec=1, tv_nsec=0})". */
static void tell_after(struct pairs *j, const struct call_memory *m, const struct call_moment *x, const char **before)
{
	static const char *const sets[] = { "in ", "out ", "except " };
	bool is_time = m->what->kind == KERNEL_CAPTURE_TIME || m->what->kind == KERNEL_CAPTURE_TIMEVAL;
	struct text t = { 0 };

	if (call_memory_add(&t, m, x) && (m->what->kind != KERNEL_CAPTURE_FDSET || t.size > 2)) {
		text_addf(&j->result, "%s%s%.*s", *before,
			  is_time ? "left " : m->what->kind == KERNEL_CAPTURE_FDSET ? sets[(m->what->argument - 2) % 3] : "",
			  (int)t.size, t.bytes);
		*before = ", ";
	}
	text_fini(&t);
}

/* What is known at a call's end: among the arguments; behind the result; of a call whose beginning was not seen apart. */
static void tell_end(struct pairs *j, const struct call_class *c, const struct trace_event *e, uint32_t thread, bool is_pair,
		     int64_t result)
{
	struct pairs_state *st = &j->states[thread];
	const struct call_about known = about(j, thread, e);
	struct call_moment moment = moment_of(j, st, &known);
	const char *before = " (", *name = j->calls.names[st->made.call - 1];

	moment.is_end = true;
	moment.result = result;
	if (is_pair && c->has_late)
		tell_late_texts(j, st, e);
	read_memory(j, c, e);
	for (int i = 0; i < j->n_memory; i++) {
		const struct call_memory *m = &j->memory[i];

		if (m->what->is_after && result > 0)
			tell_after(j, m, &moment, &before);
		else if (is_pair && !m->what->is_after && (result < 0 || !m->what->is_of_failures))
			tell_written(j, st, m, &moment);
		else if (!is_pair && m->size)
			call_memory_add(&st->late, m, &moment);
	}
	if (*before == ',')
		text_add(&j->result, ")", 1);
	else if (!result && is_pair && (strstr(name, "poll") == name || !strcmp(name, "ppoll") || strstr(name, "select")))
		text_addf(&j->result, " (Timeout)");
	if (is_pair && result > 0)
		tell_child(st, name, result);
	if (is_pair)
		join(j, st);
}

static int leave(struct pairs *j, const struct call_class *c, const struct trace_event *e, uint32_t thread)
{
	struct pairs_state *st = &j->states[thread];
	int64_t result = run_number(e, c->field[0], 0);
	uint32_t call = call_that_ends(j, c, st);
	const char *name = j->calls.names[call];
	bool is_pair = st->made.call == call + 1 && st->epoch == j->run.epoch[TRACE_KERNEL];
	struct call_about known;
	struct pairs_item item;
	int err = 0;

	if (!st->made.call && !result && makes_child(name))
		return 0; /* the child's first */
	if (!is_pair) {
		give_open(j, thread, e->time_ns, "");
		st->made = (struct call_made){ .call = call + 1 };
		st->begin_ns = e->time_ns;
		st->was_given = false;
		st->is_about = false;
		forget_words(st);
	} else if (c->fd || st->made.class->fd) {
		err = fds_leave(&j->fds, thread, process_of(j, thread), &st->made, result);
	}
	if (!strcmp(name, "execve") && !result)
		j->is_hiding = false;
	j->result.size = 0;
	if (j->o.has_text && j->is_wanted[call]) {
		known = about(j, thread, e);
		call_result(&j->result, &j->call_plans[trace_class_number(e)], &st->made, result, &known);
		tell_end(j, c, e, thread, is_pair, result);
	}
	item = item_of(j, thread, PAIRS_CALL, e->time_ns);
	item.has_begin = is_pair;
	item.has_end = true;
	item.result = result;
	item.result_text = bytes_of(&j->result);
	if (j->is_wanted[call])
		give(j, &item);
	st->made = (struct call_made){ 0 };
	return err || j->result.failed || st->late.failed || st->text.failed ? -ENOMEM : 0;
}

/* ---------------------------------------------------------------- other events */

static int see_file(struct pairs *j, const struct plan *p, const struct trace_event *e)
{
	int64_t process = threads_of(j->run.threads, e, run_number(e, p->field[0], -1));
	const char *name;
	size_t size;

	if (process <= 0 || !p->field[2] || !ctf_event_text(e->ctf, p->field[2], &name, &size))
		return process < 0 ? -ENOMEM : 0;
	return fds_dumped(&j->fds, (uint32_t)process, run_number(e, p->field[1], -1),
			  (uint64_t)run_number(e, p->field[3], 0), name, size);
}

static int see_fork(struct pairs *j, const struct plan *p, const struct trace_event *e, uint32_t thread)
{
	int64_t child = threads_of(j->run.threads, e, run_number(e, p->field[0], -1));
	uint32_t parent = process_of(j, thread), process = child > 0 ? process_of(j, (uint32_t)child) : parent;

	return child < 0 ? -ENOMEM : process == parent ? 0 : fds_fork(&j->fds, parent, process);
}

/* "0x7ffe, 0x7ffd": the kernel has the first as a text when the call has succeeded. */
static void name_program(struct pairs *j, struct pairs_state *st, const struct plan *p, const struct trace_event *e)
{
	struct text *part = &st->parts.part[0];
	const char *name;
	size_t size;

	if (!part->size || (part->bytes[0] == '"' && memcmp(part->bytes, "\"0x", 3) != 0) || !p->field[2] ||
	    !ctf_event_text(e->ctf, p->field[2], &name, &size))
		return;
	part->size = 0;
	call_quoted(part, name, size);
	join(j, st);
}

/* The thread that executes gets the number of its process: its call goes on under that number. */
static int see_exec(struct pairs *j, const struct plan *p, const struct trace_event *e)
{
	int64_t tid = run_number(e, p->field[0], -1);
	int64_t now = threads_of(j->run.threads, e, tid), before = threads_of(j->run.threads, e, run_number(e, p->field[1], tid));
	struct pairs_state *st;

	if (now < 0 || before < 0)
		return -ENOMEM;
	if (!now || !before)
		return 0;
	if (run_grow(&j->states, &j->n_states, (uint32_t)(now > before ? now : before), sizeof *j->states))
		return -ENOMEM;
	if (tid == j->o.command)
		j->is_hiding = false;
	fds_exec(&j->fds, (uint32_t)now);
	st = &j->states[now];
	if (now != before) {
		give_open(j, (uint32_t)now, e->time_ns, "?");
		fini_words(st);
		*st = j->states[before];
		j->states[before] = (struct pairs_state){ 0 };
	}
	if (st->made.call && !strcmp(j->calls.names[st->made.call - 1], "execve"))
		name_program(j, st, p, e);
	return st->text.failed ? -ENOMEM : 0;
}

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
static int see_sent(struct pairs *j, const struct plan *p, const struct trace_event *e, uint32_t thread)
{
	int64_t to = threads_of(j->run.threads, e, run_number(e, p->field[2], -1));
	uint32_t process = to > 0 ? process_of(j, (uint32_t)to) : 0;

	if (to <= 0 || run_number(e, p->field[3], 0)) /* another result: nobody gets it */
		return to < 0 ? -ENOMEM : 0;
	if (run_grow(&j->states, &j->n_states, process, sizeof *j->states))
		return -ENOMEM;
	j->states[process].sent = (int)run_number(e, p->field[0], 0);
	j->states[process].sent_code = run_number(e, p->field[1], 0);
	j->states[process].sent_by = threads_at(j->run.threads, process_of(j, thread))->tid;
	return 0;
}

static int see_signal(struct pairs *j, const struct plan *p, const struct trace_event *e, uint32_t thread)
{
	struct pairs_state *st = &j->states[thread];
	struct pairs_state *whole = process_of(j, thread) < j->n_states ? &j->states[process_of(j, thread)] : st;
	int signal = (int)run_number(e, p->field[0], 0);
	int64_t code = run_number(e, p->field[1], 0);
	struct pairs_item item = item_of(j, thread, PAIRS_SIGNAL, e->time_ns);

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
	item.text = bytes_of(&j->result);
	if (whole->sent == run_number(e, p->field[0], 0))
		whole->sent = 0; /* it has come */
	item.result = signal;
	give(j, &item);
	return j->result.failed ? -ENOMEM : 0;
}

static int see_death(struct pairs *j, const struct trace_event *e, uint32_t thread)
{
	struct pairs_state *st = &j->states[thread];
	uint32_t process = process_of(j, thread);
	const struct pairs_state *whole = process < j->n_states ? &j->states[process] : st;
	bool exits = whole->exits || (st->made.call && !strcmp(j->calls.names[st->made.call - 1], "exit"));
	int status = whole->exits ? whole->status : (int)st->made.args[0], signal = st->signal;
	struct pairs_item item;

	give_open(j, thread, e->time_ns, "?");
	item = item_of(j, thread, PAIRS_DEATH, e->time_ns);
	j->result.size = 0;
	if (exits) {
		text_addf(&j->result, "exited with %d", status & 0xff);
	} else if (signal) {
		text_addf(&j->result, "killed by ");
		call_signal(&j->result, signal);
	} else {
		text_addf(&j->result, "ended");
	}
	item.text = bytes_of(&j->result);
	give(j, &item);
	return j->result.failed ? -ENOMEM : 0;
}

static int see(void *context, struct run *run, const struct trace_event *e, uint32_t thread)
{
	struct pairs *j = context;
	uint32_t class = trace_class_number(e);
	const struct call_class *c = &j->calls.classes[class];
	const struct plan *p = &j->plans[class];
	int err = 0;

	(void)run;
	if (!c->is && !p->role)
		return 0;
	if (run_grow(&j->states, &j->n_states, thread, sizeof *j->states))
		return -ENOMEM;
	if (c->is == CALL_ENTRY)
		err = enter(j, c, e, thread);
	else if (c->is == CALL_EXIT)
		err = leave(j, c, e, thread);
	else if (p->role == ROLE_FILE)
		err = see_file(j, p, e);
	else if (p->role == ROLE_FORK)
		err = see_fork(j, p, e, thread);
	else if (p->role == ROLE_EXEC)
		err = see_exec(j, p, e);
	else if (p->role == ROLE_SENT)
		err = see_sent(j, p, e, thread);
	else if (p->role == ROLE_SIGNAL)
		err = see_signal(j, p, e, thread);
	else if (p->role == ROLE_DEATH)
		err = see_death(j, e, thread);
	return err ? err : j->is_over ? -ECANCELED : 0;
}

static int see_lost(void *context, struct run *run, const struct trace_event *e)
{
	struct pairs *j = context;
	const struct pairs_item item = { .kind = PAIRS_LOST, .begin_ns = e->time_ns, .end_ns = e->time_ns, .name = "",
					  .text = "", .early_text = "", .late_text = "", .result_text = "", .lost_events = e->lost_events,
					  .lost_packets = e->lost_packets };

	(void)run;
	if (e->stream->source->domain != TRACE_KERNEL)
		return 0;
	j->is_hiding = false; /* what would end it may be among them */
	if (!j->is_over && e->time_ns >= j->o.range.from_ns)
		j->is_over = j->o.give(j->o.context, &item);
	return j->is_over ? -ECANCELED : 0;
}

/* ---------------------------------------------------------------- the whole */

static void plan_class(void *context, const struct trace_source *s, const struct ctf_event_class *c, uint32_t number)
{
	struct pairs *j = context;
	const struct call_class *class = &j->calls.classes[number];

	(void)s;
	(void)c;
	if (class->is)
		call_plan_make(&j->call_plans[number], j->calls.names[class->call], class->is == CALL_ENTRY ? class : NULL);
}

static int learn_classes(struct pairs *j)
{
	uint32_t n = trace_n_classes(j->run.trace) + 1;
	struct call_plan *call_plans;
	struct plan *plans;
	bool *is_wanted;

	if (n == j->n_classes)
		return 0;
	call_plans = realloc(j->call_plans, n * sizeof *call_plans);
	j->call_plans = call_plans ? call_plans : j->call_plans;
	plans = plan_make(&j->run, kinds, sizeof kinds / sizeof *kinds);
	if (plans) {
		free(j->plans);
		j->plans = plans;
	}
	if (!call_plans || !plans || calls_update(&j->calls, &j->run))
		return -ENOMEM;
	for (uint32_t i = 0; i < j->n_states; i++) /* the array may have moved */
		if (j->states[i].made.class)
			j->states[i].made.class = &j->calls.classes[j->states[i].class];
	is_wanted = realloc(j->is_wanted, (j->calls.n + (size_t)1) * sizeof *is_wanted);
	if (!is_wanted)
		return -ENOMEM;
	j->is_wanted = is_wanted;
	for (; j->n_calls < j->calls.n; j->n_calls++)
		is_wanted[j->n_calls] = !j->o.wants || j->o.wants(j->o.context, j->calls.names[j->n_calls]);
	run_each_class(&j->run, plan_class, j);
	j->n_classes = n;
	return 0;
}

int pairs_open(struct pairs *j, struct trace *t, const struct pairs_options *o, struct diag *d)
{
	int err;

	*j = (struct pairs){ .o = *o, .is_hiding = o->command >= 0 };
	err = run_init(&j->run, t, &o->range, d);
	j->run.sees_before = true; /* for descriptors */
	if (!err && learn_classes(j))
		err = diag_fail(d, -ENOMEM, "no memory for system calls");
	if (err)
		pairs_close(j);
	return err;
}

int pairs_update(struct pairs *j, struct diag *d)
{
	int err = threads_update(j->run.threads, j->run.trace, d);

	return err ? err : learn_classes(j) ? diag_fail(d, -ENOMEM, "no memory for system calls") : 0;
}

int pairs_read(struct pairs *j, struct diag *d)
{
	int err = j->is_over ? 0 : run_all(&j->run, see, see_lost, j, d);

	return j->is_over ? 0 : err;
}

enum pairs_lack pairs_lacks(const struct pairs *j)
{
	enum pairs_lack lacks = PAIRS_LACKS_NOTHING;

	for (uint32_t i = 0; i < j->n_classes && i < j->calls.n_classes; i++) {
		const struct call_class *c = &j->calls.classes[i];

		if (c->is != CALL_ENTRY || !j->is_wanted[c->call])
			continue;
		for (uint32_t k = 0; k < c->n_fields; k++) {
			const struct call_rule *r = j->call_plans[i].rules[k];

			if (r && r->kind == CALL_PATH && c->field[k]->code == OP_NUMBER)
				return PAIRS_LACKS_PATHS;
		}
		if (c->lacks_memory)
			lacks = PAIRS_LACKS_MEMORY;
	}
	return lacks;
}

void pairs_tell_lasting(struct pairs *j, int64_t before_ns)
{
	for (uint32_t i = 0; i < j->n_states && i < threads_n(j->run.threads); i++) {
		struct pairs_state *st = &j->states[i];
		struct pairs_item item;

		if (!st->made.call || st->was_given || st->begin_ns >= before_ns || !j->is_wanted[st->made.call - 1])
			continue;
		item = item_of(j, i, PAIRS_LASTING, st->begin_ns);
		give(j, &item);
		st->was_given = true;
	}
}

void pairs_end(struct pairs *j)
{
	for (uint32_t i = 0; i < j->n_states && i < threads_n(j->run.threads); i++)
		give_open(j, i, j->run.last_ns, "");
}

void pairs_close(struct pairs *j)
{
	for (uint32_t i = 0; i < j->n_states; i++)
		fini_words(&j->states[i]);
	free(j->states);
	free(j->plans);
	free(j->call_plans);
	free(j->is_wanted);
	text_fini(&j->result);
	fds_fini(&j->fds);
	calls_fini(&j->calls);
	run_fini(&j->run);
	*j = (struct pairs){ 0 };
}
