/* SPDX-License-Identifier: MIT */
/*
 * ui/flame/stacks.c - times by call stacks: of samples, and of switches.
 *
 * Each sample stands for an equal share of its thread's time on CPUs.  The stack of a switch has the
 * time until the thread runs again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/public.h"
#include "analysis/stacks/public.h"
#include "ui/flame/internal.h"

struct hit { /* an event with a stack */
	uint32_t thread, node;
	int64_t at;
};

struct reading {
	struct stacks stacks;
	struct hit *hits;
	uint32_t n_hits, n_rooms;
	const char *class; /* names of events begin with this */
	bool *is_wanted;   /* by class number */
	uint8_t *scopes;
	uint32_t *nodes; /* by node of `stacks`: the node below the thread now, plus 1 */
	uint32_t *thread_nodes;
	uint32_t n_nodes;
	bool *is_kernel; /* by node of `stacks` */
	uint32_t n_kernel_rooms;
};

static bool is_class(const struct trace_source *s, const struct ctf_event_class *c,
		     const char *name, enum ctf_scope *scope)
{
	return s->domain == TRACE_KERNEL && !strncmp(c->name, name, strlen(name)) &&
	       callstack_find(c, scope);
}

static bool find_classes(const struct trace *t, const char *name, bool *is_wanted, uint8_t *scopes)
{
	bool found = false;

	for (uint32_t i = 0; i < trace_n_sources(t); i++) {
		const struct trace_source *s = trace_source(t, i);

		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next) {
			enum ctf_scope scope = CTF_PAYLOAD;
			bool is = is_class(s, c, name, &scope);

			found |= is;
			if (is_wanted) {
				is_wanted[c->number] = is;
				scopes[c->number] = (uint8_t)scope;
			}
		}
	}
	return found;
}

bool flame_has_switch_stacks(const struct trace *t)
{
	return find_classes(t, "sched_switch", NULL, NULL);
}

/* ---------------------------------------------------------------- reading */

/* Marks which nodes of the new stack are functions of the kernel: those with a high address. */
static int mark_kernel(struct reading *r, const struct trace_event *e)
{
	uint64_t addresses[CALLSTACK_FRAMES_MAX];
	int n = callstack_read(e, (enum ctf_scope)r->scopes[trace_class_number(e)], addresses);
	uint32_t node = r->stacks.newest;

	if (pass_grow(&r->is_kernel, &r->n_kernel_rooms, r->stacks.n_nodes, sizeof *r->is_kernel))
		return -ENOMEM;
	for (int i = 0; i < n && node; i++, node = r->stacks.nodes[node].parent)
		r->is_kernel[node] = addresses[i] >> 63;
	return 0;
}

static int on_event(void *context, struct flame_work *w, const struct trace_event *e,
		    const struct thread_identity *i)
{
	struct reading *r = context;
	int64_t at = e->time_ns - w->begin_ns;
	struct thread_identity identity = *i;
	struct flame_thread *t;
	struct ui_row row;
	int err;

	if (!flame_is_of_cpus(w, (int32_t)e->cpu))
		return 0;
	t = flame_thread_of(w, i->tid, at);
	if (!t || !ui_index_row(w->o->index, t->row, &row))
		return 0;
	identity.pid = row.pid; /* events that tell the process may lie before this time */
	err = stacks_on_event(&r->stacks, e, &identity);
	if (!err)
		err = mark_kernel(r, e);
	if (err || pass_grow(&r->hits, &r->n_rooms, r->n_hits, sizeof *r->hits))
		return -ENOMEM;
	r->hits[r->n_hits++] = (struct hit){ (uint32_t)(t - w->threads), r->stacks.newest, at };
	return 0;
}

static int read_hits(struct reading *r, struct flame_work *w, struct diag *d)
{
	struct stacks_options o = { .paths = w->o->paths, .n_paths = w->o->n_paths };
	struct trace *t;
	int err = trace_open(&t, w->o->paths, w->o->n_paths, NULL, d);

	if (err)
		return err;
	o.trace = t;
	r->is_wanted = calloc(trace_n_classes(t) + (size_t)1, sizeof *r->is_wanted);
	r->scopes = calloc(trace_n_classes(t) + (size_t)1, sizeof *r->scopes);
	err = r->is_wanted && r->scopes ? stacks_init(&r->stacks, &o, d) : -ENOMEM;
	if (!err) {
		find_classes(t, r->class, r->is_wanted, r->scopes);
		err = flame_read(w, t, r->is_wanted, on_event, r, d);
	}
	trace_close(t);
	return err;
}

static void close_reading(struct reading *r)
{
	if (r->stacks.private)
		stacks_fini(&r->stacks);
	free(r->hits);
	free(r->is_wanted);
	free(r->scopes);
	free(r->nodes);
	free(r->thread_nodes);
	free(r->is_kernel);
}

/* ---------------------------------------------------------------- nodes */

/* The node for @node of `stacks` below the thread, whose program is not repeated. */
static uint32_t node_below(struct reading *r, struct flame_work *w, uint32_t thread, uint32_t node)
{
	const struct stacks_node *n = &r->stacks.nodes[node];
	uint32_t parent;

	if (node == STACKS_ROOT || n->parent == STACKS_ROOT)
		return flame_thread_node(w, &w->threads[thread]);
	if (r->thread_nodes[node] == thread + 1)
		return r->nodes[node];
	parent = node_below(r, w, thread, n->parent);
	r->thread_nodes[node] = thread + 1;
	r->nodes[node] = flame_child(w->f, parent,
				     r->is_kernel[node] ? FLAME_KERNEL_FUNCTION : FLAME_FUNCTION,
				     flame_name(w->f, r->stacks.frames[n->frame]));
	return r->nodes[node];
}

static int compare_hits(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int prepare_hits(struct reading *r)
{
	if (r->n_hits)
		qsort(r->hits, r->n_hits, sizeof *r->hits, compare_hits);
	r->nodes = calloc(r->stacks.n_nodes + (size_t)1, sizeof *r->nodes);
	r->thread_nodes = calloc(r->stacks.n_nodes + (size_t)1, sizeof *r->thread_nodes);
	return r->nodes && r->thread_nodes ? 0 : -ENOMEM;
}

/* ---------------------------------------------------------------- samples */

/* The time of thread @t on the CPUs that are meant. */
static uint64_t time_on(struct flame_work *w, const struct flame_thread *t)
{
	struct ui_sums s = { { 0 }, 0 };

	if (t->states)
		ui_track_sums(w->o->index, t->states - 1, w->o->from, w->o->to, &s);
	return s.ns[UI_USER] + s.ns[UI_KERNEL] + s.ns[UI_IRQ];
}

static void times_on_cpus(struct flame_work *w, uint64_t *ns)
{
	struct ui_interval v;

	for (uint32_t c = 0; c < w->n_cpus; c++) {
		uint32_t track = w->cpus[c] - 1;
		uint32_t i = ui_track_find(w->o->index, track, w->o->from);

		for (; ui_track_get(w->o->index, track, i, &v) && v.begin_ns < w->o->to; i++) {
			int64_t begin = v.begin_ns > w->o->from ? v.begin_ns : w->o->from,
				end = v.end_ns < w->o->to ? v.end_ns : w->o->to;

			if (v.what < w->n_rows && w->thread_of[v.what] && end > begin)
				ns[w->thread_of[v.what] - 1] += (uint64_t)(end - begin);
		}
	}
}

/* Samples @i up to @end are those of one thread, which had @ns. */
static void share(struct reading *r, struct flame_work *w, uint32_t i, uint32_t end, uint64_t ns)
{
	uint64_t n = end - i, rest = ns % n;

	for (uint64_t k = 0; k < n; k++) {
		const struct hit *h = &r->hits[i + k];
		uint32_t node = node_below(r, w, h->thread, h->node);

		w->f->nodes[node].self += w->has_states ? ns / n + (k < rest) : 1;
		w->f->nodes[node].count++;
	}
}

static int share_all(struct reading *r, struct flame_work *w)
{
	uint64_t *ns = calloc(w->n_threads + (size_t)1, sizeof *ns);
	uint32_t end;

	if (!ns || prepare_hits(r)) {
		free(ns);
		return -ENOMEM;
	}
	if (w->is_by_cpu)
		times_on_cpus(w, ns);
	for (uint32_t i = 0; i < w->n_threads && !w->is_by_cpu; i++)
		ns[i] = time_on(w, &w->threads[i]);
	for (uint32_t i = 0; i < r->n_hits; i = end) {
		uint32_t thread = r->hits[i].thread;

		for (end = i + 1; end < r->n_hits && r->hits[end].thread == thread;)
			end++;
		share(r, w, i, end, ns[thread]);
		ns[thread] = 0;
	}
	for (uint32_t i = 0; i < w->n_threads; i++)
		if (ns[i])
			flame_state(w->f, flame_thread_node(w, &w->threads[i]), "no sample", ns[i]);
	free(ns);
	return 0;
}

int flame_by_samples(struct flame_work *w, struct diag *d)
{
	struct reading r = { .class = "profile" };
	int err = read_hits(&r, w, d);

	w->f->counts_samples = !w->has_states;
	if (!err)
		err = share_all(&r, w);
	close_reading(&r);
	return err;
}

/* ---------------------------------------------------------------- switches */

static bool is_off(uint32_t state)
{
	return state == UI_BLOCKED || state == UI_RUNNABLE || state == UI_PREEMPTED;
}

static void charge(struct flame_work *w, struct flame_thread *t, uint32_t node,
		   const struct ui_interval *v)
{
	int64_t begin = v->begin_ns > w->o->from ? v->begin_ns : w->o->from,
		end = v->end_ns < w->o->to ? v->end_ns : w->o->to;
	uint64_t ns = end > begin ? (uint64_t)(end - begin) : 0;

	t->charged[v->what != UI_BLOCKED] += ns;
	if (v->what == UI_BLOCKED)
		w->f->nodes[node].self += ns;
	else
		flame_state(w->f, node, "waiting for a CPU", ns);
}

/* The time off the CPU that begins with the switch of @h; *@done: the first interval not charged. */
static void charge_switch(struct reading *r, struct flame_work *w, const struct hit *h,
			  uint32_t *done)
{
	struct flame_thread *t = &w->threads[h->thread];
	uint32_t track = t->states - 1, i = ui_track_find(w->o->index, track, h->at), node;
	struct ui_interval v;

	/* two events of one switch differ by some microseconds */
	if (ui_track_get(w->o->index, track, i, &v) && !is_off(v.what))
		i++;
	if (i < *done || !ui_track_get(w->o->index, track, i, &v) || !is_off(v.what) ||
	    v.begin_ns > h->at + 100000)
		return;
	node = node_below(r, w, h->thread, h->node);
	w->f->nodes[node].count++;
	for (; ui_track_get(w->o->index, track, i, &v) && is_off(v.what) && v.begin_ns < w->o->to;
	     i++)
		charge(w, t, node, &v);
	*done = i;
}

static int charge_all(struct reading *r, struct flame_work *w)
{
	uint32_t done = 0;

	if (prepare_hits(r))
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_hits; i++) {
		if (i && r->hits[i].thread != r->hits[i - 1].thread)
			done = 0;
		if (w->threads[r->hits[i].thread].states)
			charge_switch(r, w, &r->hits[i], &done);
	}
	for (uint32_t i = 0; i < w->n_threads; i++) {
		struct flame_thread *t = &w->threads[i];
		struct ui_sums s = { { 0 }, 0 };
		uint32_t node = flame_thread_node(w, t);

		if (!t->states)
			continue;
		ui_track_sums(w->o->index, t->states - 1, w->o->from, w->o->to, &s);
		flame_state(w->f, node, "blocked", s.ns[UI_BLOCKED] - t->charged[0]);
		flame_state(w->f, node, "waiting for a CPU",
			    s.ns[UI_RUNNABLE] + s.ns[UI_PREEMPTED] - t->charged[1]);
	}
	return 0;
}

int flame_by_switches(struct flame_work *w, struct diag *d)
{
	struct reading r = { .class = "sched_switch" };
	int err = read_hits(&r, w, d);

	if (!err)
		err = charge_all(&r, w);
	close_reading(&r);
	return err;
}
