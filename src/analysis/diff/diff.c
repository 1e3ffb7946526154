/* SPDX-License-Identifier: MIT */
/*
 * analysis/diff/diff.c - reads each recording once, fills one side of the rows, then tests and
 * sorts them.
 */
#include "analysis/diff/diff.h"
#include "analysis/diff/calls.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/syscalls/calls.h"
#include "analysis/coverage.h"
#include "analysis/index.h"

struct slices {
	uint64_t of[DIFF_SLICES];
};

struct state {	       /* of a thread */
	uint32_t call; /* plus 1 */
	uint32_t epoch, pair_epoch;
	bool is_in_pair;
	int64_t begin_ns, pair_begin_ns;
	uint64_t n_switches, ns;
	struct slices cpu;
};

struct cpu_state {	 /* a CPU */
	uint32_t thread; /* plus 1; 0: unknown */
	int64_t since_ns;
};

struct reading { /* the pass over one recording */
	struct diff *d;
	int side;
	struct pass run;
	struct calls calls;
	struct coverage coverage;
	const char *from, *to;
	bool *is_from, *is_to;		    /* by class */
	const struct ctf_op **prev, **next; /* fields of switches, by class */
	struct slices *events;		    /* by class */
	struct state *states;		    /* by thread */
	struct cpu_state *cpu_states;	    /* by CPU */
	uint32_t n_states, n_cpu_states, *n_row_rooms;
	struct index *row_keys; /* key: kind, hash and size of the name */
	int64_t begin_ns, slice_ns;
};

/* ---------------------------------------------------------------- rows */

static struct diff_row *row_of(void *context, enum diff_kind kind, const char *name, size_t size)
{
	struct reading *r = context;
	struct diff *d = r->d;
	int64_t i = index_find(r->row_keys, kind, hash_bytes(name, size), size, true);

	if (i < 0 || pass_grow(&d->rows, r->n_row_rooms, (uint32_t)i, sizeof *d->rows))
		return NULL;
	assert(i <= d->n_rows);
	if (i == d->n_rows) {
		d->rows[i].kind = kind;
		d->rows[i].name = strndup(name, size);
		d->n_rows++;
	}
	return d->rows[i].name ? &d->rows[i] : NULL;
}

static uint32_t slice_at(const struct reading *r, int64_t time_ns)
{
	/* The times of a damaged packet may lie further apart than an int64_t counts. */
	uint64_t since_ns = time_ns > r->begin_ns ? (uint64_t)time_ns - (uint64_t)r->begin_ns : 0;
	uint64_t i = since_ns / (uint64_t)r->slice_ns;

	return i < DIFF_SLICES ? (uint32_t)i : DIFF_SLICES - 1;
}

/* ---------------------------------------------------------------- events */

/* Divides the time of a thread on a CPU among the slices. */
static void charge(struct reading *r, struct state *st, int64_t from_ns, int64_t to_ns)
{
	st->ns += to_ns > from_ns ? (uint64_t)(to_ns - from_ns) : 0;
	for (uint32_t i = slice_at(r, from_ns); from_ns < to_ns; i++) {
		int64_t end_ns =
			i < DIFF_SLICES - 1 ? r->begin_ns + r->slice_ns * (int64_t)(i + 1) : to_ns;

		if (end_ns > to_ns)
			end_ns = to_ns;
		if (end_ns > from_ns)
			st->cpu.of[i] += (uint64_t)(end_ns - from_ns);
		from_ns = end_ns > from_ns ? end_ns : from_ns;
		if (i == DIFF_SLICES - 1)
			break;
	}
}

static int on_switch(struct reading *r, const struct trace_event *e, uint32_t class)
{
	int64_t cpu = pass_cpu(&r->run, e);
	int64_t prev = threads_of(r->run.threads, e, pass_number(e, r->prev[class], -1));
	int64_t next = threads_of(r->run.threads, e, pass_number(e, r->next[class], -1));
	struct cpu_state *p;

	if (cpu < 0 || prev < 0 || next < 0 ||
	    pass_grow(&r->cpu_states, &r->n_cpu_states, (uint32_t)cpu, sizeof *r->cpu_states) ||
	    pass_grow(&r->states, &r->n_states, (uint32_t)(prev > next ? prev : next),
		      sizeof *r->states))
		return -ENOMEM;
	p = &r->cpu_states[cpu];
	if (p->thread && p->thread == (uint32_t)prev + 1) /* else a switch was not recorded */
		charge(r, &r->states[prev], p->since_ns, e->time_ns);
	r->states[next].n_switches++;
	*p = (struct cpu_state){ (uint32_t)next + 1, e->time_ns };
	return 0;
}

static int on_call(struct reading *r, const struct call_class *c, const struct trace_event *e,
		   uint32_t thread)
{
	struct state *st = &r->states[thread];
	uint32_t epoch = r->run.epoch[TRACE_KERNEL];
	bool is_pair = c->is == CALL_EXIT && st->call == c->call + 1 && st->epoch == epoch;
	const char *name = r->calls.names[c->call];
	struct diff_row *row;

	st->call = c->is == CALL_ENTRY ? c->call + 1 : 0;
	if (!is_pair) {
		st->epoch = epoch;
		st->begin_ns = e->time_ns;
		return 0;
	}
	row = row_of(r, DIFF_CALL, name, strlen(name));
	return row ? samples_add(&row->side[r->side].time,
				 e->time_ns > st->begin_ns ? (uint64_t)(e->time_ns - st->begin_ns)
							   : 0)
		   : -ENOMEM;
}

static int on_mark(struct reading *r, const struct trace_event *e, uint32_t thread, uint32_t class)
{
	struct state *st = &r->states[thread];
	uint32_t epoch = r->run.epoch[0] + r->run.epoch[1] + r->run.epoch[2];
	struct diff_row *row;
	int err = 0;

	if (r->is_to[class] && st->is_in_pair && st->pair_epoch == epoch) {
		row = row_of(r, DIFF_PAIR, r->from, strlen(r->from));
		err = row ? samples_add(&row->side[r->side].time,
					e->time_ns > st->pair_begin_ns
						? (uint64_t)(e->time_ns - st->pair_begin_ns)
						: 0)
			  : -ENOMEM;
	}
	st->is_in_pair = r->is_from[class] || (st->is_in_pair && !r->is_to[class]);
	if (r->is_from[class]) {
		st->pair_epoch = epoch;
		st->pair_begin_ns = e->time_ns;
	}
	return err;
}

static int on_event(void *context, struct pass *run, const struct trace_event *e, uint32_t thread)
{
	struct reading *r = context;
	uint32_t class = trace_class_number(e);
	int err = 0;

	if (coverage_on_event(&r->coverage, run, e, thread) < 0 ||
	    pass_grow(&r->states, &r->n_states, thread, sizeof *r->states))
		return -ENOMEM;
	r->events[class].of[slice_at(r, e->time_ns)]++;
	if (r->next[class])
		err = on_switch(r, e, class);
	else if (r->calls.classes[class].is)
		err = on_call(r, &r->calls.classes[class], e, thread);
	if (!err && (r->is_from[class] || r->is_to[class]))
		err = on_mark(r, e, thread, class);
	return err;
}

static int on_lost(void *context, struct pass *run, const struct trace_event *e)
{
	struct reading *r = context;

	(void)run;
	for (uint32_t i = 0; i < r->n_cpu_states; i++)
		r->cpu_states[i].thread = 0;
	return coverage_lost(&r->coverage, e) < 0 ? -ENOMEM : 0;
}

/* ---------------------------------------------------------------- one recording */

static void plan_class(void *context, const struct trace_source *s, const struct ctf_event_class *c,
		       uint32_t number)
{
	struct reading *r = context;

	r->is_from[number] = r->from && pass_is_like(r->from, s, c->name);
	r->is_to[number] = r->to && pass_is_like(r->to, s, c->name);
	if (s->domain != TRACE_KERNEL || strcmp(c->name, "sched_switch") != 0)
		return;
	r->prev[number] = ctf_class_find(c, CTF_PAYLOAD, "prev_tid");
	r->next[number] = ctf_class_find(c, CTF_PAYLOAD, "next_tid");
}

/* The time span of the streams, from their packets, because slices are cut before events are
 * read. */
static void cut_slices(struct reading *r, const struct trace *t)
{
	int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;

	for (uint32_t i = 0; i < trace_n_streams(t); i++) {
		const struct trace_stream_info *s = trace_stream(t, i);

		if (s->n_packets && s->begin_ns < begin_ns)
			begin_ns = s->begin_ns;
		if (s->n_packets && s->end_ns > end_ns)
			end_ns = s->end_ns;
	}
	r->begin_ns = begin_ns < end_ns ? begin_ns : 0;
	r->slice_ns = begin_ns < end_ns
			      ? (int64_t)(((uint64_t)end_ns - (uint64_t)begin_ns) / DIFF_SLICES)
			      : 0;
	r->slice_ns = r->slice_ns > 0 ? r->slice_ns : 1;
}

/* Adds the counts of slices as rates per second, so that recordings of different length are
 * comparable. */
static int add_slices(const struct reading *r, struct samples *to, const struct slices *from,
		      double unit)
{
	int err = 0;

	for (int i = 0; i < DIFF_SLICES && !err; i++)
		err = samples_add(to, (uint64_t)((double)from->of[i] * unit / (double)r->slice_ns));
	return err;
}

struct making {
	struct reading *r;
	int err;
};

static void take_class(void *context, const struct trace_source *s, const struct ctf_event_class *c,
		       uint32_t number)
{
	struct making *m = context;
	struct diff_row *row;
	uint64_t n = 0;

	(void)s;
	for (int i = 0; i < DIFF_SLICES; i++)
		n += m->r->events[number].of[i];
	if (!n || m->err)
		return;
	row = row_of(m->r, DIFF_EVENT, c->name, strlen(c->name));
	if (!row) {
		m->err = -ENOMEM;
		return;
	}
	row->side[m->r->side].n += n;
	if (!row->side[m->r->side].slices.n) /* of several traces with this class only the first
					      * counts */
		m->err = add_slices(m->r, &row->side[m->r->side].slices, &m->r->events[number],
				    1e12);
}

/* CPU time is grouped by the name of the program, because numbers differ between runs. */
static int take_cpu(struct reading *r)
{
	struct diff_row *row;
	int err = 0;

	coverage_finalize(&r->coverage);
	for (uint32_t i = 1; i < r->n_states && i < threads_n(r->run.threads) && !err; i++) {
		const struct thread *th = threads_at(r->run.threads, i);
		struct diff_side *side;

		if (th->tid <= 0 || !r->states[i].ns || !coverage_is_complete(&r->coverage, i))
			continue;
		row = row_of(r, DIFF_CPU, th->name, th->name_size);
		if (!row)
			return -ENOMEM;
		side = &row->side[r->side];
		side->ns += r->states[i].ns;
		side->n += r->states[i].n_switches;
		/* Threads of one name run side by side: their slices are summed. */
		if (side->slices.n) {
			for (int k = 0; k < DIFF_SLICES; k++)
				side->slices.at[k] += (uint64_t)((double)r->states[i].cpu.of[k] *
								 1e9 / (double)r->slice_ns);
			side->slices.is_sorted = false;
		} else {
			err = add_slices(r, &side->slices, &r->states[i].cpu, 1e9);
		}
	}
	return err;
}

static int prepare(void *context)
{
	struct reading *r = context;
	size_t n = trace_n_classes(r->run.trace) + (size_t)1;

	r->is_from = calloc(n, sizeof *r->is_from);
	r->is_to = calloc(n, sizeof *r->is_to);
	r->prev = calloc(n, sizeof *r->prev);
	r->next = calloc(n, sizeof *r->next);
	r->events = calloc(n, sizeof *r->events);
	if (!r->is_from || !r->is_to || !r->prev || !r->next || !r->events ||
	    calls_init(&r->calls, &r->run) || coverage_init(&r->coverage, &r->run))
		return -ENOMEM;
	pass_each_class(&r->run, plan_class, r);
	cut_slices(r, r->run.trace);
	return 0;
}

static int finish(void *context)
{
	struct reading *r = context;
	struct diff_half *h = &r->d->half[r->side];
	struct making m = { r, 0 };

	*h = (struct diff_half){ r->run.first_ns,    r->run.last_ns,	  r->run.n_events,
				 r->run.lost_events, r->run.lost_packets, r->run.n_damages };
	pass_each_class(&r->run, take_class, &m);
	return m.err ? m.err : take_cpu(r);
}

static int read_half(struct reading *r, struct trace *t, struct diag *diag)
{
	static const struct pass_analysis analysis = { .about = "the comparison",
						       .prepare = prepare,
						       .on_event = on_event,
						       .on_lost = on_lost,
						       .finish = finish };
	int err = pass_run(&r->run, t, NULL, &analysis, r, diag);

	free(r->is_from);
	free(r->is_to);
	free(r->prev);
	free(r->next);
	free(r->events);
	free(r->states);
	free(r->cpu_states);
	calls_fini(&r->calls);
	coverage_fini(&r->coverage);
	pass_fini(&r->run);
	return err ? err : diff_take_calls(t, r->side, row_of, r, diag);
}

/* ---------------------------------------------------------------- both */

static double seconds(const struct diff_half *h)
{
	return h->last_ns > h->first_ns ? (double)(h->last_ns - h->first_ns) / 1e9 : 1;
}

/* A side without events of a row has zero in every slice. */
static int fill_slices(struct samples *s)
{
	int err = 0;

	while (s->n < DIFF_SLICES && !err)
		err = samples_add(s, 0);
	return err;
}

static int test_row(struct diff *d, struct diff_row *row)
{
	struct diff_side *a = &row->side[0], *b = &row->side[1];
	bool is_slices = row->kind == DIFF_EVENT || row->kind == DIFF_CPU;
	double p = -1;

	if (row->kind == DIFF_EVENT)
		row->change =
			(double)b->n / seconds(&d->half[1]) - (double)a->n / seconds(&d->half[0]);
	else if (row->kind == DIFF_CPU)
		row->change =
			(double)b->ns / seconds(&d->half[1]) - (double)a->ns / seconds(&d->half[0]);
	else if (row->kind == DIFF_FUNCTION)
		row->change = (double)b->total_ns / seconds(&d->half[1]) -
			      (double)a->total_ns / seconds(&d->half[0]);
	else
		row->change = (double)b->time.sum / seconds(&d->half[1]) -
			      (double)a->time.sum / seconds(&d->half[0]);
	if (is_slices && (fill_slices(&a->slices) || fill_slices(&b->slices)))
		return -ENOMEM;
	if (!is_slices)
		p = diff_compare(&a->time, &b->time, &row->superiority);
	else if (a->n + b->n >= DIFF_LEAST)
		p = diff_compare(&a->slices, &b->slices, &row->superiority);
	row->is_tested = p >= 0;
	row->p = row->is_tested ? p : 1;
	d->n_tested += row->is_tested;
	return 0;
}

static int least_p_first(const void *a, const void *b)
{
	const struct diff_row *x = *(struct diff_row *const *)a, *y = *(struct diff_row *const *)b;

	return x->p < y->p ? -1 : x->p > y->p;
}

/* Holm: the k-th least of m values is multiplied by m - k, and is never below the one before it. */
static int correct(struct diff *d)
{
	struct diff_row **tested = calloc(d->n_tested + (size_t)1, sizeof(struct diff_row *));
	uint32_t n = 0;
	double before = 0;

	if (!tested)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->n_rows; i++)
		if (d->rows[i].is_tested)
			tested[n++] = &d->rows[i];
	assert(n == d->n_tested);
	qsort(tested, n, sizeof *tested, least_p_first);
	for (uint32_t i = 0; i < n; i++) {
		double p = tested[i]->p * (double)(n - i);

		before = p > before ? p : before;
		tested[i]->p = before < 1 ? before : 1;
		d->n_significant += tested[i]->p < DIFF_LEVEL;
	}
	assert(d->n_significant <= d->n_tested);
	free(tested);
	return 0;
}

static int most_important_first(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	bool is_x = x->is_tested && x->p < DIFF_LEVEL, is_y = y->is_tested && y->p < DIFF_LEVEL;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (is_x != is_y)
		return is_x ? -1 : 1;
	if (fabs(x->change) != fabs(y->change))
		return fabs(x->change) < fabs(y->change) ? 1 : -1;
	return strcmp(x->name, y->name);
}

int diff_init(struct diff *d, struct trace *a, struct trace *b, const char *from, const char *to,
	      struct diag *diag)
{
	struct trace *const traces[2] = { a, b };
	struct index row_keys = { 0 };
	uint32_t n_row_rooms = 0;
	int err = 0;

	*d = (struct diff){ 0 };
	for (int side = 0; side < 2 && !err; side++) {
		struct reading r = { .d = d,
				     .side = side,
				     .from = from,
				     .to = to,
				     .row_keys = &row_keys,
				     .n_row_rooms = &n_row_rooms };

		err = read_half(&r, traces[side], diag);
	}
	index_fini(&row_keys);
	for (uint32_t i = 0; i < d->n_rows && !err; i++)
		err = test_row(d, &d->rows[i]);
	if (!err)
		err = correct(d);
	if (!err && d->n_rows)
		qsort(d->rows, d->n_rows, sizeof *d->rows, most_important_first);
	if (err)
		diff_fini(d);
	return err;
}

void diff_fini(struct diff *d)
{
	for (uint32_t i = 0; i < d->n_rows; i++) {
		free(d->rows[i].name);
		for (int side = 0; side < 2; side++) {
			samples_fini(&d->rows[i].side[side].time);
			samples_fini(&d->rows[i].side[side].slices);
		}
	}
	free(d->rows);
	*d = (struct diff){ 0 };
}
