/* SPDX-License-Identifier: MIT */
/*
 * analysis/calls/kernel.c - the kernel below functions of programs: system calls, kernel functions,
 * interrupts, waits and delays as spans of their thread.
 *
 * States of threads come from analysis/wait, so `duet report why` and a call tree agree.  A span
 * begins or ends where the state of its thread changes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls/walk.h"

/* ---------------------------------------------------------------- tables */

int walk_kernel_open(struct fcalls_walk *w)
{
	size_t n = trace_n_classes(w->part) + (size_t)1;

	w->functions = calloc(n, sizeof *w->functions);
	w->durations = calloc(n, sizeof *w->durations);
	w->kernel = kallsyms_open((const char *const *)w->c->files.roots, (int)w->c->files.n_roots);
	if (!w->functions || !w->durations || !w->kernel)
		return -ENOMEM;
	for (uint32_t i = 0; i < trace_n_sources(w->part); i++) {
		const struct trace_source *s = trace_source(w->part, i);

		for (const struct ctf_event_class *c = s->meta->events;
		     c && s->domain == TRACE_KERNEL; c = c->next) {
			if (strncmp(c->name, "funcgraph_", 10))
				continue;
			w->functions[c->number] = ctf_class_find(c, CTF_PAYLOAD, "func");
			if (strcmp(c->name, "funcgraph_entry"))
				w->durations[c->number] =
					ctf_class_find(c, CTF_PAYLOAD, "duration");
		}
	}
	return 0;
}

void walk_kernel_close(struct fcalls_walk *w)
{
	kallsyms_close(w->kernel);
	free(w->functions);
	free(w->durations);
	free(w->addresses);
	free(w->by_address);
	free(w->irq_names);
}

static int grow_addresses(struct fcalls_walk *w)
{
	uint32_t n = w->n_by_address ? w->n_by_address * 2 : 1024;
	uint32_t *table = calloc(n, sizeof *table);

	if (!table)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->n_addresses; i++) {
		uint64_t h = w->addresses[i] * 0x9e3779b97f4a7c15ull >> 32;

		while (table[h & (n - 1)])
			h++;
		table[h & (n - 1)] = i + 1;
	}
	free(w->by_address);
	w->by_address = table;
	w->n_by_address = n;
	return 0;
}

/* A small number for a kernel function; -ENOMEM. */
static int64_t id_of(struct fcalls_walk *w, uint64_t address)
{
	uint64_t h = address * 0x9e3779b97f4a7c15ull >> 32;

	if (w->n_addresses * 2 >= w->n_by_address && grow_addresses(w))
		return -ENOMEM;
	for (; w->by_address[h & (w->n_by_address - 1)]; h++)
		if (w->addresses[w->by_address[h & (w->n_by_address - 1)] - 1] == address)
			return w->by_address[h & (w->n_by_address - 1)] - 1;
	if (pass_grow(&w->addresses, &w->n_address_rooms, w->n_addresses, sizeof *w->addresses))
		return -ENOMEM;
	w->addresses[w->n_addresses] = address;
	w->by_address[h & (w->n_by_address - 1)] = ++w->n_addresses;
	return w->n_addresses - 1;
}

static const char *irq_name(struct fcalls_walk *w, uint32_t source)
{
	const struct irqs *irqs = &wait_follow_known(w->follow)->irqs;

	if (pass_grow(&w->irq_names, &w->n_irq_names, source, sizeof *w->irq_names))
		return NULL;
	if (!w->irq_names[source])
		w->irq_names[source] = fcalls_keep(w->c, irqs->sources[source].name);
	return w->irq_names[source];
}

/* ---------------------------------------------------------------- reasons of waits */

static void put_why(struct fcalls_walk *w, const struct wait_interval *wait)
{
	const struct calls *calls = &wait_follow_known(w->follow)->calls;

	if (wait->call.call) {
		text_addf(&w->why, "%s", calls->names[wait->call.call - 1]);
		if (wait->object) {
			text_addf(&w->why, " ");
			objects_words(&wait_follow_known(w->follow)->objects, wait->object,
				      &w->why);
		}
	} else if (wait->is_fault) {
		text_addf(&w->why, "page fault");
	}
}

static void put_cause(struct fcalls_walk *w, const struct wait_cause *cause)
{
	const struct wait_analysis *known = wait_follow_known(w->follow);
	const char *disk;

	switch (cause->kind) {
	case CAUSE_IRQ:
		text_addf(&w->cause, "%s", known->irqs.sources[cause->source].name);
		return;
	case CAUSE_SOME_IRQ:
		text_addf(&w->cause, "an interrupt");
		return;
	case CAUSE_BLOCK_IO:
		disk = devices_disk(&known->machine, cause->source);
		text_addf(&w->cause, "block I/O%s%s", disk ? " " : "", disk ? disk : "");
		return;
	case CAUSE_TIMER:
		text_addf(&w->cause, "a timer");
		return;
	}
}

static int leave_wait(struct fcalls_walk *w, uint32_t thread)
{
	const struct wait_interval *wait = wait_follow_reason(w->follow, thread);
	uint32_t before = w->n_queue;
	int err = span_leave_kind(w, thread, FCALLS_WAIT, 0, w->now_ns);
	struct fcalls_item *item = w->n_queue > before ? &w->queue[w->n_queue - 1] : NULL;

	if (err || !item || !wait)
		return err < 0 ? err : 0;
	w->why.size = w->cause.size = 0;
	put_why(w, wait);
	put_cause(w, &wait->cause);
	if (w->why.failed || w->cause.failed)
		return -ENOMEM;
	item->why = w->why.size ? w->why.bytes : "";
	item->cause = w->cause.size ? w->cause.bytes : "";
	item->waker = wait->waker;
	return 0;
}

/* ---------------------------------------------------------------- states */

static bool is_delay(uint8_t state)
{
	return state == WAIT_RUNNABLE || state == WAIT_PREEMPTED;
}

static int leave(struct fcalls_walk *w, uint32_t thread, enum fcalls_kind kind)
{
	int err = span_leave_kind(w, thread, kind, 0, w->now_ns);

	return err < 0 ? err : 0;
}

static int enter(struct fcalls_walk *w, uint32_t thread, enum fcalls_kind kind, uint32_t id,
		 const char *name)
{
	const struct span like = { .kind = kind, .id = id, .name = name, .begin_ns = w->now_ns };

	return name ? span_enter(w, thread, &like) : -ENOMEM;
}

static int enter_irq(struct fcalls_walk *w, uint32_t thread, uint32_t cpu, uint32_t level)
{
	uint32_t source = wait_follow_known(w->follow)->irqs.cpus[cpu].stack[level].source;

	return enter(w, thread, FCALLS_IRQ, source, irq_name(w, source));
}

/* Ended spans. */
static int close_spans(struct fcalls_walk *w, uint32_t thread, const struct wait_view *v,
		       uint32_t n_irqs)
{
	uint8_t was = w->threads[thread].state;
	int err = 0;

	if (was == WAIT_BLOCKED && v->state != WAIT_BLOCKED)
		err = leave_wait(w, thread);
	if (!err && is_delay(was) && !is_delay(v->state))
		err = leave(w, thread, FCALLS_DELAY);
	while (!err && w->threads[thread].n_irqs > n_irqs) {
		err = span_leave_kind(w, thread, FCALLS_IRQ, 0, w->now_ns);
		if (err > 0) { /* cut by something else */
			w->threads[thread].n_irqs = n_irqs;
			err = 0;
		}
	}
	if (!err && w->threads[thread].in_call && !v->in_call)
		err = leave(w, thread, FCALLS_SYSCALL);
	return err;
}

/* New spans. */
static int open_spans(struct fcalls_walk *w, uint32_t thread, const struct wait_view *v,
		      uint32_t n_irqs)
{
	const struct calls *calls = &wait_follow_known(w->follow)->calls;
	struct span_thread *t = &w->threads[thread];
	uint8_t was = t->state;
	int err = 0;

	if (!t->in_call && v->in_call)
		err = enter(w, thread, FCALLS_SYSCALL, v->call,
			    v->call ? calls->names[v->call - 1] : "system call");
	while (!err && w->threads[thread].n_irqs < n_irqs)
		err = enter_irq(w, thread, v->cpu - 1, w->threads[thread].n_irqs);
	if (!err && v->state == WAIT_BLOCKED && was != WAIT_BLOCKED)
		err = enter(w, thread, FCALLS_WAIT, 0, "wait");
	if (!err && is_delay(v->state) && !is_delay(was))
		err = enter(w, thread, FCALLS_DELAY, 0, "delay");
	return err;
}

static bool is_wanted(struct fcalls_walk *w, uint32_t thread, struct span_thread *t)
{
	const struct thread *known = threads_at(w->run->threads, thread);
	int64_t process;

	if (!t->is_checked) {
		process = w->o.pid ? threads_process(w->run->threads, thread) : 0;
		known = threads_at(w->run->threads, thread);
		t->is_wanted = known->tid > 0 && (!w->o.tid || known->tid == w->o.tid) &&
			       (!w->o.pid ||
				(process >= 0 &&
				 threads_at(w->run->threads, (uint32_t)process)->tid == w->o.pid));
		t->is_checked = true;
	}
	return t->is_wanted;
}

static int follow_thread(struct fcalls_walk *w, uint32_t thread)
{
	const struct irqs *irqs = &wait_follow_known(w->follow)->irqs;
	struct wait_view v = wait_follow_view(w->follow, thread);
	struct span_thread *t = span_thread_of(w, thread);
	uint32_t n_irqs;
	int err;

	if (!t)
		return -ENOMEM;
	if (!thread || t->is_dead || !is_wanted(w, thread, t))
		return 0;
	n_irqs = v.state == WAIT_IRQ && v.cpu && v.cpu <= irqs->n_cpus ? irqs->cpus[v.cpu - 1].depth
								       : 0;
	span_charge(t, w->now_ns);
	err = close_spans(w, thread, &v, n_irqs);
	if (!err)
		err = open_spans(w, thread, &v, n_irqs);
	if (!err && v.state == WAIT_GONE) {
		err = span_leave_all(w, thread, w->now_ns);
		w->threads[thread].is_dead = true;
	}
	t = &w->threads[thread];
	t->state = v.state;
	t->in_call = v.in_call;
	span_part(t);
	return err;
}

/* ---------------------------------------------------------------- kernel functions */

static int on_graph(struct fcalls_walk *w, const struct ctf_op *function,
		    const struct ctf_op *duration)
{
	uint32_t thread = w->event_thread;
	struct span_thread *t = span_thread_of(w, thread);
	int64_t address, ns = 0, id;
	struct span like = { .kind = FCALLS_KERNEL_FUNCTION, .begin_ns = w->now_ns };
	int err;

	if (!t)
		return -ENOMEM;
	if (!thread || !is_wanted(w, thread, t) ||
	    !ctf_event_number(w->event.ctf, function, &address))
		return 0;
	id = id_of(w, (uint64_t)address);
	if (id < 0)
		return -ENOMEM;
	like.id = (uint32_t)id;
	like.address = (uint64_t)address;
	like.name = kallsyms_find(w->kernel, (uint64_t)address);
	if (!like.name)
		like.name = "?";
	span_charge(t, w->now_ns);
	if (duration) {
		err = span_leave_kind(w, thread, FCALLS_KERNEL_FUNCTION, like.address, w->now_ns);
		if (err > 0) { /* only its end is recorded */
			if (ctf_event_number(w->event.ctf, duration, &ns) && ns > 0)
				like.begin_ns -= ns;
			err = span_enter(w, thread, &like);
			if (!err)
				err = span_leave(w, thread, w->now_ns, FCALLS_HEADLESS, NULL);
		}
	} else {
		err = span_enter(w, thread, &like);
	}
	span_part(&w->threads[thread]);
	return err;
}

/* ---------------------------------------------------------------- events */

int walk_kernel_event(struct fcalls_walk *w)
{
	uint32_t class = w->event.ctf->class->number, thread = w->event_thread, n;
	const struct call_class *call = wait_follow_known(w->follow)->calls.classes[class];
	const uint32_t *changed;
	bool has_thread = false;
	int err = wait_follow_event(w->follow, &w->event, thread);

	if (err || w->event.stream->source->domain != TRACE_KERNEL)
		return err;
	if (w->functions[class])
		err = on_graph(w, w->functions[class], w->durations[class]);
	/* an entry inside a call: the exit before it was not recorded */
	if (!err && call->is == CALL_ENTRY && thread < w->n_threads && w->threads[thread].in_call) {
		err = leave(w, thread, FCALLS_SYSCALL);
		w->threads[thread].in_call = false;
	}
	changed = wait_follow_changed(w->follow, &n);
	for (uint32_t i = 0; i < n && !err; i++) {
		has_thread |= changed[i] == thread;
		err = follow_thread(w, changed[i]);
	}
	if (!err && !has_thread)
		err = follow_thread(w, thread);
	return err;
}

int walk_kernel_lost(struct fcalls_walk *w)
{
	const uint32_t *changed;
	uint32_t n;
	int err = wait_follow_lost(w->follow, &w->event);

	changed = wait_follow_changed(w->follow, &n);
	for (uint32_t i = 0; i < n && !err; i++)
		err = follow_thread(w, changed[i]);
	return err;
}
