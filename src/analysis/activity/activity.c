/* SPDX-License-Identifier: MIT */
/* analysis/activity/activity.c - intervals of a recording that grows: see activity.h. */
#include "analysis/activity/activity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void name_class(void *context, const struct trace_source *s, const struct ctf_event_class *c,
		       uint32_t number)
{
	struct activity *a = context;

	a->classes[number].name = c->name;
	a->classes[number].is_kernel = s->domain == TRACE_KERNEL;
	a->classes[number].is_switch =
		s->domain == TRACE_KERNEL && !strcmp(c->name, "sched_switch");
	a->has_switches |= a->classes[number].is_switch;
}

static int learn_classes(struct activity *a)
{
	uint32_t n = trace_n_classes(a->trace);

	if (n == a->n_classes)
		return 0;
	if (pass_grow(&a->classes, &a->n_class_rooms, n - 1, sizeof *a->classes))
		return -ENOMEM;
	a->n_classes = n;
	pass_each_class(a->pass, name_class, a);
	return 0;
}

int activity_open(struct activity *a, struct trace *t, const char *const *paths, int n_paths,
		  int64_t from_ns, struct diag *d)
{
	int err;

	*a = (struct activity){ .trace = t, .from_ns = from_ns, .to_ns = from_ns };
	err = wait_follow_open(&a->follow, t, NULL, d);
	if (!err)
		err = wait_follow_names(a->follow, paths, n_paths, d);
	if (err)
		return err;
	a->pass = wait_follow_pass(a->follow);
	return learn_classes(a) ? diag_fail(d, -ENOMEM, "no memory for events") : 0;
}

void activity_close(struct activity *a)
{
	wait_follow_close(a->follow);
	free(a->threads);
	free(a->classes);
	*a = (struct activity){ 0 };
}

static struct activity_thread *thread_of(struct activity *a, uint32_t thread)
{
	if (pass_grow(&a->threads, &a->n_thread_rooms, thread, sizeof *a->threads))
		return NULL;
	if (thread >= a->n_threads)
		a->n_threads = thread + 1;
	return &a->threads[thread];
}

/* Charges the part of [@begin, @end) that lies in the interval. */
static int charge(struct activity *a, uint32_t thread, uint8_t state, int64_t begin_ns,
		  int64_t end_ns)
{
	struct activity_thread *t = thread_of(a, thread);

	if (!t)
		return -ENOMEM;
	if (begin_ns < a->from_ns)
		begin_ns = a->from_ns;
	if (state < WAIT_STATES && begin_ns < end_ns)
		t->ns[state] += (uint64_t)(end_ns - begin_ns);
	return 0;
}

static int take_states(struct activity *a)
{
	uint32_t n;
	const struct wait_closed *closed = wait_follow_closed(a->follow, &n);
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++)
		err = charge(a, closed[i].thread, closed[i].state, closed[i].begin_ns,
			     closed[i].end_ns);
	return err;
}

static int count(struct activity *a, const struct trace_event *e, uint32_t thread)
{
	uint32_t class = trace_class_number(e);
	const struct call_class *call = wait_follow_known(a->follow)->calls.classes[class];
	struct activity_thread *t = thread_of(a, thread);

	if (!t)
		return -ENOMEM;
	a->n_events++;
	a->classes[class].n++;
	t->n_events += !a->classes[class].is_kernel;
	t->n_calls += call->is == CALL_ENTRY;
	t->n_switches += a->classes[class].is_switch;
	return 0;
}

static int take_event(struct activity *a, const struct trace_event *e, uint32_t thread)
{
	int err = wait_follow_event(a->follow, e, thread);

	if (!err)
		err = take_states(a);
	return err || e->time_ns < a->from_ns ? err : count(a, e, thread);
}

static int take_lost(struct activity *a, const struct trace_event *e)
{
	int err = wait_follow_lost(a->follow, e);

	if (e->time_ns >= a->from_ns) {
		a->lost_events += e->lost_events;
		a->lost_packets += e->lost_packets;
	}
	return err ? err : take_states(a);
}

int activity_read(struct activity *a, struct diag *d)
{
	enum { ASK_EVERY = 1 << 14 };
	int err = wait_follow_update(a->follow, d), found = 0;
	uint32_t n = 0;

	if (!err && learn_classes(a))
		err = diag_fail(d, -ENOMEM, "no memory for events");
	while (!err) {
		struct trace_event e;
		uint32_t thread;

		a->was_stopped = ++n % ASK_EVERY == 0 && a->is_stopped && a->is_stopped();
		if (a->was_stopped)
			break;
		found = pass_next(a->pass, &e, &thread, d);
		if (found <= 0)
			break;
		err = found == TRACE_LOST ? take_lost(a, &e) : take_event(a, &e, thread);
		if (err)
			diag_fail(d, err, "no memory for threads");
	}
	return err ? err : found < 0 ? found : 0;
}

static void describe(struct activity *a, uint32_t thread)
{
	const struct wait_analysis *known = wait_follow_known(a->follow);
	struct wait_view v = wait_follow_view(a->follow, thread);
	const struct wait_interval *wait = wait_follow_reason(a->follow, thread);
	struct activity_thread *t = &a->threads[thread];

	t->is_complete = wait_follow_is_complete(a->follow, thread);
	t->state = v.state;
	t->since_ns = v.begin_ns;
	t->call = v.in_call && v.call ? known->calls.names[v.call - 1] : NULL;
	t->object = t->call && wait ? wait->object : 0;
}

int activity_end(struct activity *a, int64_t to_ns)
{
	uint32_t n = threads_n(a->pass->threads);
	int err;

	if (to_ns < a->from_ns)
		to_ns = a->from_ns;
	a->to_ns = to_ns;
	err = wait_follow_weigh(a->follow);
	for (uint32_t i = 1; i < n && !err; i++) {
		struct wait_view v = wait_follow_view(a->follow, i);

		err = charge(a, i, v.state, v.begin_ns, to_ns);
		if (!err)
			describe(a, i);
	}
	return err;
}

void activity_begin(struct activity *a)
{
	if (a->n_threads)
		memset(a->threads, 0, a->n_threads * sizeof *a->threads);
	for (uint32_t i = 0; i < a->n_classes; i++)
		a->classes[i].n = 0;
	a->n_events = a->lost_events = a->lost_packets = 0;
	a->from_ns = a->to_ns;
}

void activity_object(const struct activity *a, uint32_t object, struct text *t)
{
	objects_words(&wait_follow_known(a->follow)->objects, object, t);
}
