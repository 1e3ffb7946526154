/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/syscalls.c - joins entries and exits by thread, and merges rows by process at the
 * end.
 */
#include "analysis/report/syscalls.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ERRNO = 4095 }; /* results -1 to -4095 are errors: the kernel's IS_ERR_VALUE */

enum role { ROLE_NONE, ROLE_ENTRY, ROLE_EXIT, ROLE_DEATH, ROLE_EXEC };

struct syscall_plan {
	enum role role;
	uint32_t call;
	bool has_child; /* the exit occurs in the new thread too */
	const struct ctf_op *field[2];
};

struct state {		    /* of a thread */
	uint32_t open_call; /* plus 1; 0: none */
	uint32_t epoch;
	int64_t begin_ns;
	uint32_t first_row; /* plus 1 */
};

struct reading {
	struct syscalls *s;
	struct syscall_plan *plans; /* by class */
	struct state *states;	    /* by thread */
	uint32_t n_states, n_rooms, n_slowest;
	bool by_process;
};

/* ---------------------------------------------------------------- classes */

static uint32_t call_of(struct reading *r, const char *name)
{
	struct syscalls *s = r->s;

	for (uint32_t i = 0; i < s->n_calls; i++)
		if (!strcmp(s->names[i], name))
			return i;
	s->names[s->n_calls] = name;
	return s->n_calls++;
}

static bool makes_child(const char *call)
{
	return !strcmp(call, "clone") || !strcmp(call, "clone3") || !strcmp(call, "fork") ||
	       !strcmp(call, "vfork");
}

static void plan_class(void *context, const struct trace_source *source,
		       const struct ctf_event_class *c, uint32_t number)
{
	struct reading *r = context;
	struct syscall_plan *p = &r->plans[number];
	const char *name = !strncmp(c->name, "compat_", 7) ? c->name + 7 : c->name;

	(void)source;
	if (!strncmp(name, "syscall_entry_", 14)) {
		*p = (struct syscall_plan){ .role = ROLE_ENTRY, .call = call_of(r, name + 14) };
	} else if (!strncmp(name, "syscall_exit_", 13)) {
		*p = (struct syscall_plan){ .role = ROLE_EXIT,
					    .call = call_of(r, name + 13),
					    .has_child = makes_child(name + 13) };
		p->field[0] = ctf_class_find(c, CTF_PAYLOAD, "ret");
	} else if (!strcmp(name, "sched_process_exit")) {
		p->role = ROLE_DEATH;
	} else if (!strcmp(name, "sched_process_exec")) {
		p->role = ROLE_EXEC;
		p->field[0] = ctf_class_find(c, CTF_PAYLOAD, "tid");
		p->field[1] = ctf_class_find(c, CTF_PAYLOAD, "old_tid");
	}
}

/* ---------------------------------------------------------------- rows */

static struct syscall_row *add_row(struct reading *r, uint32_t call, uint32_t thread)
{
	struct syscalls *s = r->s;

	if (pass_grow(&s->rows, &r->n_rooms, s->n_rows, sizeof *s->rows))
		return NULL;
	s->rows[s->n_rows] = (struct syscall_row){ .call = call, .thread = thread };
	return &s->rows[s->n_rows++];
}

/* Without by_process the first rows are those of all calls, and there are no others. */
static struct syscall_row *row_of(struct reading *r, uint32_t thread, uint32_t call)
{
	struct state *st = &r->states[thread];
	struct syscall_row *row;

	if (!r->by_process)
		return &r->s->rows[call];
	for (uint32_t i = st->first_row; i; i = r->s->rows[i - 1].next)
		if (r->s->rows[i - 1].call == call)
			return &r->s->rows[i - 1];
	row = add_row(r, call, thread);
	if (row) {
		row->next = st->first_row;
		st->first_row = r->s->n_rows;
	}
	return row;
}

static int count_errno(struct syscall_row *row, int number, uint64_t n)
{
	uint32_t i = 0;

	while (i < row->n_errnos && row->errnos[i].number != number)
		i++;
	if (i == row->n_errnos) {
		if (pass_grow(&row->errnos, &row->room, i, sizeof *row->errnos))
			return -ENOMEM;
		row->errnos[row->n_errnos++] = (struct syscall_error){ .number = number };
	}
	row->errnos[i].n += n;
	row->n_errors += n;
	return 0;
}

/* ---------------------------------------------------------------- pairs */

static int leave_open(struct reading *r, uint32_t thread, uint32_t epoch)
{
	struct state *st = &r->states[thread];
	struct syscall_row *row = st->open_call ? row_of(r, thread, st->open_call - 1) : NULL;

	if (!st->open_call)
		return 0;
	if (!row)
		return -ENOMEM;
	row->n_open++;
	r->s->n_open++;
	r->s->n_cut += st->epoch != epoch;
	st->open_call = 0;
	return 0;
}

static int enter(struct reading *r, const struct syscall_plan *p, int64_t time_ns, uint32_t thread,
		 uint32_t epoch)
{
	struct state *st = &r->states[thread];

	r->s->n_entries++;
	if (leave_open(r, thread, epoch))
		return -ENOMEM;
	st->open_call = p->call + 1;
	st->begin_ns = time_ns;
	st->epoch = epoch;
	return 0;
}

static int pair(struct reading *r, struct syscall_row *row, int64_t time_ns, uint32_t thread,
		int64_t result)
{
	struct state *st = &r->states[thread];
	uint64_t duration_ns = time_ns > st->begin_ns ? (uint64_t)(time_ns - st->begin_ns) : 0;

	st->open_call = 0;
	slowest_add(&r->s->slowest,
		    &(struct slow){ duration_ns, st->begin_ns, thread, row->call, result });
	return samples_add(&row->time, duration_ns);
}

static int leave(struct reading *r, const struct syscall_plan *p, const struct trace_event *e,
		 uint32_t thread, uint32_t epoch)
{
	struct state *st = &r->states[thread];
	int64_t result = pass_number(e, p->field[0], 0);
	bool is_pair = st->open_call == p->call + 1 && st->epoch == epoch;
	struct syscall_row *row;
	int err;

	r->s->n_exits++;
	if (p->has_child && !result && !st->open_call)
		return 0;
	err = is_pair ? 0 : leave_open(r, thread, epoch);
	row = err ? NULL : row_of(r, thread, p->call);
	if (!row)
		return -ENOMEM;
	if (!is_pair) {
		row->n_headless++;
		r->s->n_headless++;
	} else if (pair(r, row, e->time_ns, thread, result)) {
		return -ENOMEM;
	}
	return result < 0 && result >= -MAX_ERRNO ? count_errno(row, (int)-result, 1) : 0;
}

/* The thread that executes gets the tid of its process, and its call continues under that tid. */
static int execute(struct reading *r, const struct syscall_plan *p, struct pass *run,
		   const struct trace_event *e)
{
	int64_t tid = pass_number(e, p->field[0], -1), old_tid = pass_number(e, p->field[1], tid);
	int64_t now = threads_of(run->threads, e, tid),
		before = threads_of(run->threads, e, old_tid);

	if (now < 0 || before < 0)
		return -ENOMEM;
	if (now == before || !now || !before)
		return 0;
	if (pass_grow(&r->states, &r->n_states, (uint32_t)(now > before ? now : before),
		      sizeof *r->states))
		return -ENOMEM;
	if (leave_open(r, (uint32_t)now, run->epoch[TRACE_KERNEL])) /* the kernel ended this one */
		return -ENOMEM;
	r->states[now].open_call = r->states[before].open_call;
	r->states[now].begin_ns = r->states[before].begin_ns;
	r->states[now].epoch = r->states[before].epoch;
	r->states[before].open_call = 0;
	return 0;
}

static int on_event(void *context, struct pass *run, const struct trace_event *e, uint32_t thread)
{
	struct reading *r = context;
	const struct syscall_plan *p = &r->plans[trace_class_number(e)];
	uint32_t epoch = run->epoch[TRACE_KERNEL];

	if (!p->role)
		return 0;
	if (pass_grow(&r->states, &r->n_states, thread, sizeof *r->states))
		return -ENOMEM;
	switch (p->role) {
	case ROLE_ENTRY:
		return enter(r, p, e->time_ns, thread, epoch);
	case ROLE_EXIT:
		return leave(r, p, e, thread, epoch);
	case ROLE_DEATH:
		return leave_open(r, thread, epoch);
	case ROLE_EXEC:
		return execute(r, p, run, e);
	case ROLE_NONE:
		break;
	}
	return 0;
}

/* ---------------------------------------------------------------- the end */

static int by_process(const void *a, const void *b)
{
	const struct syscall_row *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

static int most_time_first(const void *a, const void *b)
{
	const struct syscall_row *x = a, *y = b;
	uint64_t n = x->time.n + x->n_open, m = y->time.n + y->n_open;

	if (x->time.sum != y->time.sum)
		return x->time.sum < y->time.sum ? 1 : -1;
	return n != m ? (n < m ? 1 : -1) : by_process(a, b);
}

static void free_row(struct syscall_row *row)
{
	free(row->errnos);
	samples_fini(&row->time);
}

static int add_up(struct syscall_row *to, struct syscall_row *from)
{
	int err = samples_merge(&to->time, &from->time);

	for (uint32_t i = 0; i < from->n_errnos && !err; i++)
		err = count_errno(to, from->errnos[i].number, from->errnos[i].n);
	to->n_open += from->n_open;
	to->n_headless += from->n_headless;
	free_row(from);
	*from = (struct syscall_row){ 0 };
	return err;
}

/* Merges the threads of a process and removes calls that never occurred, then sorts the rows. */
static int finalize(struct reading *r)
{
	struct syscalls *s = r->s;
	uint32_t kept = 0;
	int err = 0;

	for (uint32_t i = 0; i < s->n_rows; i++)
		s->rows[i].thread = threads_at(s->run.threads, s->rows[i].thread)->process;
	if (s->n_rows)
		qsort(s->rows, s->n_rows, sizeof *s->rows, by_process);
	for (uint32_t i = 0; i < s->n_rows && !err; i++) {
		struct syscall_row *row = &s->rows[i];

		if (!row->time.n && !row->n_open && !row->n_headless)
			continue;
		if (kept && !by_process(&s->rows[kept - 1], row)) {
			err = add_up(&s->rows[kept - 1], row);
		} else if (kept != i) {
			s->rows[kept++] = *row;
			*row = (struct syscall_row){ 0 };
		} else {
			kept++;
		}
	}
	s->n_rows = err ? s->n_rows : kept;
	if (s->n_rows)
		qsort(s->rows, s->n_rows, sizeof *s->rows, most_time_first);
	slowest_sort(&s->slowest);
	return err;
}

static int prepare(void *context)
{
	struct reading *r = context;
	struct syscalls *s = r->s;
	uint32_t n_classes = trace_n_classes(s->run.trace) + 1;

	r->plans = calloc(n_classes, sizeof *r->plans);
	s->names = calloc(n_classes, sizeof *s->names);
	if (!r->plans || !s->names || slowest_init(&s->slowest, r->n_slowest))
		return -ENOMEM;
	pass_each_class(&s->run, plan_class, r);
	for (uint32_t i = 0; i < s->n_calls && !r->by_process; i++)
		if (!add_row(r, i, THREAD_UNKNOWN))
			return -ENOMEM;
	return 0;
}

/* calls = pairs + open + headless: each entry and each exit is counted once. */
static bool is_balanced(const struct syscalls *s)
{
	uint64_t n_pairs = 0;

	for (uint32_t i = 0; i < s->n_rows; i++)
		n_pairs += s->rows[i].time.n;
	return s->n_entries == n_pairs + s->n_open && s->n_exits >= n_pairs + s->n_headless;
}

static int finish(void *context)
{
	struct reading *r = context;
	int err = 0;

	for (uint32_t i = 0; i < r->n_states && i < threads_n(r->s->run.threads) && !err; i++)
		err = leave_open(r, i, r->s->run.epoch[TRACE_KERNEL]);
	assert(err || is_balanced(r->s));
	return err ? err : finalize(r);
}

int syscalls_init(struct syscalls *s, struct trace *t, const struct pass_range *range,
		  bool is_by_process, uint32_t n_slowest, struct diag *d)
{
	static const struct pass_analysis analysis = {
		.about = "system calls", .prepare = prepare, .on_event = on_event, .finish = finish
	};
	struct reading r = { .s = s, .by_process = is_by_process, .n_slowest = n_slowest };
	int err;

	*s = (struct syscalls){ 0 };
	err = pass_run(&s->run, t, range, &analysis, &r, d);
	free(r.plans);
	free(r.states);
	if (err)
		syscalls_fini(s);
	return err;
}

void syscalls_fini(struct syscalls *s)
{
	for (uint32_t i = 0; i < s->n_rows; i++)
		free_row(&s->rows[i]);
	free(s->rows);
	free(s->names);
	slowest_fini(&s->slowest);
	pass_fini(&s->run);
	*s = (struct syscalls){ 0 };
}
