/* SPDX-License-Identifier: MIT */
/*
 * kernel/perf/profile_own.c - the events that perf records about a user's own threads, without the
 * right to trace others. See profile.h.
 *
 * perf does not report the previous or next thread, so there is no sched_switch. The events are
 * `thread_switched_in`; `thread_switched_out` with whether the thread was preempted; `thread_named`
 * at an exec and a change of the name; and `thread_ended`.
 */
#include <errno.h>
#include <string.h>

#include "kernel/perf/internal.h"

enum own_event { SWITCHED_IN, SWITCHED_OUT, NAMED, ENDED };

static const struct {
	const char *name, *fields;
} own_events[PROFILE_OWN_EVENTS] = {
	[SWITCHED_IN] = { "thread_switched_in", "\t\tint32_t _pid;\n" },
	[SWITCHED_OUT] = { "thread_switched_out", "\t\tint32_t _pid;\n\t\tuint8_t _preempted;\n" },
	[NAMED] = { "thread_named",
		    "\t\tint32_t _pid;\n\t\tint32_t _tid;\n\t\tstring _newcomm;\n" },
	[ENDED] = { "thread_ended", "\t\tint32_t _pid;\n" },
};

/* Follows each record, because of sample_id_all. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time_ns;
};

void kernel_profile_switches(struct kernel_profile *p)
{
	p->has_switches = true;
}

int kernel_profile_attach(struct kernel_profile *p, pid_t tid, struct diag *d)
{
	int err = pids_has(&p->threads, tid) ? -EEXIST : pids_put(&p->threads, tid);

	if (err)
		return err == -EEXIST ? 0 : err;
	for (struct profile_ring *r = p->rings; r < p->rings + p->n_rings && !err; r++) {
		err = kernel_perf_attach_switches(&r->perf, tid, p->has_switches);
		for (int i = 0; i < p->n_sources && !err; i++)
			err = kernel_perf_attach(&r->perf, tid, &p->sources[i].attr,
						 p->sources[i].extras, i);
	}
	return err && err != -ESRCH
		       ? kernel_sampled_explain("what perf tells of one's own processes", err, d)
		       : err;
}

int profile_try_own(const struct perf_event_attr *a, uint32_t extras)
{
	struct kernel_perf_ring r;
	int err = kernel_perf_open_own(&r, 0, 0);

	if (!err)
		err = kernel_perf_attach(&r, 0, a, extras, 0);
	kernel_perf_close(&r);
	return err;
}

static int describe(struct kernel_profile *p, struct kernel_drain *k)
{
	for (int i = 0; i < PROFILE_OWN_EVENTS && !p->own_are_described; i++)
		p->own_ids[i] = kernel_classes_describe(&k->classes, own_events[i].name,
							own_events[i].fields);
	p->own_are_described = true;
	return k->classes.tsdl.failed ? -ENOMEM : 0;
}

static uint8_t *put(uint8_t *to, const void *bytes, size_t size)
{
	memcpy(to, bytes, size);
	return to + size;
}

/* Flags and preempt count are not known. */
static uint8_t *put_header(uint8_t *to, uint32_t time, uint16_t id, const struct trailer *t)
{
	to = put(to, &time, sizeof time);
	to = put(to, &id, sizeof id);
	to = put(to, "\0", 2);
	to = put(to, &t->tid, sizeof t->tid);
	return put(to, &t->pid, sizeof t->pid);
}

/* False: the record becomes no event. */
static bool is_of(const struct kernel_profile *p, const struct perf_event_header *h,
		  enum own_event *e)
{
	if (!p->has_switches)
		return false;
	if (h->type == PERF_RECORD_SWITCH)
		*e = h->misc & PERF_RECORD_MISC_SWITCH_OUT ? SWITCHED_OUT : SWITCHED_IN;
	else if (h->type == PERF_RECORD_COMM &&
		 h->size >= sizeof(struct kernel_perf_comm) + sizeof(struct trailer))
		*e = NAMED;
	else if (h->type == PERF_RECORD_EXIT &&
		 h->size >= sizeof(struct kernel_perf_fork) + sizeof(struct trailer))
		*e = ENDED;
	else
		return false;
	return h->size >= sizeof *h + sizeof(struct trailer);
}

static uint8_t *put_fields(uint8_t *to, enum own_event e, const struct perf_event_header *h)
{
	const struct kernel_perf_comm *c = (const struct kernel_perf_comm *)h;
	uint8_t preempted = !!(h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	size_t room = h->size - sizeof *c - sizeof(struct trailer);

	if (e == SWITCHED_OUT)
		return put(to, &preempted, sizeof preempted);
	if (e != NAMED)
		return to;
	to = put(to, &c->tid, sizeof c->tid);
	to = put(to, c + 1, strnlen((const char *)(c + 1), room));
	return put(to, "", 1);
}

int profile_take_own(struct kernel_profile *p, struct profile_ring *r,
		     const struct perf_event_header *h, struct kernel_drain *k, struct diag *d)
{
	struct trailer t;
	enum own_event e;
	uint8_t *to;
	uint64_t ns;
	int err;

	if (!is_of(p, h, &e) || h->size > EVENT_MAX / 2)
		return 0;
	memcpy(&t, (const char *)h + h->size - sizeof t, sizeof t);
	if (e == ENDED) { /* its own thread, not the reporting one */
		t.pid = ((const struct kernel_perf_fork *)h)->pid;
		t.tid = ((const struct kernel_perf_fork *)h)->tid;
	}
	ns = clock_track_ns(&p->shared->clock, &p->line, t.time_ns);
	to = profile_begin_event(p, r, &ns, k, &err, d);
	if (!err)
		err = describe(p, k);
	if (err) {
		r->lost++;
		return err;
	}
	to = put_header(to, (uint32_t)ns, p->own_ids[e], &t);
	profile_end_event(p, r, put_fields(to, e, h), ns, k);
	return 0;
}
