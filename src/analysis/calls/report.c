/* SPDX-License-Identifier: MIT */
/*
 * analysis/calls/report.c - sums by function.
 *
 * Without the kernel every batch is added as a whole: that is the fast way, 60 million calls in one
 * or two seconds.  With the kernel the calls come from a walk, which splits their time.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls/internal.h"
#include "analysis/calls/pipe.h"
#include "base/atomic.h"

struct edge_slot {
	uint64_t key; /* caller << 32 | callee; callee is never 0 */
	uint64_t calls, total_ns;
};

struct sums {
	struct fcalls_report *r;
	const struct fcalls_options *o;
	uint32_t n_row_rooms;  /* rows by function, until the end */
	uint32_t *last_caller; /* by function: a short cut to its edge */
	uint32_t *last_edge;
	uint32_t n_last, n_last_edges;
	struct edge_slot *edges;
	uint32_t n_edges, n_slots;
	uint64_t shortest_ns; /* of the slowest; shorter ones need not be offered */
};

/* ---------------------------------------------------------------- edges */

static uint32_t slot_of(const struct sums *s, uint64_t key)
{
	uint64_t h = key * 0x9e3779b97f4a7c15ull;
	uint32_t mask = s->n_slots - 1, i = (uint32_t)(h >> 32) & mask;

	while (s->edges[i].key && s->edges[i].key != key)
		i = (i + 1) & mask;
	return i;
}

static int grow_edges(struct sums *s)
{
	struct edge_slot *old = s->edges;
	uint32_t n = s->n_slots;

	s->n_slots = n ? n * 2 : 1024;
	s->edges = calloc(s->n_slots, sizeof *s->edges);
	if (!s->edges) {
		s->edges = old;
		s->n_slots = n;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		if (old[i].key)
			s->edges[slot_of(s, old[i].key)] = old[i];
	free(old);
	memset(s->last_caller, 0xff, s->n_last * sizeof *s->last_caller);
	return 0;
}

static int add_edge(struct sums *s, uint32_t caller, uint32_t callee, uint64_t calls, uint64_t ns)
{
	uint64_t key = (uint64_t)caller << 32 | callee;
	uint32_t i;

	if (likely(s->last_caller[callee] == caller)) {
		i = s->last_edge[callee];
	} else {
		if (s->n_edges * 2 >= s->n_slots && grow_edges(s))
			return -ENOMEM;
		i = slot_of(s, key);
		s->n_edges += !s->edges[i].key;
		s->edges[i].key = key;
		s->last_caller[callee] = caller;
		s->last_edge[callee] = i;
	}
	s->edges[i].calls += calls;
	s->edges[i].total_ns += ns;
	return 0;
}

/* ---------------------------------------------------------------- rows */

static int make_row(struct sums *s, uint32_t function)
{
	uint32_t n = s->n_last;

	if (pass_grow(&s->r->rows, &s->n_row_rooms, function, sizeof *s->r->rows) ||
	    pass_grow(&s->last_caller, &s->n_last, function, sizeof *s->last_caller) ||
	    pass_grow(&s->last_edge, &s->n_last_edges, function, sizeof *s->last_edge))
		return -ENOMEM;
	for (; n < s->n_last; n++)
		s->last_caller[n] = UINT32_MAX;
	return 0;
}

static void offer_slow(struct sums *s, const struct block_call *call, uint32_t thread)
{
	struct slowest *slowest = &s->r->slowest;
	uint64_t ns = ((uint64_t)call->end_ns - (uint64_t)call->begin_ns);
	const struct slow one = { ns, call->begin_ns, thread, call->function, 0 };

	if (!slowest->max ||
	    (s->o->pattern && !fcalls_is_like(s->r->calls, call->function, s->o->pattern)))
		return;
	slowest_add(slowest, &one);
	if (slowest->n == slowest->max)
		s->shortest_ns = slowest->at[0].duration_ns;
}

static inline int add_call(struct sums *s, const struct block_call *call, uint32_t thread)
{
	uint64_t ns = ((uint64_t)call->end_ns - (uint64_t)call->begin_ns);
	struct fcalls_row *row;

	if (unlikely(call->function >= s->n_row_rooms) && make_row(s, call->function))
		return -ENOMEM;
	row = &s->r->rows[call->function];
	row->calls++;
	s->r->n_calls++;
	row->self_ns += call->self_ns;
	if (likely(!call->is_recursive))
		row->total_ns += ns;
	if (unlikely(call->flags)) {
		row->n_unwound += !!(call->flags & FCALLS_UNWOUND);
		row->n_open += call->flags & FCALLS_OPEN;
	}
	if (likely(!(call->flags & FCALLS_OPEN)) && unlikely(!spread_add(&row->time, ns)))
		return -ENOMEM;
	if (unlikely(ns > s->shortest_ns))
		offer_slow(s, call, thread);
	return add_edge(s, call->caller, call->function, 1, ns);
}

/* Functions come in no order: their rows are fetched some calls ahead, their buckets a few. */
static inline void prefetch(const struct sums *s, const struct block *b, uint32_t i)
{
	enum { ROW_AHEAD = 12, BUCKET_AHEAD = 6 };
	const struct block_call *call;

	if (unlikely(i + ROW_AHEAD >= b->n))
		return;
	call = &b->calls[i + ROW_AHEAD];
	if (likely(call->function < s->n_row_rooms)) {
		__builtin_prefetch(&s->r->rows[call->function].calls, 1);
		__builtin_prefetch(&s->r->rows[call->function].time.n, 1);
		__builtin_prefetch(
			spread_doubling(&s->r->rows[call->function].time,
					((uint64_t)call->end_ns - (uint64_t)call->begin_ns)));
	}
	call = &b->calls[i + BUCKET_AHEAD];
	if (likely(call->function < s->n_row_rooms))
		__builtin_prefetch(
			spread_bucket(&s->r->rows[call->function].time,
				      ((uint64_t)call->end_ns - (uint64_t)call->begin_ns)),
			1);
}

static int add_block(void *context, const struct block *b, uint32_t thread)
{
	struct sums *s = context;
	int err = 0;

	for (uint32_t i = 0; i < b->n_cuts && !err; i++)
		if (block_overlaps(&b->cuts[i], s->o))
			err = add_call(s, &b->cuts[i], thread);
	for (uint32_t i = 0; i < b->n && !err; i++)
		if (likely(block_overlaps(&b->calls[i], s->o))) {
			prefetch(s, b, i);
			err = add_call(s, &b->calls[i], thread);
		}
	return err;
}

/* ---------------------------------------------------------------- profiles */

static uint64_t node_ns(const struct process *p, const struct abi_calls_path *node)
{
	const struct abi_calls *head = p->file->head;
	unsigned __int128 ticks = (unsigned __int128)node->quanta << (head->shift & 31);
	double ns = (double)(ticks * head->clock.mult >> 32);

	if (!node->sampled)
		return 0;
	ns = ns / (double)node->sampled * (double)node->calls;
	return ns < 1e18 ? (uint64_t)ns : 0;
}

uint32_t profile_parent(const struct abi_calls_path *nodes, uint32_t i)
{
	return nodes[i].parent < i ? nodes[i].parent : 0;
}

static bool is_recursive(const struct abi_calls_path *nodes, uint32_t i)
{
	for (uint32_t up = profile_parent(nodes, i); up; up = profile_parent(nodes, up))
		if (nodes[up].function == nodes[i].function)
			return true;
	return false;
}

static int add_node(struct sums *s, uint32_t process, const struct abi_calls_path *nodes,
		    uint32_t i)
{
	struct fcalls *c = s->r->calls;
	uint64_t ns = node_ns(&c->processes[process], &nodes[i]), up_ns;
	uint32_t parent = profile_parent(nodes, i);
	uint32_t function = fcalls_number(c, process, nodes[i].function);
	uint32_t caller = parent ? fcalls_number(c, process, nodes[parent].function) : 0;
	uint32_t most = function > caller ? function : caller;

	if (!nodes[i].calls || !function)
		return function || !nodes[i].calls ? 0 : -ENOMEM;
	if (make_row(s, most))
		return -ENOMEM;
	s->r->rows[function].calls += nodes[i].calls;
	s->r->n_calls += nodes[i].calls;
	s->r->rows[function].self_ns += ns;
	if (!is_recursive(nodes, i))
		s->r->rows[function].total_ns += ns;
	if (caller) {
		up_ns = s->r->rows[caller].self_ns;
		s->r->rows[caller].self_ns = up_ns > ns ? up_ns - ns : 0;
	}
	s->r->is_estimated = true;
	return add_edge(s, caller, function, nodes[i].calls, ns);
}

int each_node(struct fcalls *c, const struct fcalls_options *o, each_node_fn *on_node,
	      void *context)
{
	int err = 0;

	for (uint32_t i = 0; i < c->n_threads && !err; i++) {
		const struct thread_ref *t = &c->threads[i];

		if (!t->area || !thread_is_wanted(c, i, o))
			continue;
		for (uint32_t k = 1; k < t->public.n_nodes && !err; k++)
			if (t->area->paths[k].function &&
			    t->area->paths[k].function < ABI_CALLS_FUNCTIONS)
				err = on_node(context, t->public.process, t->area->paths, k);
	}
	return err;
}

static int on_node(void *context, uint32_t process, const struct abi_calls_path *nodes, uint32_t i)
{
	return add_node(context, process, nodes, i);
}

uint64_t profile_ns(const struct fcalls *c, uint32_t process, const struct abi_calls_path *node)
{
	return node_ns(&c->processes[process], node);
}

/* ---------------------------------------------------------------- with the kernel */

static void add_split(struct fcalls_split *to, const struct fcalls_split *from)
{
	for (int i = 0; i < FCALLS_PARTS; i++)
		to->ns[i] += from->ns[i];
}

static int add_item(struct sums *s, const struct fcalls_item *item)
{
	const struct block_call call = {
		.begin_ns = item->begin_ns,
		.end_ns = item->end_ns,
		.self_ns = item->self_ns,
		.function = item->id,
		.caller = item->caller,
		.flags = item->flags,
		.is_recursive = item->is_recursive,
	};
	struct fcalls_row *row;
	int err = add_call(s, &call, item->thread);

	if (err)
		return err;
	row = &s->r->rows[item->id];
	add_split(&row->self, &item->self);
	if (!item->is_recursive)
		add_split(&row->total, &item->total);
	return 0;
}

static int read_walk(struct sums *s, struct diag *d)
{
	struct fcalls_walk *w;
	struct fcalls_item item;
	int is, err = fcalls_walk_open(&w, s->r->calls, s->o, d);

	if (err)
		return err;
	while (!err && (is = fcalls_walk_next(w, &item, d)) != FCALLS_END) {
		if (is < 0)
			err = is;
		else if (is == FCALLS_LEAVE && item.kind == FCALLS_FUNCTION)
			err = add_item(s, &item);
	}
	s->r->has_split = true;
	if (!err)
		walk_take_pass(w, &s->r->run);
	fcalls_walk_close(w);
	return err;
}

/* ---------------------------------------------------------------- without */

static int nothing(void *context, struct pass *r, const struct trace_event *e, uint32_t thread)
{
	(void)context;
	(void)r;
	(void)e;
	(void)thread;
	return 0;
}

static int name_slowest(struct fcalls_report *r)
{
	for (uint32_t i = 0; i < r->slowest.n; i++) {
		int64_t number =
			walk_thread_number(r->calls, r->run.threads, r->slowest.at[i].thread);

		if (number < 0)
			return (int)number;
		r->slowest.at[i].thread = (uint32_t)number;
	}
	return 0;
}

static int read_blocks(struct sums *s, struct diag *d)
{
	static const struct pass_analysis all = { .about = "calls", .on_event = nothing };
	struct pipe pipe;
	struct each e = { .c = s->r->calls, .o = s->o, .on_block = pipe_put, .context = &pipe };
	int err = pass_run(&s->r->run, s->r->calls->trace, &s->o->range, &all, s, d), late;

	if (err)
		return err;
	/* a pattern is matched against functions, which the other thread numbers meanwhile */
	pipe_open(&pipe, add_block, s, !s->o->pattern);
	err = each_block(&e, d);
	late = pipe_close(&pipe);
	if (!err)
		err = late;
	return err ? err : name_slowest(s->r);
}

/* ---------------------------------------------------------------- results */

static int by_self(const void *a, const void *b)
{
	const struct fcalls_row *x = a, *y = b;

	if (x->self_ns != y->self_ns)
		return x->self_ns < y->self_ns ? 1 : -1;
	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static int by_total(const void *a, const void *b)
{
	const struct fcalls_edge *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	return x->caller < y->caller ? -1 : x->caller > y->caller;
}

static bool is_wanted(const struct sums *s, uint32_t function)
{
	return !s->o->pattern || fcalls_is_like(s->r->calls, function, s->o->pattern);
}

/* The cost of recording a call: that of the processes, which differ by noise only. */
static uint64_t hook_of(const struct fcalls *c)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < c->n_processes; i++)
		if (c->processes[i].public.hook_ns_x256 > most)
			most = c->processes[i].public.hook_ns_x256;
	return most;
}

static int finish(struct sums *s)
{
	struct fcalls_report *r = s->r;
	uint64_t hook = hook_of(r->calls);

	for (uint32_t i = 0; i < s->n_row_rooms; i++) {
		struct fcalls_row row = r->rows[i];

		r->rows[i] = (struct fcalls_row){ 0 };
		row.function = i;
		row.hook_ns_x256 = hook;
		if (row.calls && is_wanted(s, i))
			r->rows[r->n_rows++] = row;
		else
			spread_fini(&row.time);
	}
	r->edges = malloc((s->n_edges + (size_t)1) * sizeof *r->edges);
	if (!r->edges)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_slots; i++) {
		uint32_t caller = (uint32_t)(s->edges[i].key >> 32);
		uint32_t callee = (uint32_t)s->edges[i].key;

		if (s->edges[i].calls && (is_wanted(s, caller) || is_wanted(s, callee)))
			r->edges[r->n_edges++] =
				(struct fcalls_edge){ caller, callee, s->edges[i].calls,
						      s->edges[i].total_ns };
	}
	if (r->n_rows)
		qsort(r->rows, r->n_rows, sizeof *r->rows, by_self);
	if (r->n_edges)
		qsort(r->edges, r->n_edges, sizeof *r->edges, by_total);
	slowest_sort(&r->slowest);
	fcalls_losses(r->calls, &r->losses);
	return 0;
}

int fcalls_report_open(struct fcalls_report *r, struct fcalls *c, const struct fcalls_options *o,
		       uint32_t n_slowest, struct diag *d)
{
	struct sums s = { .r = r, .o = o };
	int err;

	*r = (struct fcalls_report){ .calls = c };
	err = slowest_init(&r->slowest, n_slowest);
	if (!err)
		err = make_row(&s, 0);
	if (!err)
		err = c->has_kernel && !o->is_without_kernel ? read_walk(&s, d)
							     : read_blocks(&s, d);
	if (!err)
		err = each_node(c, o, on_node, &s);
	if (!err)
		err = finish(&s);
	free(s.edges);
	free(s.last_caller);
	free(s.last_edge);
	if (err && !r->n_rows)
		r->n_rows = s.n_row_rooms;
	if (err)
		fcalls_report_close(r);
	return err == -ENOMEM ? diag_fail(d, err, "no memory for calls") : err;
}

void fcalls_report_close(struct fcalls_report *r)
{
	for (uint32_t i = 0; i < r->n_rows; i++)
		spread_fini(&r->rows[i].time);
	free(r->rows);
	free(r->edges);
	slowest_fini(&r->slowest);
	pass_fini(&r->run);
	*r = (struct fcalls_report){ 0 };
}

bool fcalls_is_hook_heavy(const struct fcalls_row *row)
{
	/* hook > 0.3 * mean */
	return row->time.n && (unsigned __int128)row->hook_ns_x256 * row->time.n * 10 >
				      (unsigned __int128)row->time.sum * 256 * 3;
}
