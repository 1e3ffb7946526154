/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/count.c - one counter for each class, stream, thread, CPU, function and value;
 * rows at the end.
 */
#include "analysis/report/count.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/index.h"
#include "trace/filter/match.h"

enum { CPUS_MAX = 65536 };

/* The end of the last event of a stream: the header of the next event begins there. */
struct bookmark {
	const uint8_t *packet;
	uint64_t end_bits, header_bits;
};

struct counting {
	struct counts *s;
	const char *filter, *value; /* NULL: none */
	struct diag *diag;
	struct bookmark *bookmarks;			  /* by stream */
	struct count *classes, *streams, *threads, *cpus; /* cpus[0] is the unknown one */
	uint32_t n_threads, n_cpus;
	const struct ctf_op **function_of; /* by class: the field with the kernel function that
					    * was called; NULL: it is not an event of a call */
	struct index functions;		   /* by address */
	struct count *calls;
	uint32_t n_calls;
	struct match *match;   /* NULL: everything counts */
	struct names *names;   /* for `match` and `values` */
	struct values *values; /* NULL: none */
	struct count *of_values;
	uint32_t n_of_values;
};

static uint64_t bits_of(struct bookmark *p, const struct ctf_event *e)
{
	bool goes_on = p->packet == e->packet && e->body_bits >= p->end_bits;

	if (goes_on)
		p->header_bits = e->body_bits - p->end_bits;
	p->packet = e->packet;
	p->end_bits = e->end_bits;
	return e->end_bits - e->body_bits + p->header_bits;
}

static void count_one(struct count *c, int64_t time_ns, uint64_t bits)
{
	if (!c->n++)
		c->first_ns = c->last_ns = time_ns;
	if (time_ns > c->last_ns)
		c->last_ns = time_ns;
	c->bits += bits;
}

static uint32_t cpu_index(uint32_t cpu)
{
	return cpu < CPUS_MAX ? cpu + 1 : 0;
}

/* A call counts as one event: its end if both are recorded, because begins may be missing. */
static void find_function(void *context, const struct trace_source *s,
			  const struct ctf_event_class *class, uint32_t number)
{
	struct counting *c = context;

	if (s->domain == TRACE_KERNEL && strcmp(class->name, "funcgraph_entry") != 0)
		c->function_of[number] = pass_function(class);
}

static int count_call(struct counting *c, const struct trace_event *e, uint64_t bits)
{
	const struct ctf_op *op = c->function_of[trace_class_number(e)];
	int64_t address, i;

	if (!op || !ctf_event_number(e->ctf, op, &address))
		return 0;
	i = index_find(&c->functions, (uint64_t)address, 0, 0, true);
	if (i < 0 || pass_grow(&c->calls, &c->n_calls, (uint32_t)i, sizeof *c->calls))
		return -ENOMEM;
	count_one(&c->calls[i], e->time_ns, bits);
	return 0;
}

static int count_value(struct counting *c, const struct trace_event *e,
		       const struct thread_identity *who, uint64_t bits)
{
	int64_t i = values_of(c->values, e, who);

	if (i < 0 || pass_grow(&c->of_values, &c->n_of_values, (uint32_t)i, sizeof *c->of_values))
		return -ENOMEM;
	count_one(&c->of_values[i], e->time_ns, bits);
	return 0;
}

static int on_event(void *context, struct pass *r, const struct trace_event *e, uint32_t thread)
{
	struct counting *c = context;
	uint32_t cpu = cpu_index(e->cpu);
	uint64_t bits = bits_of(&c->bookmarks[e->stream->number], e->ctf);
	struct thread_identity who;

	(void)r;
	if (c->names)
		names_on_event(c->names, e, &who);
	if (c->match && !match_event(c->match, e, &who))
		return 0;
	if (pass_grow(&c->threads, &c->n_threads, thread, sizeof *c->threads) ||
	    pass_grow(&c->cpus, &c->n_cpus, cpu, sizeof *c->cpus))
		return -ENOMEM;
	count_one(&c->classes[trace_class_number(e)], e->time_ns, bits);
	count_one(&c->streams[e->stream->number], e->time_ns, bits);
	count_one(&c->threads[thread], e->time_ns, bits);
	count_one(&c->cpus[cpu], e->time_ns, bits);
	if (c->values && count_value(c, e, &who, bits))
		return -ENOMEM;
	return count_call(c, e, bits);
}

static int on_lost(void *context, struct pass *r, const struct trace_event *e)
{
	struct counting *c = context;
	uint32_t cpu = cpu_index(e->cpu);
	struct count *of[2] = { &c->streams[e->stream->number] };

	(void)r;
	if (pass_grow(&c->cpus, &c->n_cpus, cpu, sizeof *c->cpus))
		return -ENOMEM;
	of[1] = &c->cpus[cpu];
	for (int i = 0; i < 2; i++) {
		of[i]->lost_events += e->lost_events;
		of[i]->lost_packets += e->lost_packets;
	}
	return 0;
}

/* ---------------------------------------------------------------- rows */

static void add_up(struct count *to, const struct count *c)
{
	if (c->n && (!to->n || c->first_ns < to->first_ns))
		to->first_ns = c->first_ns;
	if (c->n && (!to->n || c->last_ns > to->last_ns))
		to->last_ns = c->last_ns;
	to->n += c->n;
	to->bits += c->bits;
	to->lost_events += c->lost_events;
	to->lost_packets += c->lost_packets;
}

static int by_name(const void *a, const void *b)
{
	const struct count_row *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (int)x->domain - (int)y->domain;
}

static int by_count(const void *a, const void *b)
{
	const struct count_row *x = a, *y = b;

	if (x->count.n != y->count.n)
		return x->count.n < y->count.n ? 1 : -1;
	if (x->name && y->name)
		return by_name(a, b);
	return x->number < y->number ? -1 : x->number > y->number;
}

static int by_number(const void *a, const void *b)
{
	const struct count_row *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static void put_row(struct count_table *t, const struct count_row *row)
{
	if (row->count.n || row->count.lost_events || row->count.lost_packets)
		t->at[t->n++] = *row;
}

struct naming {
	struct count_table *table;
	const struct count *classes;
};

static void name_class(void *context, const struct trace_source *s, const struct ctf_event_class *c,
		       uint32_t number)
{
	struct naming *n = context;

	put_row(n->table, &(struct count_row){ .name = c->name,
					       .domain = s->domain,
					       .number = number,
					       .count = n->classes[number] });
}

/* Classes of one name in several traces become one row. */
static void join_equal_names(struct count_table *t)
{
	uint32_t kept = 0;

	qsort(t->at, t->n, sizeof *t->at, by_name);
	for (uint32_t i = 0; i < t->n; i++) {
		if (kept && !by_name(&t->at[kept - 1], &t->at[i]))
			add_up(&t->at[kept - 1].count, &t->at[i].count);
		else
			t->at[kept++] = t->at[i];
	}
	assert(kept <= t->n);
	t->n = kept;
}

static void make_threads(struct counts *s, const struct counting *c, struct count *processes)
{
	for (uint32_t i = 0; i < c->n_threads && i < threads_n(s->run.threads); i++) {
		add_up(&processes[threads_at(s->run.threads, i)->process], &c->threads[i]);
		put_row(&s->by[COUNT_THREAD],
			&(struct count_row){ .number = i, .count = c->threads[i] });
	}
	for (uint32_t i = 0; i < threads_n(s->run.threads); i++)
		put_row(&s->by[COUNT_PROCESS],
			&(struct count_row){ .number = i, .count = processes[i] });
}

static void make_streams(struct counts *s, const struct counting *c)
{
	for (uint32_t i = 0; i < trace_n_streams(s->run.trace); i++) {
		put_row(&s->by[COUNT_STREAM],
			&(struct count_row){ .number = i, .count = c->streams[i] });
		add_up(&s->total, &c->streams[i]);
	}
	for (uint32_t i = 0; i < c->n_cpus; i++)
		put_row(&s->by[COUNT_CPU],
			&(struct count_row){ .number = i ? i - 1 : TRACE_CPU_UNKNOWN,
					     .count = c->cpus[i] });
}

static void make_functions(struct counts *s, const struct counting *c)
{
	for (uint32_t i = 0; i < c->functions.n; i++)
		put_row(&s->by[COUNT_FUNCTION],
			&(struct count_row){ .number = i,
					     .address = c->functions.at[i].of[0],
					     .count = c->calls[i] });
}

static void make_values(struct counts *s, const struct counting *c)
{
	for (uint32_t i = 0; i < c->n_of_values; i++)
		put_row(&s->by[COUNT_VALUE],
			&(struct count_row){ .number = i, .count = c->of_values[i] });
}

static int make_rows(void *context)
{
	const struct counting *c = context;
	struct counts *s = c->s;
	uint32_t n_threads = threads_n(s->run.threads);
	const uint32_t rooms[COUNT_KINDS] = {
		trace_n_classes(s->run.trace), n_threads,      n_threads,     c->n_cpus,
		trace_n_streams(s->run.trace), c->functions.n, c->n_of_values
	};
	struct count *processes = calloc(n_threads, sizeof *processes);
	struct naming naming = { &s->by[COUNT_EVENT], c->classes };
	bool has_room = processes;

	for (int k = 0; k < COUNT_KINDS; k++) {
		s->by[k].at = calloc(rooms[k] + (size_t)1, sizeof *s->by[k].at);
		has_room = has_room && s->by[k].at;
	}
	if (has_room) {
		pass_each_class(&s->run, name_class, &naming);
		join_equal_names(&s->by[COUNT_EVENT]);
		make_threads(s, c, processes);
		make_streams(s, c);
		make_functions(s, c);
		make_values(s, c);
		for (int k = 0; k < COUNT_KINDS; k++)
			qsort(s->by[k].at, s->by[k].n, sizeof *s->by[k].at,
			      k == COUNT_CPU ? by_number : by_count);
	}
	free(processes);
	return has_room ? 0 : -ENOMEM;
}

static int prepare(void *context)
{
	struct counting *c = context;
	struct counts *s = c->s;
	struct trace *t = s->run.trace;
	int err = 0;

	c->bookmarks = calloc(trace_n_streams(t) + (size_t)1, sizeof *c->bookmarks);
	c->classes = calloc(trace_n_classes(t) + (size_t)1, sizeof *c->classes);
	c->streams = calloc(trace_n_streams(t) + (size_t)1, sizeof *c->streams);
	c->function_of = calloc(trace_n_classes(t) + (size_t)1, sizeof *c->function_of);
	if (!c->bookmarks || !c->classes || !c->streams || !c->function_of)
		return -ENOMEM;
	pass_each_class(&s->run, find_function, c);
	if (c->filter)
		err = match_open(&c->match, t, c->filter, NULL, c->diag);
	if (!err && c->value)
		err = values_open(&s->values, t, c->value);
	c->values = s->values;
	if (!err && (c->filter || c->value))
		err = names_open(&c->names, t, c->diag);
	return err;
}

int counts_init(struct counts *s, struct trace *t, const struct pass_range *range,
		const char *filter, const char *value, struct diag *d)
{
	static const struct pass_analysis analysis = { .about = "counts of events",
						       .prepare = prepare,
						       .on_event = on_event,
						       .on_lost = on_lost,
						       .finish = make_rows };
	struct counting c = { .s = s, .filter = filter, .value = value, .diag = d };
	int err;

	*s = (struct counts){ 0 };
	err = pass_run(&s->run, t, range, &analysis, &c, d);
	free(c.bookmarks);
	free(c.classes);
	free(c.streams);
	free(c.threads);
	free(c.cpus);
	free(c.function_of);
	free(c.calls);
	free(c.of_values);
	index_fini(&c.functions);
	match_close(c.match);
	names_close(c.names);
	if (err)
		counts_fini(s);
	return err;
}

void counts_fini(struct counts *s)
{
	for (int k = 0; k < COUNT_KINDS; k++)
		free(s->by[k].at);
	values_close(s->values);
	pass_fini(&s->run);
	*s = (struct counts){ 0 };
}
