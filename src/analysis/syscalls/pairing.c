/* SPDX-License-Identifier: MIT */
/* analysis/syscalls/pairing.c - see pairing.h, and internal.h. */
#include "analysis/syscalls/internal.h"

#include <errno.h>
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

/* ---------------------------------------------------------------- giving */

static bool is_ours(struct pairs *j, uint32_t thread, int64_t time_ns)
{
	const struct thread *th = threads_at(j->run.threads, thread);
	const struct thread *process = j->o.n_pids ? threads_at(j->run.threads, pairs_process(j, thread)) : th;
	int i = 0;

	if (time_ns < j->o.range.from_ns || time_ns > j->o.range.to_ns)
		return false;
	if (j->is_hiding && th->tid == j->o.command)
		return false;
	while (i < j->o.n_pids && j->o.pids[i] != th->tid && j->o.pids[i] != process->tid)
		i++;
	return !j->o.n_pids || i < j->o.n_pids;
}

void pairs_give(struct pairs *j, const struct pairs_item *item)
{
	if (j->o.n_paths && (item->kind == PAIRS_CALL || item->kind == PAIRS_LASTING) && !j->states[item->thread].is_about)
		return;
	if (!j->is_over && is_ours(j, item->thread, item->end_ns))
		j->is_over = j->o.give(j->o.context, item);
}

struct pairs_item pairs_item_of(const struct pairs *j, uint32_t thread, enum pairs_kind kind, int64_t time_ns)
{
	const struct pairs_state *st = &j->states[thread];
	bool is_call = kind == PAIRS_CALL || kind == PAIRS_LASTING;

	return (struct pairs_item){ .kind = kind, .thread = thread, .begin_ns = is_call ? st->begin_ns : time_ns,
				     .end_ns = time_ns, .name = is_call ? j->calls.names[st->made.call - 1] : "",
				     .text = is_call ? pairs_bytes(&st->text) : "", .result_text = "",
				     .early_text = is_call ? pairs_bytes(&st->early) : "",
				     .late_text = is_call ? pairs_bytes(&st->late) : "", .has_begin = true,
				     .was_given = st->was_given };
}

void pairs_give_open(struct pairs *j, uint32_t thread, int64_t time_ns, const char *result)
{
	struct pairs_state *st = &j->states[thread];
	struct pairs_item item;

	if (!st->made.call)
		return;
	item = pairs_item_of(j, thread, PAIRS_CALL, time_ns);
	item.result_text = result;
	if (j->is_wanted[st->made.call - 1])
		pairs_give(j, &item);
	st->made = (struct call_made){ 0 };
}

/* ---------------------------------------------------------------- calls */

static int enter(struct pairs *j, const struct call_class *c, const struct trace_event *e, uint32_t thread)
{
	struct pairs_state *st = &j->states[thread];

	pairs_give_open(j, thread, e->time_ns, "");
	calls_read(c, e, &st->made);
	st->class = trace_class_number(e);
	st->begin_ns = e->time_ns;
	st->epoch = j->run.epoch[TRACE_KERNEL];
	st->was_given = false;
	st->signal = 0;
	pairs_words_forget(st);
	if (!strcmp(j->calls.names[c->call], "exit_group")) {
		struct pairs_state *process;

		if (run_grow(&j->states, &j->n_states, pairs_process(j, thread), sizeof *j->states))
			return -ENOMEM;
		st = &j->states[thread];
		process = &j->states[pairs_process(j, thread)];
		process->exits = true;
		process->status = (int)st->made.args[0];
	}
	if (c->fd && fds_enter(&j->fds, thread, c, e))
		return -ENOMEM;
	if (!j->o.has_text || !j->is_wanted[c->call])
		return 0;
	pairs_words_begin(j, thread, e);
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

static int leave(struct pairs *j, const struct call_class *c, const struct trace_event *e, uint32_t thread)
{
	struct pairs_state *st = &j->states[thread];
	int64_t result = run_number(e, c->field[0], 0);
	uint32_t call = call_that_ends(j, c, st);
	const char *name = j->calls.names[call];
	bool is_pair = st->made.call == call + 1 && st->epoch == j->run.epoch[TRACE_KERNEL];
	struct pairs_item item;
	int err = 0;

	if (!st->made.call && !result && makes_child(name))
		return 0; /* the child's first */
	if (!is_pair) {
		pairs_give_open(j, thread, e->time_ns, "");
		st->made = (struct call_made){ .call = call + 1 };
		st->begin_ns = e->time_ns;
		st->was_given = false;
		st->is_about = false;
		pairs_words_forget(st);
	} else if (c->fd || st->made.class->fd) {
		err = fds_leave(&j->fds, thread, pairs_process(j, thread), &st->made, result);
	}
	if (!strcmp(name, "execve") && !result)
		j->is_hiding = false;
	j->result.size = 0;
	if (j->o.has_text && j->is_wanted[call])
		pairs_words_end(j, c, e, thread, is_pair, result);
	item = pairs_item_of(j, thread, PAIRS_CALL, e->time_ns);
	item.has_begin = is_pair;
	item.has_end = true;
	item.result = result;
	item.result_text = pairs_bytes(&j->result);
	if (j->is_wanted[call])
		pairs_give(j, &item);
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
	uint32_t parent = pairs_process(j, thread), process = child > 0 ? pairs_process(j, (uint32_t)child) : parent;

	return child < 0 ? -ENOMEM : process == parent ? 0 : fds_fork(&j->fds, parent, process);
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
		pairs_give_open(j, (uint32_t)now, e->time_ns, "?");
		pairs_words_fini(st);
		*st = j->states[before];
		j->states[before] = (struct pairs_state){ 0 };
	}
	if (st->made.call && !strcmp(j->calls.names[st->made.call - 1], "execve"))
		pairs_words_program(j, st, p, e);
	return st->text.failed ? -ENOMEM : 0;
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
		err = pairs_see_sent(j, p, e, thread);
	else if (p->role == ROLE_SIGNAL)
		err = pairs_see_signal(j, p, e, thread);
	else if (p->role == ROLE_DEATH)
		err = pairs_see_death(j, e, thread);
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
		item = pairs_item_of(j, i, PAIRS_LASTING, st->begin_ns);
		pairs_give(j, &item);
		st->was_given = true;
	}
}

void pairs_end(struct pairs *j)
{
	for (uint32_t i = 0; i < j->n_states && i < threads_n(j->run.threads); i++)
		pairs_give_open(j, i, j->run.last_ns, "");
}

void pairs_close(struct pairs *j)
{
	for (uint32_t i = 0; i < j->n_states; i++)
		pairs_words_fini(&j->states[i]);
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
