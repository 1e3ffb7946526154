/* SPDX-License-Identifier: MIT */
/*
 * analysis/diff/read.c - reads one recording once, and gives each row its numbers of it.
 *
 * With one recording a side durations are kept by slices of its time as well: blocks of them have
 * medians, and the spread of these is the error of the recording's own median.
 */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/coverage.h"
#include "analysis/diff/calls.h"
#include "analysis/diff/diff.h"
#include "analysis/syscalls/calls.h"

/* A block of time has at least so many calls, and a recording so many blocks, else its error is not
 * known. */
enum { BLOCK_LEAST = 8, BLOCKS_LEAST = 4 };

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
	uint32_t number; /* of the recording */
	struct pass run;
	struct calls calls;
	struct coverage coverage;
	bool *is_from, *is_to;		    /* by class */
	const struct ctf_op **prev, **next; /* fields of switches, by class */
	struct slices *events;		    /* by class */
	struct state *states;		    /* by thread */
	struct cpu_state *cpu_states;	    /* by CPU */
	uint32_t n_states, n_cpu_states;
	int64_t begin_ns, slice_ns;
};

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

/* A call or a pair of @kind that ended at @end_ns. */
static int add_time(struct reading *r, enum diff_kind kind, const char *name, int64_t begin_ns,
		    int64_t end_ns)
{
	uint64_t ns = end_ns > begin_ns ? (uint64_t)end_ns - (uint64_t)begin_ns : 0;
	struct diff_row *row = diff_row_of(r->d, kind, name, strlen(name));
	struct diff_run *run;

	if (!row)
		return -ENOMEM;
	run = &row->runs[r->number];
	run->n++;
	run->total_ns = run->total_ns > UINT64_MAX - ns ? UINT64_MAX : run->total_ns + ns;
	row->of_slice[slice_at(r, end_ns)]++;
	if (row->slices && samples_add(&row->slices[slice_at(r, end_ns)], ns))
		return -ENOMEM;
	return samples_add(&row->now, ns);
}

static int on_call(struct reading *r, const struct call_class *c, const struct trace_event *e,
		   uint32_t thread)
{
	struct state *st = &r->states[thread];
	uint32_t epoch = r->run.epoch[TRACE_KERNEL];
	bool is_pair = c->is == CALL_EXIT && st->call == c->call + 1 && st->epoch == epoch;

	st->call = c->is == CALL_ENTRY ? c->call + 1 : 0;
	if (is_pair)
		return add_time(r, DIFF_CALL, r->calls.names[c->call], st->begin_ns, e->time_ns);
	st->epoch = epoch;
	st->begin_ns = e->time_ns;
	return 0;
}

static int on_mark(struct reading *r, const struct trace_event *e, uint32_t thread, uint32_t class)
{
	struct state *st = &r->states[thread];
	uint32_t epoch = r->run.epoch[0] + r->run.epoch[1] + r->run.epoch[2];
	int err = 0;

	if (r->is_to[class] && st->is_in_pair && st->pair_epoch == epoch)
		err = add_time(r, DIFF_PAIR, r->d->o.from, st->pair_begin_ns, e->time_ns);
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
	else if (r->calls.classes[class]->is)
		err = on_call(r, r->calls.classes[class], e, thread);
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

	r->is_from[number] = r->d->o.from && pass_is_like(r->d->o.from, s, c->name);
	r->is_to[number] = r->d->o.to && pass_is_like(r->d->o.to, s, c->name);
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

struct making {
	struct reading *r;
	int err;
};

/* The state dump is the machine's state, and batches hold calls, which are rows of their own. */
static bool is_row(const char *event)
{
	return strncmp(event, "lttng_statedump_", 16) != 0 &&
	       strcmp(event, "duet_calls:batch") != 0;
}

static void take_class(void *context, const struct trace_source *s, const struct ctf_event_class *c,
		       uint32_t number)
{
	struct making *m = context;
	const struct slices *events = &m->r->events[number];
	struct diff_row *row;
	uint64_t n = 0;

	(void)s;
	for (int i = 0; i < DIFF_SLICES; i++)
		n += events->of[i];
	if (!n || m->err || !is_row(c->name))
		return;
	row = diff_row_of(m->r->d, DIFF_EVENT, c->name, strlen(c->name));
	if (!row) {
		m->err = -ENOMEM;
		return;
	}
	row->runs[m->r->number].n += n;
	for (int i = 0; i < DIFF_SLICES; i++)
		row->of_slice[i] += events->of[i];
}

/* CPU time is grouped by the name of the program, because numbers differ between runs. */
static int take_cpu(struct reading *r)
{
	if (coverage_finalize(&r->coverage, &r->run))
		return -ENOMEM;
	for (uint32_t i = 1; i < r->n_states && i < threads_n(r->run.threads); i++) {
		const struct thread *th = threads_at(r->run.threads, i);
		struct diff_row *row;

		if (th->tid <= 0 || !r->states[i].ns || !coverage_is_complete(&r->coverage, i))
			continue;
		row = diff_row_of(r->d, DIFF_CPU, th->name, th->name_size);
		if (!row)
			return -ENOMEM;
		row->runs[r->number].ns += r->states[i].ns;
		row->runs[r->number].n += r->states[i].n_switches;
		for (int k = 0; k < DIFF_SLICES; k++)
			row->of_slice[k] += r->states[i].cpu.of[k];
	}
	return 0;
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

static bool is_of_command(const struct trace *t)
{
	for (uint32_t i = 0; i < trace_n_sources(t); i++) {
		const char *subject = ctf_meta_env(trace_source(t, i)->meta, "duet_subject");

		if (!subject || strcmp(subject, "command") != 0)
			return false;
	}
	return trace_n_sources(t) > 0;
}

static int finish(void *context)
{
	struct reading *r = context;
	struct diff_recording *h = &r->d->recordings[r->number];
	struct making m = { r, 0 };

	*h = (struct diff_recording){ r->run.first_ns,
				      r->run.last_ns,
				      r->run.n_events,
				      r->run.lost_events,
				      r->run.lost_packets,
				      r->run.n_damages,
				      is_of_command(r->run.trace) };
	pass_each_class(&r->run, take_class, &m);
	return m.err ? m.err : take_cpu(r);
}

/* ---------------------------------------------------------------- the numbers of rows */

/* The standard error of the mean of @n values. */
static double error_of(const double *at, uint32_t n)
{
	double mean = 0, squares = 0;

	for (uint32_t i = 0; i < n; i++)
		mean += at[i] / n;
	for (uint32_t i = 0; i < n; i++)
		squares += (at[i] - mean) * (at[i] - mean);
	return sqrt(squares / (n - 1.0) / n);
}

/* From the medians of blocks of time with at least BLOCK_LEAST calls each. */
static int time_error(struct diff_row *row, double *error)
{
	double medians[DIFF_SLICES];
	struct samples block = { 0 };
	uint32_t n = 0;
	int err = 0;

	for (int i = 0; i < DIFF_SLICES && !err; i++) {
		err = samples_merge(&block, &row->slices[i]);
		if (block.n < BLOCK_LEAST)
			continue;
		medians[n++] = log((double)samples_percentile(&block, 50) + 1);
		samples_fini(&block);
	}
	samples_fini(&block);
	*error = n < BLOCKS_LEAST ? -1 : error_of(medians, n);
	return err;
}

/* A function's times have no slices: the ranks beside the median give its error in this run. */
static double rank_error(struct samples *s)
{
	double away = 98 / sqrt((double)s->n);

	if (s->n < BLOCK_LEAST * BLOCKS_LEAST)
		return -1;
	return log(((double)samples_percentile(s, 50 + away) + 1) /
		   ((double)samples_percentile(s, 50 - away) + 1)) /
	       3.92;
}

static double rate_error(const struct diff_row *row)
{
	double blocks[DIFF_SLICES / 4] = { 0 }, mean = 0;

	for (int i = 0; i < DIFF_SLICES; i++)
		blocks[i / 4] += (double)row->of_slice[i];
	for (int i = 0; i < DIFF_SLICES / 4; i++)
		mean += blocks[i] / (DIFF_SLICES / 4);
	return mean > 0 ? error_of(blocks, DIFF_SLICES / 4) / mean : 1;
}

static int end_row(struct diff *d, struct diff_row *row, uint32_t number)
{
	struct diff_run *run = &row->runs[number];
	int err = samples_merge(&row->time[number >= d->o.sides.n_a], &row->now);

	run->median_ns = samples_percentile(&row->now, 50);
	run->quarter_ns = samples_percentile(&row->now, 25);
	run->time_error = row->kind == DIFF_FUNCTION ? rank_error(&row->now) : -1;
	run->rate_error = rate_error(row);
	if (row->slices && !err)
		err = time_error(row, &run->time_error);
	samples_fini(&row->now);
	for (int i = 0; row->slices && i < DIFF_SLICES; i++)
		samples_fini(&row->slices[i]);
	memset(row->of_slice, 0, sizeof row->of_slice);
	return err;
}

int diff_read(struct diff *d, struct trace *t, struct diag *diag)
{
	static const struct pass_analysis analysis = { .about = "the comparison",
						       .prepare = prepare,
						       .on_event = on_event,
						       .on_lost = on_lost,
						       .finish = finish };
	struct reading r = { .d = d, .number = d->n_recordings };
	int err;

	assert(d->n_recordings < d->o.sides.n_a + d->o.sides.n_b);
	err = pass_run(&r.run, t, NULL, &analysis, &r, diag);
	free(r.is_from);
	free(r.is_to);
	free(r.prev);
	free(r.next);
	free(r.events);
	free(r.states);
	free(r.cpu_states);
	calls_fini(&r.calls);
	coverage_fini(&r.coverage);
	pass_fini(&r.run);
	if (!err)
		err = diff_take_calls(d, r.number, t, diag);
	for (uint32_t i = 0; i < d->n_rows && !err; i++)
		if (end_row(d, &d->rows[i], r.number))
			err = diag_fail(diag, -ENOMEM, "no memory for the comparison");
	d->n_recordings++;
	return err;
}
