/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/cpu.c - charges the time between switches and interrupts of each CPU to threads.
 *
 * Whether a thread is followed is known only at the end, so time is first kept as shares of threads
 * on CPUs.
 */
#include "analysis/report/cpu.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NESTED_MAX = 8 };

enum role {
	ROLE_NONE,
	ROLE_SWITCH,
	ROLE_IRQ_ENTRY,
	ROLE_IRQ_EXIT,
	ROLE_SOFTIRQ_ENTRY,
	ROLE_SOFTIRQ_EXIT
};

struct cpu_plan {
	enum role role;
	bool is_kernel;
	const struct ctf_op *prev, *next;
};

/* The state of a CPU: its thread, and the interrupts on top of it. */
struct cpu_state {
	struct cpu_one one;
	bool is_known; /* `thread` is known */
	uint32_t thread;
	int64_t since_ns; /* it runs since then, or is unknown since then */
	bool is_soft[NESTED_MAX];
	int depth;	      /* of interrupts, may exceed NESTED_MAX */
	int64_t irq_since_ns; /* since then the innermost is charged */
};

/* The time of a thread on one CPU, in a list by thread. Whether it is followed is known at the
 * end. */
struct share {
	uint32_t cpu_state, next; /* plus 1 */
	uint64_t ns;
};

struct reading {
	struct cpu *c;
	struct coverage coverage;
	struct cpu_plan *plans;
	struct cpu_state *cpu_states; /* by the CPU numbers of `coverage` */
	uint32_t n_cpu_states, n_rooms;
	bool has_begun, by_process;
	int64_t begin_ns, end_ns; /* of the kernel's events */
	struct share *shares;
	uint32_t n_shares, n_share_rooms;
};

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static bool ends(const char *name, const char *with)
{
	size_t n = strlen(name), m = strlen(with);

	return n >= m && !strcmp(name + n - m, with);
}

static enum role role_of(const char *name)
{
	if (!strcmp(name, "sched_switch"))
		return ROLE_SWITCH;
	if (!strcmp(name, "irq_softirq_entry"))
		return ROLE_SOFTIRQ_ENTRY;
	if (!strcmp(name, "irq_softirq_exit"))
		return ROLE_SOFTIRQ_EXIT;
	if (!strcmp(name, "irq_handler_entry") ||
	    (begins(name, "x86_irq_vectors_") && ends(name, "_entry")))
		return ROLE_IRQ_ENTRY;
	if (!strcmp(name, "irq_handler_exit") ||
	    (begins(name, "x86_irq_vectors_") && ends(name, "_exit")))
		return ROLE_IRQ_EXIT;
	return ROLE_NONE;
}

static void plan_class(void *context, const struct trace_source *s, const struct ctf_event_class *c,
		       uint32_t number)
{
	struct cpu_plan *p = &((struct reading *)context)->plans[number];

	/* The state dump has timestamps but does not run on behalf of a CPU. */
	p->is_kernel = s->domain == TRACE_KERNEL && !begins(c->name, "lttng_statedump_");
	p->role = p->is_kernel ? role_of(c->name) : ROLE_NONE;
	if (p->role == ROLE_SWITCH) {
		p->prev = ctf_class_find(c, CTF_PAYLOAD, "prev_tid");
		p->next = ctf_class_find(c, CTF_PAYLOAD, "next_tid");
	}
}

static uint64_t since(int64_t then_ns, int64_t now_ns)
{
	return now_ns > then_ns ? (uint64_t)(now_ns - then_ns) : 0;
}

static struct cpu_row *row_of(struct reading *r, uint32_t thread)
{
	return pass_grow(&r->c->rows, &r->n_rooms, thread, sizeof *r->c->rows)
		       ? NULL
		       : &r->c->rows[thread];
}

/* ---------------------------------------------------------------- time */

static int add_share(struct reading *r, struct cpu_row *row, uint32_t cpu_state, uint64_t ns)
{
	uint32_t i = row->first_share;

	while (i && r->shares[i - 1].cpu_state != cpu_state)
		i = r->shares[i - 1].next;
	if (!i) {
		if (pass_grow(&r->shares, &r->n_share_rooms, r->n_shares, sizeof *r->shares))
			return -ENOMEM;
		r->shares[r->n_shares++] =
			(struct share){ .cpu_state = cpu_state, .next = row->first_share };
		i = row->first_share = r->n_shares;
	}
	assert(r->shares[i - 1].cpu_state == cpu_state);
	r->shares[i - 1].ns += ns;
	return 0;
}

static int charge_thread(struct reading *r, struct cpu_state *p, int64_t now_ns)
{
	uint64_t ns = since(p->since_ns, now_ns);
	struct cpu_row *row = p->is_known ? row_of(r, p->thread) : NULL;

	p->since_ns = now_ns;
	if (!p->is_known) {
		p->one.unknown_ns += ns;
		return 0;
	}
	if (!threads_at(r->c->run.threads, p->thread)->tid) {
		p->one.idle_ns += ns;
		return 0;
	}
	if (!row)
		return -ENOMEM;
	row->ns += ns;
	return add_share(r, row, (uint32_t)(p - r->cpu_states), ns);
}

static int charge_irq(struct reading *r, struct cpu_state *p, int64_t now_ns)
{
	uint64_t ns = since(p->irq_since_ns, now_ns);
	bool is_soft = p->depth && p->depth <= NESTED_MAX && p->is_soft[p->depth - 1];
	struct cpu_row *row;

	p->irq_since_ns = now_ns;
	if (!p->depth)
		return 0;
	*(is_soft ? &p->one.softirq_ns : &p->one.irq_ns) += ns;
	row = p->is_known ? row_of(r, p->thread) : NULL;
	if (row)
		row->irq_ns += ns;
	return row || !p->is_known ? 0 : -ENOMEM;
}

static int on_entry(struct reading *r, struct cpu_state *p, bool is_soft, int64_t now_ns)
{
	int err = charge_irq(r, p, now_ns);

	if (p->depth < NESTED_MAX)
		p->is_soft[p->depth] = is_soft;
	p->depth++;
	*(is_soft ? &p->one.n_softirqs : &p->one.n_irqs) += 1;
	r->c->n_irqs++;
	return err;
}

/* An exit without an entry ends nothing. An entry without an exit ends with the interrupt around
 * it, or with the next switch. */
static int on_exit_event(struct reading *r, struct cpu_state *p, bool is_soft, int64_t now_ns)
{
	int depth = p->depth < NESTED_MAX ? p->depth : NESTED_MAX, err;

	while (depth && p->is_soft[depth - 1] != is_soft)
		depth--;
	if (!depth)
		return 0;
	assert(depth <= p->depth);
	err = charge_irq(r, p, now_ns);
	p->depth = depth - 1;
	return err;
}

static int on_switch(struct reading *r, struct cpu_state *p, const struct cpu_plan *plan,
		     const struct trace_event *e)
{
	int64_t prev = threads_of(r->c->run.threads, e, pass_number(e, plan->prev, -1));
	int64_t next = threads_of(r->c->run.threads, e, pass_number(e, plan->next, -1));
	bool is_first = !p->one.n_switches;
	struct cpu_row *row;
	int err;

	if (prev < 0 || next < 0)
		return -ENOMEM;
	err = p->depth ? charge_irq(r, p, e->time_ns) : 0;
	p->depth = 0;
	if (is_first && !p->is_known && !p->one.unknown_ns) {
		p->is_known = true;
		p->thread = (uint32_t)prev;
	}
	if (p->is_known && p->thread != (uint32_t)prev) {
		/* A switch between the two was not recorded. */
		p->one.unseen_ns += since(p->since_ns, e->time_ns);
		r->c->n_unseen++;
		p->since_ns = e->time_ns;
	}
	if (!err)
		err = charge_thread(r, p, e->time_ns);
	p->is_known = true;
	p->thread = (uint32_t)next;
	p->one.n_switches++;
	r->c->n_switches++;
	row = row_of(r, p->thread);
	if (row)
		row->n_switches++;
	return row ? err : -ENOMEM;
}

static int ensure_cpu_state(struct reading *r, uint32_t cpu, const struct trace_event *e)
{
	bool is_new = cpu >= r->n_cpu_states || !r->cpu_states[cpu].since_ns;

	if (pass_grow(&r->cpu_states, &r->n_cpu_states, cpu, sizeof *r->cpu_states))
		return -ENOMEM;
	if (is_new) {
		r->cpu_states[cpu].one.cpu = e->cpu;
		r->cpu_states[cpu].since_ns = r->begin_ns;
	}
	return 0;
}

static int on_event(void *context, struct pass *run, const struct trace_event *e, uint32_t thread)
{
	struct reading *r = context;
	const struct cpu_plan *plan = &r->plans[trace_class_number(e)];
	struct cpu_state *p;
	int64_t cpu;

	if (devices_on_event(&r->c->machine, e))
		return -ENOMEM;
	if (e->time_ns < run->range.from_ns)
		return 0;
	cpu = coverage_on_event(&r->coverage, run, e, thread);
	if (cpu < 0)
		return -ENOMEM;
	if (!plan->is_kernel)
		return 0;
	if (!r->has_begun) {
		r->has_begun = true;
		r->begin_ns = e->time_ns;
	}
	if (e->time_ns > r->end_ns)
		r->end_ns = e->time_ns;
	if (ensure_cpu_state(r, (uint32_t)cpu, e))
		return -ENOMEM;
	p = &r->cpu_states[cpu];
	switch (plan->role) {
	case ROLE_SWITCH:
		return on_switch(r, p, plan, e);
	case ROLE_IRQ_ENTRY:
	case ROLE_SOFTIRQ_ENTRY:
		return on_entry(r, p, plan->role == ROLE_SOFTIRQ_ENTRY, e->time_ns);
	case ROLE_IRQ_EXIT:
	case ROLE_SOFTIRQ_EXIT:
		return on_exit_event(r, p, plan->role == ROLE_SOFTIRQ_EXIT, e->time_ns);
	case ROLE_NONE:
		break;
	}
	return 0;
}

/* The running thread may have left in the lost part. */
static int on_lost(void *context, struct pass *run, const struct trace_event *e)
{
	struct reading *r = context;
	struct cpu_state *p;
	int64_t cpu;

	if (e->time_ns < run->range.from_ns)
		return 0;
	cpu = coverage_lost(&r->coverage, e);
	if (cpu < 0 || e->stream->source->domain != TRACE_KERNEL || !r->has_begun)
		return cpu < 0 ? -ENOMEM : 0;
	if (ensure_cpu_state(r, (uint32_t)cpu, e))
		return -ENOMEM;
	p = &r->cpu_states[cpu];
	p->is_known = false;
	p->depth = 0;
	return charge_thread(r, p, e->time_ns > p->since_ns ? e->time_ns : p->since_ns + 1);
}

/* ---------------------------------------------------------------- the end */

static int most_time_first(const void *a, const void *b)
{
	const struct cpu_row *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int by_thread(const void *a, const void *b)
{
	const struct cpu_row *x = a, *y = b;

	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int by_cpu(const void *a, const void *b)
{
	const struct cpu_one *x = a, *y = b;

	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static void finalize_shares(struct reading *r)
{
	for (uint32_t i = 0; i < r->n_rooms; i++) {
		bool is_complete = coverage_is_complete(&r->coverage, i);

		for (uint32_t k = r->c->rows[i].first_share; k; k = r->shares[k - 1].next) {
			struct cpu_one *one = &r->cpu_states[r->shares[k - 1].cpu_state].one;

			*(is_complete ? &one->busy_ns : &one->others_ns) += r->shares[k - 1].ns;
		}
	}
}

static void finalize_rows(struct reading *r, bool by_process)
{
	struct cpu *c = r->c;
	uint32_t kept = 0, n = r->n_rooms;

	for (uint32_t i = 0; i < n; i++) {
		struct cpu_row *row = &c->rows[i];
		bool is_one = i < threads_n(c->run.threads) && (row->ns || row->n_switches) &&
			      threads_at(c->run.threads, i)->tid > 0 &&
			      coverage_is_complete(&r->coverage, i);

		row->thread = !is_one	   ? UINT32_MAX
			      : by_process ? threads_at(c->run.threads, i)->process
					   : i;
	}
	if (n)
		qsort(c->rows, n, sizeof *c->rows, by_thread);
	for (uint32_t i = 0; i < n && c->rows[i].thread != UINT32_MAX; i++) {
		if (kept && c->rows[kept - 1].thread == c->rows[i].thread) {
			c->rows[kept - 1].ns += c->rows[i].ns;
			c->rows[kept - 1].irq_ns += c->rows[i].irq_ns;
			c->rows[kept - 1].n_switches += c->rows[i].n_switches;
		} else {
			c->rows[kept++] = c->rows[i];
		}
	}
	c->n_rows = kept;
	if (kept)
		qsort(c->rows, kept, sizeof *c->rows, most_time_first);
}

static int finalize(void *context)
{
	struct reading *r = context;
	struct cpu *c = r->c;

	c->cpus = calloc(r->n_cpu_states + (size_t)1, sizeof *c->cpus);
	if (!c->cpus)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_cpu_states; i++) {
		if (!r->cpu_states[i].since_ns)
			continue;
		if (charge_irq(r, &r->cpu_states[i], r->end_ns) ||
		    charge_thread(r, &r->cpu_states[i], r->end_ns))
			return -ENOMEM;
	}
	if (coverage_finalize(&r->coverage, &c->run))
		return -ENOMEM;
	finalize_shares(r);
	for (uint32_t i = 0; i < r->n_cpu_states; i++) {
		struct cpu_one *one = &r->cpu_states[i].one;

		*(r->coverage.is_partial ? &one->others_ns : &one->unknown_ns) += one->unseen_ns;
		if (r->cpu_states[i].since_ns)
			c->cpus[c->n_cpus++] = *one;
	}
	qsort(c->cpus, c->n_cpus, sizeof *c->cpus, by_cpu);
	c->duration_ns = since(r->begin_ns, r->end_ns);
	c->is_partial = r->coverage.is_partial;
	finalize_rows(r, r->by_process);
	return 0;
}

static int prepare(void *context)
{
	struct reading *r = context;
	struct cpu *c = r->c;

	r->plans = calloc(trace_n_classes(c->run.trace) + (size_t)1, sizeof *r->plans);
	if (!r->plans || coverage_init(&r->coverage, &c->run) || devices_init(&c->machine, &c->run))
		return -ENOMEM;
	pass_each_class(&c->run, plan_class, r);
	return 0;
}

int cpu_init(struct cpu *c, struct trace *t, const struct pass_range *range, bool by_process,
	     struct diag *d)
{
	static const struct pass_analysis analysis = {
		.about = "CPUs",
		.wants_earlier = true, /* for the state dump */
		.prepare = prepare,
		.on_event = on_event,
		.on_lost = on_lost,
		.finish = finalize,
	};
	struct reading r = { .c = c, .by_process = by_process };
	int err;

	*c = (struct cpu){ 0 };
	err = pass_run(&c->run, t, range, &analysis, &r, d);
	coverage_fini(&r.coverage);
	free(r.plans);
	free(r.cpu_states);
	free(r.shares);
	if (err)
		cpu_fini(c);
	return err;
}

void cpu_fini(struct cpu *c)
{
	free(c->rows);
	free(c->cpus);
	devices_fini(&c->machine);
	pass_fini(&c->run);
	*c = (struct cpu){ 0 };
}
