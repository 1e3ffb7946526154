/* SPDX-License-Identifier: MIT */
/*
 * analysis/pairing/pairing.c - joins the entry and the exit of each system call.
 *
 * Each thread has at most one call in progress. An exit completes it only if both are of the same
 * call and of the same epoch; otherwise each is passed on alone.
 */
#include "analysis/pairing/internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stacks/callstack.h"

enum role {
	ROLE_NONE,
	ROLE_FILE,
	ROLE_SOCKET,
	ROLE_FORK,
	ROLE_EXEC,
	ROLE_DEATH,
	ROLE_SIGNAL,
	ROLE_SENT,
	ROLE_TASK
};

static const struct event_table_kind kinds[] = {
	{ "lttng_statedump_file_descriptor",
	  ROLE_FILE,
	  { "pid", "fd", "filename", "flags", "mode", "rdev" } },
	{ "lttng_statedump_socket", ROLE_SOCKET, { "pid", "fd" } },
	{ "sched_process_fork", ROLE_FORK, { "child_tid" } },
	{ "task_newtask", ROLE_TASK, { "clone_flags" } },
	{ "sched_process_exec", ROLE_EXEC, { "tid", "old_tid", "filename" } },
	{ "sched_process_exit", ROLE_DEATH, { NULL } },
	{ "signal_generate", ROLE_SENT, { "sig", "code", "pid", "result" } },
	{ "signal_deliver", ROLE_SIGNAL, { "sig", "code", "sa_handler" } },
};

/* ---------------------------------------------------------------- passing on */

bool pairing_chooses(const struct pairing *j, uint32_t thread)
{
	const struct thread *th = threads_at(j->run.threads, thread);
	const struct thread *process =
		j->o.n_pids && !j->o.is_alone
			? threads_at(j->run.threads, pairing_process(j, thread))
			: th;
	int i = 0;

	if (j->o.is_alone && j->o.command >= 0)
		return th->tid == j->o.command;
	while (i < j->o.n_pids && j->o.pids[i] != th->tid && j->o.pids[i] != process->tid)
		i++;
	return !j->o.n_pids || i < j->o.n_pids;
}

static bool is_ours(struct pairing *j, uint32_t thread, int64_t time_ns)
{
	if (time_ns < j->o.range.from_ns || time_ns > j->o.range.to_ns)
		return false;
	if (j->is_hiding && threads_at(j->run.threads, thread)->tid == j->o.command)
		return false;
	return !j->states[thread].is_left && pairing_chooses(j, thread);
}

/* A recording does not have the number of threads that live before their first event. */
static void count_thread(struct pairing *j, uint32_t thread, bool is_new)
{
	struct pairing_state *st = &j->states[thread];

	if (st->is_counted || !pairing_chooses(j, thread))
		return;
	st->is_counted = true;
	j->n_threads += is_new || !j->o.n_threads;
}

void pairing_ended(struct pairing *j, uint32_t thread)
{
	j->n_threads -= j->states[thread].is_counted && j->n_threads;
	j->states[thread].is_counted = false;
}

void pairing_give(struct pairing *j, const struct pairing_item *item)
{
	if (j->o.n_paths && (item->kind == PAIRING_CALL || item->kind == PAIRING_LASTING) &&
	    !j->states[item->thread].is_about)
		return;
	if (!j->is_over && is_ours(j, item->thread, item->end_ns))
		j->is_over = j->o.give(j->o.context, item);
}

struct pairing_item pairing_item_of(struct pairing *j, uint32_t thread, enum pairing_kind kind,
				    int64_t time_ns)
{
	struct pairing_state *st = &j->states[thread];
	bool is_call = kind == PAIRING_CALL || kind == PAIRING_LASTING;

	assert(thread < j->n_states && (!is_call || st->made.call));
	if (is_call && !st->is_joined)
		pairing_words_join(j, st);
	return (struct pairing_item){ .kind = kind,
				      .thread = thread,
				      .begin_ns = is_call ? st->begin_ns : time_ns,
				      .end_ns = time_ns,
				      .name = is_call ? j->calls.names[st->made.call - 1] : "",
				      .text = is_call ? pairing_bytes(&st->text) : "",
				      .result_text = "",
				      .early_text = is_call ? pairing_bytes(&st->early) : "",
				      .late_text = is_call ? pairing_bytes(&st->late) : "",
				      .dump = is_call ? pairing_bytes(&st->dump) : "",
				      .last_call = st->last_call ? j->calls.names[st->last_call - 1]
								 : "",
				      .has_begin = true,
				      .was_given = st->was_given,
				      .stack = st->stack,
				      .n_stack = is_call ? st->n_stack : 0,
				      .clock = st->stack_clock,
				      .n_threads = j->n_threads };
}

void pairing_give_open(struct pairing *j, uint32_t thread, int64_t time_ns, const char *result)
{
	struct pairing_state *st = &j->states[thread];
	struct pairing_item item;

	if (!st->made.call)
		return;
	item = pairing_item_of(j, thread, PAIRING_CALL, time_ns);
	item.result_text = result;
	if (j->is_wanted[st->made.call - 1])
		pairing_give(j, &item);
	st->made = (struct call_made){ 0 };
}

const char *pairing_call(const struct pairing *j, const struct pairing_state *st)
{
	return st->made.call ? j->calls.names[st->made.call - 1] : "";
}

bool pairing_executes(const struct pairing *j, const struct pairing_state *st)
{
	const char *name = pairing_call(j, st);

	return !strcmp(name, "execve") || !strcmp(name, "execveat");
}

/* ---------------------------------------------------------------- calls */

/* An event of a call has the stack if it was recorded with it: the exit, or in recordings of others the
 * entry. */
static int take_stack(struct pairing *j, struct pairing_state *st, const struct trace_event *e)
{
	enum ctf_scope scope;

	if (!j->o.has_stacks || !callstack_find(e->ctf->class, &scope))
		return 0;
	if (!st->stack)
		st->stack = malloc(PAIRING_FRAMES_MAX * sizeof *st->stack);
	if (!st->stack)
		return -ENOMEM;
	st->n_stack = callstack_read_user(e, scope, st->stack, PAIRING_FRAMES_MAX);
	st->stack_clock = e->clock;
	return 0;
}

static int enter(struct pairing *j, const struct call_class *c, const struct trace_event *e,
		 uint32_t thread)
{
	struct pairing_state *st = &j->states[thread];

	assert(c->is == CALL_ENTRY);
	pairing_give_open(j, thread, e->time_ns, "");
	calls_read(c, e, &st->made);
	st->class = trace_class_number(e);
	st->last_call = st->made.call;
	st->begin_ns = e->time_ns;
	st->epoch = j->run.epoch[TRACE_KERNEL];
	st->was_given = false;
	st->signal = 0;
	pairing_words_forget(st);
	st->n_stack = 0;
	if (take_stack(j, st, e))
		return -ENOMEM;
	if (!strcmp(j->calls.names[c->call], "exit_group")) {
		struct pairing_state *process;

		if (pass_grow(&j->states, &j->n_states, pairing_process(j, thread),
			      sizeof *j->states))
			return -ENOMEM;
		st = &j->states[thread];
		process = &j->states[pairing_process(j, thread)];
		process->exits = true;
		process->status = (int)st->made.args[0];
	}
	if (c->fd && fds_enter(&j->fds, thread, c, e))
		return -ENOMEM;
	if (!j->o.has_text || !j->is_wanted[c->call] || !pairing_chooses(j, thread))
		return 0;
	pairing_words_begin(j, thread, e);
	return st->text.failed ? -ENOMEM : 0;
}

static bool makes_child(const char *call)
{
	return !strcmp(call, "clone") || !strcmp(call, "clone3") || !strcmp(call, "fork") ||
	       !strcmp(call, "vfork");
}

/* rt_sigreturn restores the registers and with them the number of the call, so its exit has
 * none. The kernel starts every program as if execve() had done it, not execveat(). */
static uint32_t call_that_ends(const struct pairing *j, const struct call_class *c,
			       const struct pairing_state *st)
{
	bool returns = st->made.call && !strcmp(j->calls.names[st->made.call - 1], "rt_sigreturn");

	if (!strcmp(j->calls.names[c->call], "execve") && pairing_executes(j, st))
		return st->made.call - 1;
	return returns && !strcmp(j->calls.names[c->call], "unknown") ? st->made.call - 1 : c->call;
}

/* The process of a command waits for its recording in read(): the first call of such a recording
 * ends there, and execve() is the next. A read() is passed on only if another call follows. */
static void pass_waiter(struct pairing *j)
{
	struct pairing_item item = { .kind = PAIRING_CALL,
				     .thread = j->waiter - 1,
				     .begin_ns = j->waiter_ns,
				     .end_ns = j->waiter_ns,
				     .name = "read",
				     .text = "",
				     .early_text = "",
				     .late_text = "",
				     .last_call = "",
				     .dump = "",
				     .result_text = "1",
				     .result = 1,
				     .has_end = true,
				     .n_threads = j->n_threads };

	j->waiter = 0;
	pairing_give(j, &item);
}

static bool is_waiter(struct pairing *j, uint32_t call, int64_t result)
{
	return j->may_wait && result == 1 && !strcmp(j->calls.names[call], "read") &&
	       j->is_wanted[call];
}

static int leave(struct pairing *j, const struct call_class *c, const struct trace_event *e,
		 uint32_t thread)
{
	struct pairing_state *st = &j->states[thread];
	int64_t result = pass_number(e, c->field[0], 0);
	uint32_t call = call_that_ends(j, c, st);
	const char *name = j->calls.names[call];
	bool is_pair = st->made.call == call + 1 && st->epoch == j->run.epoch[TRACE_KERNEL];
	struct pairing_item item;
	int err = 0;

	assert(c->is == CALL_EXIT);
	if (!st->made.call && !result && makes_child(name))
		return 0; /* the first exit of a new child */
	if (!is_pair && is_waiter(j, call, result)) {
		j->waiter = thread + 1;
		j->waiter_ns = e->time_ns;
		return 0;
	}
	if (!is_pair) {
		pairing_give_open(j, thread, e->time_ns, "");
		st->n_stack = 0;
		st->made = (struct call_made){ .call = call + 1 };
		st->begin_ns = e->time_ns;
		st->was_given = false;
		st->is_about = false;
		pairing_words_forget(st);
	} else if (c->fd || st->made.class->fd) {
		uint32_t process = pairing_process(j, thread);

		err = fds_leave(
			&j->fds, thread, process, &st->made, result,
			&(struct fds_exit){ c, e, threads_at(j->run.threads, process)->tid });
	}
	if (!strcmp(name, "execve") && !result)
		j->is_hiding = false;
	if (j->o.names_pids)
		pairing_numbers_learn(j, thread, name, result, is_pair);
	j->result.size = 0;
	if (j->o.has_text && j->is_wanted[call] && pairing_chooses(j, thread))
		pairing_words_end(j, c, e, thread, is_pair, result);
	if (take_stack(j, st, e))
		return -ENOMEM;
	item = pairing_item_of(j, thread, PAIRING_CALL, e->time_ns);
	item.has_begin = is_pair;
	item.has_end = true;
	item.result = result;
	item.result_text = pairing_bytes(&j->result);
	if (j->is_wanted[call])
		pairing_give(j, &item);
	st->made = (struct call_made){ 0 };
	return err || j->result.failed || st->late.failed || st->text.failed ? -ENOMEM : 0;
}

/* ---------------------------------------------------------------- other events */

static int on_file(struct pairing *j, const struct event_table *p, const struct trace_event *e)
{
	int64_t process = threads_of(j->run.threads, e, pass_number(e, p->field[0], -1));
	const char *name;
	int64_t fd;
	size_t size;

	if (process <= 0 || !p->field[2] || !ctf_event_text(e->ctf, p->field[2], &name, &size))
		return process < 0 ? -ENOMEM : 0;
	fd = pass_number(e, p->field[1], -1);
	if (fds_dumped(&j->fds, (uint32_t)process, fd, (uint64_t)pass_number(e, p->field[3], 0),
		       name, size))
		return -ENOMEM;
	fds_device(&j->fds, (uint32_t)process, fd, (uint32_t)pass_number(e, p->field[4], 0),
		   (uint64_t)pass_number(e, p->field[5], 0));
	return 0;
}

static int on_socket(struct pairing *j, const struct event_table *p, const struct trace_event *e)
{
	int64_t process = threads_of(j->run.threads, e, pass_number(e, p->field[0], -1));

	if (process <= 0)
		return process < 0 ? -ENOMEM : 0;
	return fds_socket_dumped(&j->fds, (uint32_t)process, pass_number(e, p->field[1], -1), e);
}

static int on_fork(struct pairing *j, const struct event_table *p, const struct trace_event *e,
		   uint32_t thread)
{
	int64_t tid = pass_number(e, p->field[0], -1), child = threads_of(j->run.threads, e, tid);
	uint32_t parent = pairing_process(j, thread),
		 process = child > 0 ? pairing_process(j, (uint32_t)child) : parent;

	if (child < 0 ||
	    (child && pass_grow(&j->states, &j->n_states, (uint32_t)child, sizeof *j->states)))
		return -ENOMEM;
	if (child && j->o.names_pids)
		pairing_numbers_fork(j, thread, (uint32_t)child);
	if (child && tid != j->o.command) {
		j->states[child].is_left = j->states[thread].is_left;
		count_thread(j, (uint32_t)child, true);
	}
	return process == parent ? 0 : fds_fork(&j->fds, parent, process);
}

static int on_event(void *context, struct pass *run, const struct trace_event *e, uint32_t thread)
{
	struct pairing *j = context;
	uint32_t class = trace_class_number(e);
	const struct call_class *c = j->calls.classes[class];
	const struct event_table *p = &j->plans[class];
	int err = 0;

	(void)run;
	if (!c->is && !p->role)
		return 0;
	if (pass_grow(&j->states, &j->n_states, thread, sizeof *j->states))
		return -ENOMEM;
	if (c->is)
		count_thread(j, thread, false);
	if (j->waiter && c->is == CALL_ENTRY && thread == j->waiter - 1 &&
	    !strcmp(j->calls.names[c->call], "execve"))
		j->waiter = 0;
	else if (c->is && j->waiter)
		pass_waiter(j);
	if (c->is == CALL_ENTRY)
		err = enter(j, c, e, thread);
	else if (c->is == CALL_EXIT)
		err = leave(j, c, e, thread);
	else if (p->role == ROLE_FILE)
		err = on_file(j, p, e);
	else if (p->role == ROLE_SOCKET)
		err = on_socket(j, p, e);
	else if (p->role == ROLE_FORK)
		err = on_fork(j, p, e, thread);
	else if (p->role == ROLE_TASK && j->o.names_pids)
		pairing_numbers_task(j, p, e, thread);
	else if (p->role == ROLE_EXEC)
		err = pairing_on_exec(j, p, e);
	else if (p->role == ROLE_SENT)
		err = pairing_on_sent(j, p, e, thread);
	else if (p->role == ROLE_SIGNAL)
		err = pairing_on_signal(j, p, e, thread);
	else if (p->role == ROLE_DEATH)
		err = pairing_on_death(j, e, thread);
	j->may_wait &= !c->is;
	return err ? err : j->is_over ? -ECANCELED : 0;
}

static bool is_of_command(const struct trace *t)
{
	for (uint32_t i = 0; i < trace_n_sources(t); i++) {
		const char *subject = ctf_meta_env(trace_source(t, i)->meta, "duet_subject");

		if (subject && !strcmp(subject, "command"))
			return true;
	}
	return false;
}

static int on_lost(void *context, struct pass *run, const struct trace_event *e)
{
	struct pairing *j = context;
	const struct pairing_item item = { .kind = PAIRING_LOST,
					   .begin_ns = e->time_ns,
					   .end_ns = e->time_ns,
					   .name = "",
					   .text = "",
					   .early_text = "",
					   .late_text = "",
					   .dump = "",
					   .result_text = "",
					   .lost_events = e->lost_events,
					   .lost_packets = e->lost_packets };

	(void)run;
	if (e->stream->source->domain != TRACE_KERNEL)
		return 0;
	j->is_hiding = false; /* the exec may be among the lost events */
	if (!j->is_over && e->time_ns >= j->o.range.from_ns)
		j->is_over = j->o.give(j->o.context, &item);
	return j->is_over ? -ECANCELED : 0;
}

/* ---------------------------------------------------------------- open, read, close */

static void plan_class(void *context, const struct trace_source *s, const struct ctf_event_class *c,
		       uint32_t number)
{
	struct pairing *j = context;
	const struct call_class *class = j->calls.classes[number];

	(void)s;
	(void)c;
	if (class->is)
		call_plan_make(&j->call_plans[number], j->calls.names[class->call],
			       class->is == CALL_ENTRY ? class : NULL);
}

static int learn_classes(struct pairing *j)
{
	uint32_t n = trace_n_classes(j->run.trace) + 1;
	struct call_plan *call_plans;
	struct event_table *plans;
	bool *is_wanted;

	if (n == j->n_classes)
		return 0;
	call_plans = realloc(j->call_plans, n * sizeof *call_plans);
	j->call_plans = call_plans ? call_plans : j->call_plans;
	plans = event_table_make(&j->run, kinds, sizeof kinds / sizeof *kinds);
	if (plans) {
		free(j->plans);
		j->plans = plans;
	}
	if (!call_plans || !plans || calls_update(&j->calls, &j->run))
		return -ENOMEM;
	is_wanted = realloc(j->is_wanted, (j->calls.n + (size_t)1) * sizeof *is_wanted);
	if (!is_wanted)
		return -ENOMEM;
	j->is_wanted = is_wanted;
	for (; j->n_calls < j->calls.n; j->n_calls++)
		is_wanted[j->n_calls] =
			!j->o.wants || j->o.wants(j->o.context, j->calls.names[j->n_calls]);
	pass_each_class(&j->run, plan_class, j);
	j->n_classes = n;
	return 0;
}

int pairing_open(struct pairing *j, struct trace *t, const struct pairing_options *o,
		 struct diag *d)
{
	int err;

	*j = (struct pairing){ .o = *o, .is_hiding = o->command >= 0, .n_threads = o->n_threads };
	err = pass_init(&j->run, t, &o->range, d);
	j->may_wait = !err && o->command < 0 && is_of_command(t);
	j->run.wants_earlier = true; /* the table of descriptors needs them */
	if (!err && learn_classes(j))
		err = diag_fail(d, -ENOMEM, "no memory for system calls");
	if (err)
		pairing_close(j);
	return err;
}

int pairing_update(struct pairing *j, struct diag *d)
{
	int err = threads_update(j->run.threads, j->run.trace, d);

	return err		  ? err
	       : learn_classes(j) ? diag_fail(d, -ENOMEM, "no memory for system calls")
				  : 0;
}

int pairing_read(struct pairing *j, struct diag *d)
{
	int err = j->is_over ? 0 : pass_all(&j->run, on_event, on_lost, j, d);

	return j->is_over ? 0 : err;
}

int pairing_handle(struct pairing *j, const struct trace_event *e, uint32_t thread)
{
	return j->is_over ? 0 : on_event(j, &j->run, e, thread);
}

int pairing_handle_lost(struct pairing *j, const struct trace_event *e)
{
	return j->is_over ? 0 : on_lost(j, &j->run, e);
}

const char *pairing_text(struct pairing *j, uint32_t thread)
{
	struct pairing_state *st = thread < j->n_states ? &j->states[thread] : NULL;

	if (!st || !st->made.call)
		return "";
	if (!st->is_joined)
		pairing_words_join(j, st);
	return pairing_bytes(&st->text);
}

enum pairing_lack pairing_lacks(const struct pairing *j)
{
	enum pairing_lack lacks = PAIRING_LACKS_NOTHING;

	for (uint32_t i = 0; i < j->n_classes && i < j->calls.n_classes; i++) {
		const struct call_class *c = j->calls.classes[i];

		if (c->is != CALL_ENTRY || !j->is_wanted[c->call])
			continue;
		for (uint32_t k = 0; k < c->n_fields; k++) {
			const struct call_rule *r = j->call_plans[i].rules[k];

			if (r && r->kind == CALL_PATH && c->field[k]->code == OP_NUMBER)
				return PAIRING_LACKS_PATHS;
		}
		if (c->lacks_memory)
			lacks = PAIRING_LACKS_MEMORY;
	}
	return lacks;
}

void pairing_report_lasting(struct pairing *j, int64_t before_ns)
{
	for (uint32_t i = 0; i < j->n_states && i < threads_n(j->run.threads); i++) {
		struct pairing_state *st = &j->states[i];
		struct pairing_item item;

		if (!st->made.call || st->was_given || st->begin_ns >= before_ns ||
		    !j->is_wanted[st->made.call - 1])
			continue;
		item = pairing_item_of(j, i, PAIRING_LASTING, st->begin_ns);
		pairing_give(j, &item);
		st->was_given = true;
	}
}

void pairing_end(struct pairing *j)
{
	if (j->waiter)
		pass_waiter(j);
	for (uint32_t i = 0; i < j->n_states && i < threads_n(j->run.threads); i++)
		pairing_give_open(j, i, j->run.last_ns, "");
}

void pairing_close(struct pairing *j)
{
	for (uint32_t i = 0; i < j->n_states; i++) {
		pairing_words_fini(&j->states[i]);
		free(j->states[i].stack);
	}
	free(j->states);
	free(j->plans);
	free(j->call_plans);
	free(j->is_wanted);
	text_fini(&j->result);
	fds_fini(&j->fds);
	calls_fini(&j->calls);
	pass_fini(&j->run);
	*j = (struct pairing){ 0 };
}
