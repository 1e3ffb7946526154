/* SPDX-License-Identifier: MIT */
/*
 * analysis/coverage.c - decides which threads of a recording have all their switches.
 *
 * Each event class gets a role once. Every switch and wakeup is then checked against the last known
 * state of its threads and of its CPU, and contradictions are counted.
 */
#include "analysis/coverage.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Some kernels do not report every switch. On the machine that this was tested on (6.18, a guest)
 * perf and tracefs both miss between 1 in 200 and 1 in 4 and count no loss. So less than one
 * contradiction in FEW switches means nothing, and more than one in SOME means that some threads
 * are not followed. Between the two limits has_strangers() decides. */
enum { FEW = 1000, SOME = 2 };

enum role { ROLE_OTHER, ROLE_OWN, ROLE_STATE, ROLE_SWITCH, ROLE_WAKING, ROLE_WAKEUP, ROLE_END };

struct coverage_plan {
	enum role role;
	const struct ctf_op *prev, *next;
};

static enum role role_of(const struct trace_source *s, const char *name)
{
	if (s->domain != TRACE_KERNEL)
		return ROLE_OTHER;
	if (!strcmp(name, "lttng_statedump_file_descriptor") ||
	    !strcmp(name, "lttng_statedump_vm_map"))
		return ROLE_STATE;
	if (!strncmp(name, "lttng_statedump_", 16))
		return ROLE_OTHER;
	if (!strcmp(name, "sched_switch"))
		return ROLE_SWITCH;
	if (!strcmp(name, "sched_waking"))
		return ROLE_WAKING;
	if (!strncmp(name, "sched_wakeup", 12))
		return ROLE_WAKEUP;
	if (!strcmp(name, "sched_process_exit"))
		return ROLE_END;
	if (!strncmp(name, "syscall_", 8) || !strcmp(name, "sched_process_exec"))
		return ROLE_OWN;
	return ROLE_OTHER;
}

static void plan_class(void *context, const struct trace_source *s, const struct ctf_event_class *c,
		       uint32_t number)
{
	struct coverage_plan *p = &((struct coverage *)context)->plans[number];

	p->role = role_of(s, c->name);
	p->prev = ctf_class_find(c, CTF_PAYLOAD,
				 p->role == ROLE_SWITCH	 ? "prev_tid"
				 : p->role == ROLE_STATE ? "pid"
							 : "tid");
	p->next = ctf_class_find(c, CTF_PAYLOAD, "next_tid");
}

int coverage_update(struct coverage *f, const struct pass *r)
{
	struct coverage_plan *plans =
		reallocarray(f->plans, trace_n_classes(r->trace) + (size_t)1, sizeof *plans);

	if (!plans)
		return -ENOMEM;
	f->plans = plans;
	pass_each_class(r, plan_class, f);
	return 0;
}

int coverage_init(struct coverage *f, const struct pass *r)
{
	*f = (struct coverage){ 0 };
	return coverage_update(f, r);
}

void coverage_fini(struct coverage *f)
{
	free(f->plans);
	free(f->threads);
	free(f->cpus);
	*f = (struct coverage){ 0 };
}

static int64_t cpu_of(struct coverage *f, const struct trace_event *e)
{
	uint32_t i = f->last;

	if (i < f->n_cpus && f->cpus[i].cpu == e->cpu && f->cpus[i].source == e->stream->source)
		return i;
	i = 0;
	while (i < f->n_cpus &&
	       (f->cpus[i].cpu != e->cpu || f->cpus[i].source != e->stream->source))
		i++;
	f->last = i;
	if (i < f->n_cpus)
		return i;
	if (pass_grow(&f->cpus, &f->n_cpu_rooms, i, sizeof *f->cpus))
		return -ENOMEM;
	f->cpus[f->n_cpus++] = (struct coverage_cpu){ .source = e->stream->source, .cpu = e->cpu };
	return i;
}

static void mark_contradictory(struct coverage *f, uint32_t thread)
{
	f->threads[thread].is_contradictory = true;
}

/* NULL for an idle thread, because there is one on each CPU, and for an unknown thread. */
static struct coverage_thread *thread_at(struct coverage *f, struct pass *r, int64_t number)
{
	return number > 0 && threads_at(r->threads, (uint32_t)number)->tid > 0 ? &f->threads[number]
									       : NULL;
}

static void on_switch(struct coverage *f, struct pass *r, uint32_t cpu, int64_t prev, int64_t next)
{
	struct coverage_cpu *c = &f->cpus[cpu];
	struct coverage_thread *out = thread_at(f, r, prev), *in = thread_at(f, r, next), *before;

	assert(cpu < f->n_cpus);
	if (c->thread && c->thread - 1 != prev) {
		before = thread_at(f, r, c->thread - 1);
		f->n_contradictions++;
		if (before && !threads_at(r->threads, c->thread - 1)->is_dead)
			mark_contradictory(f, c->thread - 1);
		if (before && before->cpu == cpu + 1)
			before->cpu = 0;
		if (out)
			mark_contradictory(f, (uint32_t)prev);
	}
	f->n_switches++;
	if (out && !in)
		out->meets_idle = true;
	else if (in && !out)
		in->meets_idle = true;
	if (out)
		out->cpu = 0;
	if (in) {
		if (in->cpu && in->cpu != cpu + 1) {
			mark_contradictory(f, (uint32_t)next);
			f->n_contradictions++;
		}
		in->cpu = cpu + 1;
		in->waits = false;
	}
	assert(!in || (in->cpu == cpu + 1 && !in->waits));
	c->thread = next >= 0 ? (uint32_t)next + 1 : 0;
}

static void on_waking(struct coverage *f, struct pass *r, int64_t thread)
{
	struct coverage_thread *t = thread_at(f, r, thread);

	if (!t || t->cpu)
		return;
	if (t->waits) {
		mark_contradictory(f, (uint32_t)thread);
		f->n_contradictions++;
	}
	t->waits = true;
}

/* Recordings of duet state whether they follow processes or the whole machine. For those of other
 * tracers coverage_finalize() decides from the events. */
static void read_scope(struct coverage *f, const struct trace_source *source)
{
	const char *scope = ctf_meta_env(source->meta, "duet_scope");

	f->scoped = source;
	if (!scope)
		return;
	f->is_stated = true;
	f->is_followed |= !strcmp(scope, "followed");
}

int64_t coverage_on_event(struct coverage *f, struct pass *r, const struct trace_event *e,
			  uint32_t thread)
{
	const struct coverage_plan *p = &f->plans[trace_class_number(e)];
	int64_t cpu = e->stream->source->domain == TRACE_KERNEL ? cpu_of(f, e) : 0;
	int64_t prev = 0, next = 0;

	if (e->stream->source != f->scoped && e->stream->source->domain == TRACE_KERNEL)
		read_scope(f, e->stream->source);
	if (p->role == ROLE_OTHER || cpu < 0 || (p->role == ROLE_STATE && !f->is_followed))
		return cpu;
	if (p->role == ROLE_SWITCH || p->role == ROLE_WAKING || p->role == ROLE_STATE) {
		prev = threads_of(r->threads, e, pass_number(e, p->prev, -1));
		next = p->next ? threads_of(r->threads, e, pass_number(e, p->next, -1)) : 0;
	}
	if (prev < 0 || next < 0 ||
	    pass_grow(&f->threads, &f->n_threads, threads_n(r->threads), sizeof *f->threads))
		return -ENOMEM;
	if (p->role == ROLE_SWITCH) {
		on_switch(f, r, (uint32_t)cpu, prev, next);
	} else if (p->role == ROLE_WAKING) {
		on_waking(f, r, prev);
	} else if (p->role == ROLE_STATE) {
		f->has_own_kinds = true;
		f->threads[prev].has_own |= prev > 0;
	} else if (p->role == ROLE_OWN || p->role == ROLE_END) {
		f->has_own_kinds = f->has_own_kinds || p->role == ROLE_OWN;
		f->threads[thread].has_own = true;
	}
	return cpu;
}

int64_t coverage_lost(struct coverage *f, const struct trace_event *e)
{
	int64_t cpu;

	if (e->stream->source->domain != TRACE_KERNEL)
		return 0;
	cpu = cpu_of(f, e);
	for (uint32_t i = 0; i < f->n_threads; i++) {
		f->threads[i].waits = false;
		f->threads[i].cpu = 0;
	}
	for (uint32_t i = 0; i < f->n_cpus; i++)
		f->cpus[i].thread = 0;
	return cpu;
}

/* Whether a thread that no event shows to be followed was switched to from an idle CPU or to an
 * idle CPU. A recording that follows some processes only has no such switch. */
static bool has_strangers(const struct coverage *f)
{
	for (uint32_t i = 0; i < f->n_threads; i++)
		if (f->threads[i].meets_idle && !f->threads[i].has_own)
			return f->has_own_kinds;
	return false;
}

/* All threads of a process are followed if one is. */
static int spread_own(struct coverage *f, struct pass *r)
{
	uint32_t n = f->n_threads;

	for (int is_second = 0; is_second < 2; is_second++)
		for (uint32_t i = 1; i < n && i < threads_n(r->threads); i++) {
			int64_t leader = threads_process(r->threads, i);

			if (leader < 0 || pass_grow(&f->threads, &f->n_threads, (uint32_t)leader,
						    sizeof *f->threads))
				return -ENOMEM;
			if (!leader)
				continue;
			if (is_second)
				f->threads[i].has_own |= f->threads[leader].has_own;
			else
				f->threads[leader].has_own |= f->threads[i].has_own;
		}
	return 0;
}

int coverage_finalize(struct coverage *f, struct pass *r)
{
	assert(f->is_stated || !f->is_followed);
	if (f->is_stated) {
		f->is_partial = f->is_followed;
		return f->is_followed ? spread_own(f, r) : 0;
	}
	f->is_partial = f->n_contradictions * FEW > f->n_switches &&
			(f->n_contradictions * SOME > f->n_switches || !has_strangers(f));
	return 0;
}

bool coverage_is_complete(const struct coverage *f, uint32_t thread)
{
	if (!f->is_partial)
		return true;
	if (thread >= f->n_threads)
		return false;
	return f->has_own_kinds ? f->threads[thread].has_own : !f->threads[thread].is_contradictory;
}
