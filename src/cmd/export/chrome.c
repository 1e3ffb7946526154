/* SPDX-License-Identifier: MIT */
/*
 * cmd/export/chrome.c - `duet export chrome`: the Trace Event Format, one JSON object.
 *
 * Times are microseconds with three decimals since the first event: a double could not hold them
 * since 1970.  A thread with switches has a second row for its states.  CPUs are threads of process
 * 0 and show the running thread.  Flows lead from the waker's state to the woken thread's. Source:
 * "Trace Event Format", Google, 2016.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/export/span.h"
#include "base/text.h"
#include "cmd/export/internal.h"
#include "cmd/view/print.h"

/* Larger than every thread id, which is below 2^22. */
enum { STATES = 1 << 23, HOST = 1 << 24, NO_CPU = 4096 };

struct chrome {
	struct export *x;
	struct out *o;
	struct timeline timeline;
	uint8_t *has_row; /* bits by thread: 1 named as a thread, 2 as a process, 4 its states */
	bool *has_cpu_row;
	uint32_t n_has_row, n_has_cpu_row;
	bool has_cpu_process, has_one;
	int64_t begin_ns;
};

static void add_string(struct out *o, const char *s, size_t n)
{
	out_json(o, s, n);
}

/* {"ph":"X" */
static void begin(struct chrome *c, char phase)
{
	out_room(c->o);
	if (c->has_one)
		out_literal(c->o, ",\n");
	c->has_one = true;
	out_literal(c->o, "{\"ph\":\"");
	out_byte(c->o, phase);
	out_byte(c->o, '"');
}

static void add_row(struct chrome *c, int64_t pid, int64_t tid)
{
	out_literal(c->o, ",\"pid\":");
	out_i64(c->o, pid);
	out_literal(c->o, ",\"tid\":");
	out_i64(c->o, tid);
}

static void add_us(struct chrome *c, const char *key, int64_t ns)
{
	uint32_t rest;

	out_bytes(c->o, key, strlen(key));
	if (ns < 0) {
		out_byte(c->o, '-');
		ns = -ns;
	}
	out_i64(c->o, ns / 1000);
	rest = (uint32_t)(ns % 1000);
	out_byte(c->o, '.');
	out_byte(c->o, (char)('0' + rest / 100));
	out_byte(c->o, (char)('0' + rest / 10 % 10));
	out_byte(c->o, (char)('0' + rest % 10));
}

static void add_time(struct chrome *c, int64_t time_ns)
{
	add_us(c, ",\"ts\":", span_ns(c->begin_ns, time_ns));
}

/* ---------------------------------------------------------------- rows */

static void put_name(struct chrome *c, const char *what, int64_t pid, int64_t tid, const char *name,
		     size_t size, const char *more)
{
	struct text text = { 0 };

	text_add(&text, name, size);
	text_add(&text, more, strlen(more));
	begin(c, 'M');
	out_literal(c->o, ",\"name\":\"");
	out_bytes(c->o, what, strlen(what));
	out_byte(c->o, '"');
	add_row(c, pid, tid);
	out_literal(c->o, ",\"args\":{\"name\":");
	add_string(c->o, text.bytes ? text.bytes : "", text.bytes ? text.size : 0);
	out_literal(c->o, "}}");
	text_fini(&text);
}

static void put_order(struct chrome *c, int64_t pid, int64_t tid, int64_t order)
{
	begin(c, 'M');
	out_literal(c->o, ",\"name\":\"thread_sort_index\"");
	add_row(c, pid, tid);
	out_literal(c->o, ",\"args\":{\"sort_index\":");
	out_i64(c->o, order);
	out_literal(c->o, "}}");
}

static int64_t number_of(const struct thread *th)
{
	return th->tid + (int64_t)th->host * HOST;
}

static uint32_t process_of(const struct chrome *c, uint32_t thread)
{
	uint32_t process = timeline_thread(&c->timeline, thread)->process;

	return process ? process : thread;
}

/* Writes the names of the rows of @thread, once; @as: 1 for the thread, 4 for its states. */
static int name_rows(struct chrome *c, uint32_t thread, uint8_t as, int64_t *pid, int64_t *tid)
{
	const struct thread *th = timeline_thread(&c->timeline, thread), *p;
	uint32_t process = process_of(c, thread);

	if (pass_grow(&c->has_row, &c->n_has_row, thread > process ? thread : process,
		      sizeof *c->has_row))
		return -ENOMEM;
	p = timeline_thread(&c->timeline, process);
	*pid = number_of(p);
	*tid = number_of(th) + (as == 4 ? STATES : 0);
	if (!(c->has_row[process] & 2))
		put_name(c, "process_name", *pid, *pid, p->name, p->name_size, "");
	c->has_row[process] |= 2;
	if (c->has_row[thread] & as)
		return 0;
	c->has_row[thread] |= as;
	put_name(c, "thread_name", *pid, *tid, th->name, th->name_size, as == 4 ? " (states)" : "");
	put_order(c, *pid, *tid, 2 * (number_of(th) - *pid) + (as != 4));
	return 0;
}

static int name_cpu_row(struct chrome *c, uint32_t cpu, int64_t *pid, int64_t *tid)
{
	char name[32] = "CPU ?";

	*pid = 0;
	*tid = cpu < NO_CPU ? cpu : NO_CPU;
	if (!c->has_cpu_process)
		put_name(c, "process_name", 0, 0, "CPUs", 4, "");
	c->has_cpu_process = true;
	if (pass_grow(&c->has_cpu_row, &c->n_has_cpu_row, (uint32_t)*tid, sizeof *c->has_cpu_row))
		return -ENOMEM;
	if (c->has_cpu_row[*tid])
		return 0;
	c->has_cpu_row[*tid] = true;
	if (cpu < NO_CPU)
		snprintf(name, sizeof name, "CPU %u", cpu);
	put_name(c, "thread_name", 0, *tid, name, strlen(name), "");
	put_order(c, 0, *tid, *tid);
	return 0;
}

static int name_row(struct chrome *c, const struct timeline_item *item, int64_t *pid, int64_t *tid)
{
	return item->is_of_cpu ? name_cpu_row(c, item->cpu, pid, tid)
			       : name_rows(c, item->thread, 1, pid, tid);
}

/* ---------------------------------------------------------------- events */

/* Writes "args": the fields; contexts, if any, are one member. */
static void add_args(struct chrome *c, const struct trace_event *e)
{
	bool has_fields = view_json_scope(c->o, e, CTF_PAYLOAD, ",\"args\":");

	if (has_fields)
		c->o->at--; /* the brace just written */
	if (view_json_scope(c->o, e, CTF_CONTEXT,
			    has_fields ? ",\"context\":" : ",\"args\":{\"context\":") ||
	    has_fields)
		out_byte(c->o, '}');
}

static void put_flow(struct chrome *c, char phase, uint64_t flow, int64_t pid, int64_t tid,
		     int64_t time_ns)
{
	begin(c, phase);
	out_literal(c->o, ",\"name\":\"wakeup\",\"cat\":\"kernel\",\"id\":");
	out_u64(c->o, flow);
	if (phase == 'f')
		out_literal(c->o, ",\"bp\":\"e\"");
	add_row(c, pid, tid);
	add_time(c, time_ns);
	out_byte(c->o, '}');
}

static int put_event(struct chrome *c, const struct timeline_item *item, char phase)
{
	static const char *const categories[] = { "other", "app", "kernel" };
	int64_t pid, tid;
	int err = name_row(c, item, &pid, &tid);

	if (err)
		return err;
	begin(c, phase);
	if (phase != 'E') {
		const char *category =
			item->event ? categories[item->event->stream->source->domain] : "call";

		out_literal(c->o, ",\"name\":");
		add_string(c->o, item->name, item->name_size);
		out_literal(c->o, ",\"cat\":\"");
		out_bytes(c->o, category, strlen(category));
		out_byte(c->o, '"');
	}
	add_row(c, pid, tid);
	add_time(c, item->time_ns);
	if (phase == 'i')
		out_literal(c->o, ",\"s\":\"t\"");
	if (item->event)
		add_args(c, item->event);
	out_byte(c->o, '}');
	if (item->flow)
		put_flow(c, 's', item->flow, pid, tid, item->time_ns);
	return 0;
}

static void put_slice(struct chrome *c, const char *name, size_t size, int64_t pid, int64_t tid,
		      const struct timeline_item *item)
{
	begin(c, 'X');
	out_literal(c->o, ",\"name\":");
	add_string(c->o, name, size);
	out_literal(c->o, ",\"cat\":\"sched\"");
	add_row(c, pid, tid);
	add_time(c, item->begin_ns);
	add_us(c, ",\"dur\":", span_ns(item->begin_ns, item->time_ns));
	out_byte(c->o, '}');
}

static int put_state(struct chrome *c, const struct timeline_item *item)
{
	static const char *const names[] = { "", "running", "runnable", "blocked" };
	const struct thread *th = timeline_thread(&c->timeline, item->thread);
	char who[THREAD_NAME_MAX + 16];
	int64_t pid, tid;
	int err = name_rows(c, item->thread, 4, &pid, &tid);

	if (err)
		return err;
	put_slice(c, names[item->state], strlen(names[item->state]), pid, tid, item);
	if (item->state != TIMELINE_RUNNING)
		return 0;
	snprintf(who, sizeof who, "%.*s:%d", th->name_size, th->name, th->tid);
	err = name_cpu_row(c, item->cpu, &pid, &tid);
	put_slice(c, who, strlen(who), pid, tid, item);
	return err;
}

static int put_runs(struct chrome *c, const struct timeline_item *item)
{
	int64_t pid, tid;
	int err = name_rows(c, item->thread, 4, &pid, &tid);

	if (!err)
		put_flow(c, 'f', item->flow, pid, tid, item->time_ns);
	return err;
}

static int put_counter(struct chrome *c, const struct timeline_item *item)
{
	const struct timeline_counter *counter = &c->x->counters[item->counter];
	int64_t pid, tid;
	int err = name_row(c, item, &pid, &tid);
	char name[256];

	if (err)
		return err;
	snprintf(name, sizeof name, "%s:%s", counter->event, counter->field);
	begin(c, 'C');
	out_literal(c->o, ",\"name\":");
	add_string(c->o, name, strlen(name));
	add_row(c, pid, tid);
	add_time(c, item->time_ns);
	out_literal(c->o, ",\"args\":{\"value\":");
	out_i64(c->o, item->number);
	out_literal(c->o, "}}");
	return 0;
}

static int put_lost(struct chrome *c, const struct timeline_item *item)
{
	int64_t pid, tid;
	int err = name_cpu_row(c, item->cpu, &pid, &tid);

	if (err)
		return err;
	begin(c, 'i');
	out_literal(c->o, ",\"name\":\"events lost\",\"cat\":\"lost\"");
	add_row(c, pid, tid);
	add_time(c, item->time_ns);
	out_literal(c->o, ",\"s\":\"t\",\"args\":{\"n\":");
	out_u64(c->o, item->lost);
	out_literal(c->o, "}}");
	return 0;
}

static int put_item(void *context, const struct timeline_item *item)
{
	struct chrome *c = context;

	if (!c->has_one)
		c->begin_ns = c->timeline.run.first_ns;
	switch (item->kind) {
	case TIMELINE_BEGIN:
		return put_event(c, item, 'B');
	case TIMELINE_END:
		return put_event(c, item, 'E');
	case TIMELINE_INSTANT:
		return put_event(c, item, 'i');
	case TIMELINE_SWITCH: /* exported as states */
		return 0;
	case TIMELINE_STATE:
		return put_state(c, item);
	case TIMELINE_RUNS:
		return put_runs(c, item);
	case TIMELINE_COUNTER:
		return put_counter(c, item);
	case TIMELINE_LOST:
		return put_lost(c, item);
	}
	return 0;
}

int export_chrome(struct export *x, struct diag *d)
{
	struct chrome c = { .x = x, .o = &x->out };
	int err;

	out_literal(c.o, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
	err = export_timeline(x, &c.timeline, put_item, &c, d);
	out_literal(c.o,
		    "\n],\"otherData\":{\"version\":\"duet " DUET_VERSION "\",\"begin_ns\":\"");
	out_i64(c.o, c.timeline.run.first_ns);
	out_literal(c.o, "\"}}\n");
	timeline_fini(&c.timeline);
	free(c.has_row);
	free(c.has_cpu_row);
	return err;
}
