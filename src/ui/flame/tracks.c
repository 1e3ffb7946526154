/* SPDX-License-Identifier: MIT */
/*
 * ui/flame/tracks.c - times by spans, functions and system calls, from the index alone.
 *
 * At every moment a thread has a state and a stack: its open spans, then functions, then the system
 * call.  The time is swept from one change of either to the next, and charged to the stack.  A thread
 * for which there is not enough time is charged as a whole, so totals are right in any case.
 */
#include <errno.h>
#include <stdlib.h>

#include "ui/flame/internal.h"

enum { TRACKS_MOST = 160, BLOCK = 64, CHECK_EVERY = 4096 };

struct layer {		      /* a track of a thread, with its interval now or next */
	uint32_t track, next; /* next: to read */
	uint8_t what;
	bool has;
	struct ui_interval v;
	uint32_t at, n; /* in `block` */
	struct ui_interval block[BLOCK];
};

struct sweep {
	struct flame_work *w;
	struct flame_thread *t;
	struct layer layers[TRACKS_MOST], states;
	uint32_t n, n_steps;
	bool is_over; /* the time for it */
};

static uint8_t what_of(const struct ui_track_info *info)
{
	switch (info->kind) {
	case UI_TRACK_SPANS:
		return FLAME_SPAN;
	case UI_TRACK_CALLS:
		return FLAME_FUNCTION;
	case UI_TRACK_SYSCALLS:
		return FLAME_SYSCALL;
	}
	return 0;
}

/* Whether track @info is outside of layer @l. */
static bool is_before(struct sweep *s, const struct ui_track_info *info, uint8_t what,
		      const struct layer *l)
{
	struct ui_track_info other = { 0 };

	ui_track_info(s->w->o->index, l->track, &other);
	return what != l->what ? what < l->what : info->depth < other.depth;
}

/* Spans first, then functions, then system calls; outer before inner. */
static void find_layers(struct sweep *s)
{
	struct ui_index *x = s->w->o->index;
	struct ui_track_info info;
	struct ui_row r;

	s->n = 0;
	if (!ui_index_row(x, s->t->row, &r))
		return;
	for (uint32_t i = 0; i < r.n_tracks && s->n < TRACKS_MOST; i++) {
		uint32_t track = ui_row_track(x, s->t->row, i), at = s->n;
		uint8_t what = ui_track_info(x, track, &info) ? what_of(&info) : 0;

		if (!what)
			continue;
		for (; at && is_before(s, &info, what, &s->layers[at - 1]); at--) {
			s->layers[at].track = s->layers[at - 1].track;
			s->layers[at].what = s->layers[at - 1].what;
		}
		s->layers[at].track = track;
		s->layers[at].what = what;
		s->n++;
	}
}

static void take(struct sweep *s, struct layer *l)
{
	if (l->at == l->n) {
		l->n = ui_track_read(s->w->o->index, l->track, l->next, l->block, BLOCK);
		l->next += l->n;
		l->at = 0;
	}
	l->has = l->at < l->n;
	if (l->has)
		l->v = l->block[l->at++];
}

static void seek(struct sweep *s, struct layer *l, int64_t from)
{
	l->next = ui_track_find(s->w->o->index, l->track, from);
	l->at = l->n = 0;
	take(s, l);
}

static void seek_layers(struct sweep *s, int64_t from)
{
	for (uint32_t i = 0; i < s->n; i++)
		seek(s, &s->layers[i], from);
	s->states.has = false;
	s->states.track = s->t->states - 1;
	if (s->t->states)
		seek(s, &s->states, from);
}

/* The object of the system call that began at @begin. */
static uint32_t object_node(struct flame_work *w, uint32_t row, uint32_t node, int64_t begin)
{
	struct slot *slot = w->objects.n ? table_find(&w->objects, row, (uint64_t)begin) : NULL;

	return slot && slot->value ? flame_child(w->f, node, FLAME_OBJECT, slot->value - 1) : node;
}

static void charge_on(struct flame *f, uint32_t node, bool in_call, uint32_t state, uint64_t ns)
{
	if (state == UI_USER || (state == UI_KERNEL && in_call))
		f->nodes[node].self += ns;
	else if (state == UI_KERNEL || state == UI_IRQ)
		flame_state(f, node, state == UI_IRQ ? "interrupted" : "in the kernel", ns);
}

static void charge_off(struct sweep *s, uint32_t node, const struct layer *top, uint32_t state,
		       uint64_t ns)
{
	struct flame *f = s->w->f;

	if (state == UI_RUNNABLE || state == UI_PREEMPTED) {
		flame_state(f, node, "waiting for a CPU", ns);
	} else if (state == UI_BLOCKED && top && top->what == FLAME_SYSCALL) {
		uint32_t inner = object_node(s->w, s->t->row, node, top->v.begin_ns);

		f->nodes[inner].self += ns;
		f->nodes[inner].count += inner != node;
	} else if (state == UI_BLOCKED) {
		flame_state(f, node, "blocked", ns);
	}
}

static void charge(struct sweep *s, uint32_t node, const struct layer *top, uint32_t state,
		   uint64_t ns)
{
	if (!s->w->has_states)
		s->w->f->nodes[node].self += top && s->w->o->is_on ? ns : 0;
	else if (s->w->o->is_on)
		charge_on(s->w->f, node, top && top->what == FLAME_SYSCALL, state, ns);
	else
		charge_off(s, node, top, state, ns);
}

/* The interval of @l that covers @at, if one does; *@end is moved to the next change of it. */
static bool covers(struct sweep *s, struct layer *l, int64_t at, int64_t *end)
{
	int64_t change;

	while (l->has && l->v.end_ns <= at)
		take(s, l);
	if (!l->has)
		return false;
	change = l->v.begin_ns > at ? l->v.begin_ns : l->v.end_ns;
	*end = change < *end ? change : *end;
	return l->v.begin_ns <= at;
}

/* Charges the time from @at to the next change, at most up to @to; returns where. */
static int64_t step(struct sweep *s, int64_t at, int64_t to)
{
	uint32_t node = flame_thread_node(s->w, s->t);
	struct layer *top = NULL;
	uint32_t state = UI_GONE;
	int64_t end = to;

	if (covers(s, &s->states, at, &end))
		state = s->states.v.what;
	for (uint32_t i = 0; i < s->n; i++) {
		struct layer *l = &s->layers[i];

		if (!covers(s, l, at, &end))
			continue;
		node = flame_child(s->w->f, node, l->what, flame_index_name(s->w, l->v.what));
		s->w->f->nodes[node].count += l->v.begin_ns == at;
		top = l;
	}
	charge(s, node, top, state, (uint64_t)(end - at));
	return end;
}

/* All of the thread's time, without its stacks. */
static void charge_whole(struct sweep *s, int64_t from, int64_t to)
{
	struct ui_sums sums = { { 0 }, 0 };

	if (s->t->states)
		ui_track_sums(s->w->o->index, s->t->states - 1, from, to, &sums);
	for (uint32_t state = 0; state < UI_STATES; state++)
		charge(s, flame_thread_node(s->w, s->t), NULL, state, sums.ns[state]);
}

static int sweep(struct sweep *s, int64_t from, int64_t to)
{
	seek_layers(s, from);
	for (int64_t at = from; at < to;) {
		if (s->is_over) {
			charge_whole(s, at, to);
			return 0;
		}
		at = step(s, at, to);
		if (s->w->f->tables->failed)
			return -ENOMEM;
		if (++s->n_steps % CHECK_EVERY || !flame_is_over(s->w))
			continue;
		s->is_over = true;
		flame_note(s->w->f, "There was not enough time to look below all threads: choose a "
				    "shorter time or fewer rows.");
	}
	return 0;
}

/* The threads that ran on one CPU. */
static int sweep_cpu(struct sweep *s, uint32_t track)
{
	struct flame_work *w = s->w;
	uint32_t i = ui_track_find(w->o->index, track, w->o->from);
	struct ui_interval v;
	int err = 0;

	for (; !err && ui_track_get(w->o->index, track, i, &v) && v.begin_ns < w->o->to; i++) {
		if (v.what >= w->n_rows || !w->thread_of[v.what])
			continue;
		s->t = &w->threads[w->thread_of[v.what] - 1];
		find_layers(s);
		err = sweep(s, v.begin_ns > w->o->from ? v.begin_ns : w->o->from,
			    v.end_ns < w->o->to ? v.end_ns : w->o->to);
	}
	return err;
}

int flame_by_tracks(struct flame_work *w)
{
	struct sweep *s = calloc(1, sizeof *s);
	int err = s ? 0 : -ENOMEM;

	if (s)
		s->w = w;
	for (uint32_t i = 0; i < w->n_cpus && !err; i++)
		err = sweep_cpu(s, w->cpus[i] - 1);
	for (uint32_t i = 0; i < w->n_threads && !err && !w->is_by_cpu; i++) {
		s->t = &w->threads[i];
		find_layers(s);
		err = sweep(s, w->o->from, w->o->to);
	}
	free(s);
	return err < 0 ? err : 0;
}
