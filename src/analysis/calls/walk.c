/* SPDX-License-Identifier: MIT */
/*
 * analysis/calls/walk.c - entries and exits of functions, spans of the kernel and all other events,
 * merged in the order of time.
 *
 * A batch names the calls that are open at its end.  So entries up to that time are known, and one
 * batch of each thread is enough: no look-ahead to a call's exit, which may be hours later.  A batch
 * is decoded when its time comes.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls/walk.h"

struct fcalls_item *walk_item(struct fcalls_walk *w, enum fcalls_is is, uint32_t thread)
{
	struct fcalls_item *item = &w->dropped;

	if (w->is_inside) {
		if (pass_grow(&w->queue, &w->n_queue_rooms, w->n_queue, sizeof *w->queue))
			return NULL;
		item = &w->queue[w->n_queue++];
	}
	*item = (struct fcalls_item){ .is = is,
				      .time_ns = w->now_ns,
				      .thread = thread,
				      .name = "",
				      .why = "",
				      .cause = "",
				      .event = w->event_is == TRACE_EVENT ? &w->event : NULL };
	return item;
}

/* ---------------------------------------------------------------- cursors of threads */

static void set_time(const struct fcalls_walk *w, struct cursor *k)
{
	const struct thread_ref *t = &w->c->threads[k->thread];

	if (k->is_loaded && k->edges.next < k->edges.n)
		k->time_ns = k->edges.at[k->edges.next].time_ns;
	else
		k->time_ns =
			k->next < t->n ? w->c->refs[t->first + k->next].base_ns : k->state.last_ns;
}

/* Open calls known before the first batch. */
static int begin_cursor(struct fcalls_walk *w, struct cursor *k)
{
	struct batch_lane *lane;
	int err = thread_begin(w->c, k->thread, &k->state);

	lane = err ? NULL : batch_lane_of(&k->state, 0);
	for (uint32_t i = 0; lane && i < lane->n_open; i++)
		lane->open[i].is_new = true;
	w->block.n = w->block.n_cuts = 0;
	return err ? err
		   : edges_make(&k->edges, &w->block, &k->state, w->c,
				w->c->threads[k->thread].public.process);
}

/* The last edges: calls that never returned. */
static int end_cursor(struct fcalls_walk *w, struct cursor *k)
{
	struct thread_ref *t = &w->c->threads[k->thread];
	uint32_t process = t->public.process, n;
	int err;

	for (uint32_t i = 0; i < k->state.n_lanes; i++) {
		k->state.lanes[i].last = 0;
		for (n = 0; n < k->state.lanes[i].n_open; n++)
			k->state.lanes[i].open[n].is_new = false;
	}
	t->end_ns = k->state.last_ns;
	w->block.n = w->block.n_cuts = 0;
	err = thread_end(w->c, k->thread, &k->state);
	if (!err)
		err = edges_make(&k->edges, &w->block, &k->state, w->c, process);
	n = k->edges.n;
	for (uint32_t i = 0; i < k->state.n_lanes && !err; i++)
		err = block_cut_all(&w->block, &k->state, i, thread_end_ns(w->c, k->thread));
	if (!err)
		err = block_resolve(&w->block, &k->state, w->c, process);
	if (!err)
		err = edges_add_cuts(&k->edges, &w->block, &k->state);
	k->has_ended = true;
	return err;
}

/* Decodes the next batch. */
static int load_batch(struct fcalls_walk *w, struct cursor *k)
{
	const struct thread_ref *t = &w->c->threads[k->thread];
	int err;

	if (k->next == t->n)
		return end_cursor(w, k);
	err = block_next(w->c, k->thread, k->next++, &k->state, &w->block);
	if (!err)
		err = block_resolve(&w->block, &k->state, w->c, t->public.process);
	if (!err)
		err = edges_make(&k->edges, &w->block, &k->state, w->c, t->public.process);
	if (!w->c->has_losses)
		block_count(w->c, k->thread, &w->block);
	return err;
}

static void sink(struct fcalls_walk *w, uint32_t i)
{
	for (;;) {
		uint32_t least = i;

		for (uint32_t k = 2 * i + 1; k <= 2 * i + 2 && k < w->n_heap; k++)
			if (w->heap[k]->time_ns < w->heap[least]->time_ns)
				least = k;
		if (least == i)
			return;
		struct cursor *other = w->heap[i];

		w->heap[i] = w->heap[least];
		w->heap[least] = other;
		i = least;
	}
}

/* Brings a loaded cursor to the top of the heap, or empties it.  0 or -ENOMEM. */
static int settle(struct fcalls_walk *w)
{
	int err = 0;

	while (w->n_heap && !err) {
		struct cursor *k = w->heap[0];

		if (k->is_loaded && k->edges.next < k->edges.n)
			return 0;
		if (k->is_loaded) {
			edges_fini(&k->edges);
			k->is_loaded = false;
			if (k->has_ended) {
				batch_thread_fini(&k->state);
				w->heap[0] = w->heap[--w->n_heap];
				sink(w, 0);
				continue;
			}
		} else {
			err = load_batch(w, k);
			k->is_loaded = true;
			w->c->losses.n_misnested += k->edges.n_bent;
			k->edges.n_bent = 0;
		}
		set_time(w, k);
		sink(w, 0);
	}
	return err;
}

/* ---------------------------------------------------------------- steps */

static int step_edge(struct fcalls_walk *w)
{
	struct cursor *k = w->heap[0];
	const struct edge *e = &k->edges.at[k->edges.next++];
	int err;

	if (k->number < 0)
		k->number = walk_thread_number(w->c, w->run->threads, k->thread);
	if (k->number < 0)
		return (int)k->number;
	if (e->time_ns > w->now_ns)
		w->now_ns = e->time_ns;
	w->event_is = w->event_is == TRACE_EVENT ? -2 : w->event_is;
	err = e->function ? span_edge(w, (uint32_t)k->number, e) : 0;
	if (w->event_is == -2)
		w->event_is = TRACE_EVENT;
	set_time(w, k);
	sink(w, 0);
	return err;
}

static int step_event(struct fcalls_walk *w)
{
	struct fcalls_item *item;
	uint32_t at = w->n_queue;
	int err;

	if (w->event.time_ns > w->now_ns)
		w->now_ns = w->event.time_ns;
	if (w->event_is == TRACE_LOST) {
		item = walk_item(w, FCALLS_LOST, 0);
		if (!item)
			return -ENOMEM;
		item->event = &w->event;
		return w->o.is_without_kernel ? 0 : walk_kernel_lost(w);
	}
	if (fcalls_is_batch(w->c, &w->event))
		return 0;
	item = walk_item(w, FCALLS_EVENT, w->event_thread);
	if (!item)
		return -ENOMEM;
	if (w->event_thread < w->n_threads && w->threads[w->event_thread].n_lanes) {
		const struct span_thread *t = &w->threads[w->event_thread];

		item->depth = t->lanes[t->lane].n;
		item->stack = t->lanes[t->lane].stack;
	}
	err = w->o.is_without_kernel ? 0 : walk_kernel_event(w);
	if (w->n_queue > at + 1)
		w->queue[at].is_span = true;
	return err;
}

/* Spans that are open where the range begins. */
static int begin_range(struct fcalls_walk *w)
{
	w->is_inside = true;
	w->now_ns = w->o.range.from_ns;
	for (uint32_t i = 0; i < w->n_threads; i++)
		for (uint32_t k = 0; k < w->threads[i].n_lanes; k++) {
			const struct span_lane *lane = &w->threads[i].lanes[k];

			for (uint32_t n = 0; n < lane->n; n++) {
				const struct span *s = &lane->at[n];
				struct fcalls_item *item = walk_item(w, FCALLS_ENTER, i);

				if (!item)
					return -ENOMEM;
				item->kind = s->kind;
				item->id = s->id;
				item->name = s->name;
				item->address = s->address;
				item->stack = lane->stack;
				item->depth = n;
				item->begin_ns = s->begin_ns;
				item->end_ns = INT64_MAX;
				item->event = NULL;
			}
		}
	return 0;
}

static int end_walk(struct fcalls_walk *w)
{
	int64_t end_ns = w->o.range.to_ns < w->c->end_ns ? w->o.range.to_ns : w->c->end_ns;
	int err = w->is_inside || w->now_ns < w->o.range.from_ns ? 0 : begin_range(w);

	w->is_over = true;
	w->event_is = TRACE_END;
	if (end_ns > w->now_ns)
		w->now_ns = end_ns;
	for (uint32_t i = 0; i < w->n_threads && !err; i++)
		err = span_leave_all(w, i, w->now_ns);
	if (!err)
		err = threads_finalize(w->run->threads);
	if (!w->o.pid && !w->o.tid && w->o.range.to_ns == INT64_MAX)
		w->c->has_losses = true;
	return err;
}

static int ask_event(struct fcalls_walk *w, struct diag *d)
{
	w->event_is = pass_next(w->run, &w->event, &w->event_thread, d);
	return w->event_is < 0 ? w->event_is : 0;
}

/* At one time: an entry before an event, an exit after it. */
static bool is_edge_next(const struct fcalls_walk *w)
{
	const struct cursor *k = w->n_heap ? w->heap[0] : NULL;

	if (!k || w->event_is == TRACE_END)
		return k;
	return k->time_ns < w->event.time_ns ||
	       (k->time_ns == w->event.time_ns && !k->edges.at[k->edges.next].is_leave);
}

static int step(struct fcalls_walk *w, struct diag *d)
{
	int err = settle(w);
	int64_t time_ns;
	bool is_edge;

	if (!err && w->event_is == -1)
		err = ask_event(w, d);
	if (err)
		return err;
	is_edge = is_edge_next(w);
	if (!is_edge && w->event_is == TRACE_END)
		return end_walk(w);
	time_ns = is_edge ? w->heap[0]->time_ns : w->event.time_ns;
	if (time_ns > w->o.range.to_ns)
		return end_walk(w);
	if (!w->is_inside && time_ns >= w->o.range.from_ns) {
		int was = w->event_is;

		w->event_is = TRACE_END;
		err = begin_range(w);
		w->event_is = was;
		if (err)
			return err;
	}
	if (is_edge)
		return step_edge(w);
	err = step_event(w);
	w->is_spent = true;
	return err;
}

int fcalls_walk_next(struct fcalls_walk *w, struct fcalls_item *item, struct diag *d)
{
	int err = 0;

	while (w->next == w->n_queue && !err) {
		if (w->is_over) {
			*item = (struct fcalls_item){ .is = FCALLS_END, .name = "" };
			return FCALLS_END;
		}
		if (w->is_spent)
			w->event_is = -1;
		w->is_spent = false;
		w->next = w->n_queue = 0;
		err = step(w, d);
	}
	if (err)
		return err == -ENOMEM ? diag_fail(d, err, "no memory for calls") : err;
	*item = w->queue[w->next++];
	return (int)item->is;
}

/* ---------------------------------------------------------------- opening */

int64_t walk_thread_number(const struct fcalls *c, struct threads *threads, uint32_t thread)
{
	const struct fcalls_thread *t = &c->threads[thread].public;
	const struct trace_source *source = c->processes[t->process].source;
	struct trace_event e = { .stream = NULL };

	for (uint32_t i = 0; i < trace_n_streams(c->trace) && !e.stream; i++)
		if (trace_stream(c->trace, i)->source == source)
			e.stream = trace_stream(c->trace, i);
	return e.stream ? threads_of(threads, &e, t->tid) : 0;
}

static int open_cursors(struct fcalls_walk *w)
{
	struct fcalls *c = w->c;
	int err = 0;

	w->cursors = calloc(c->n_threads + (size_t)1, sizeof *w->cursors);
	w->heap = calloc(c->n_threads + (size_t)1, sizeof *w->heap);
	if (!w->cursors || !w->heap)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n_threads && !err; i++) {
		struct cursor *k = &w->cursors[w->n_cursors];

		if (!thread_is_wanted(c, i, &w->o))
			continue;
		*k = (struct cursor){ .thread = i, .number = -1, .is_loaded = true };
		w->n_cursors++;
		err = begin_cursor(w, k);
		set_time(w, k);
		w->heap[w->n_heap++] = k;
	}
	for (uint32_t i = w->n_heap / 2; i--;)
		sink(w, i);
	return err;
}

int fcalls_walk_open(struct fcalls_walk **result, struct fcalls *c, const struct fcalls_options *o,
		     struct diag *d)
{
	struct fcalls_walk *w = calloc(1, sizeof *w);
	int err;

	*result = w;
	if (!w)
		return diag_fail(d, -ENOMEM, "no memory for calls");
	w->c = c;
	w->o = *o;
	w->event_is = -1;
	w->now_ns = INT64_MIN;
	w->is_inside = o->range.from_ns == INT64_MIN;
	err = trace_part(c->trace, TRACE_ALL_STREAMS, NULL, NULL, &w->part);
	if (!err)
		err = wait_follow_open(&w->follow, w->part, &o->range, d);
	if (!err) /* files; variables would need the recordings' paths */
		err = wait_follow_names(w->follow, NULL, 0, d);
	if (!err) {
		w->run = wait_follow_pass(w->follow);
		err = open_cursors(w);
	}
	if (!err)
		err = walk_kernel_open(w);
	if (!err)
		return 0;
	fcalls_walk_close(w);
	*result = NULL;
	return err == -ENOMEM ? diag_fail(d, err, "no memory for calls") : err;
}

void fcalls_walk_close(struct fcalls_walk *w)
{
	if (!w)
		return;
	walk_kernel_close(w);
	for (uint32_t i = 0; i < w->n_cursors; i++) {
		batch_thread_fini(&w->cursors[i].state);
		edges_fini(&w->cursors[i].edges);
	}
	for (uint32_t i = 0; i < w->n_threads; i++) {
		for (uint32_t k = 0; k < w->threads[i].n_lane_rooms; k++)
			free(w->threads[i].lanes[k].at);
		free(w->threads[i].lanes);
	}
	block_fini(&w->block);
	free(w->cursors);
	free(w->heap);
	free(w->threads);
	free(w->queue);
	text_fini(&w->why);
	text_fini(&w->cause);
	wait_follow_close(w->follow);
	trace_close(w->part);
	free(w);
}

struct pass *fcalls_walk_pass(struct fcalls_walk *w)
{
	return w->run;
}

void walk_take_pass(struct fcalls_walk *w, struct pass *to)
{
	pass_move(to, w->run);
	to->trace = w->c->trace;
}
