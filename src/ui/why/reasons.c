/* SPDX-License-Identifier: MIT */
/*
 * ui/why/reasons.c - the tree of reasons: see internal.h.
 *
 * Its first level are states of the row itself, off the CPU.  Below a blocked one is what its wakers did
 * meanwhile, nested as wakeups chain; below waiting for a CPU, which threads ran there.
 */
#include <stdlib.h>

#include "ui/why/internal.h"

enum { CPU_WAITS_MOST = 256, RUNNING_MOST = 256, NEST_MOST = WAIT_DEEPEST + 2 };

/* ---------------------------------------------------------------- nodes */

static uint32_t add_node(struct why *w, const struct why_node *like)
{
	uint32_t n = w->n_nodes;

	if (!why_grow(w, &w->nodes, &w->node_room, n, sizeof *w->nodes))
		return 0;
	w->nodes[n] = *like;
	w->nodes[n].child = w->nodes[n].next = 0;
	w->nodes[n].ns = w->nodes[n].n = 0;
	w->n_nodes++;
	return n;
}

static bool is_like(const struct why_node *a, const struct why_node *b)
{
	return a->parent == b->parent && a->thread == b->thread && a->call == b->call &&
	       a->state == b->state && a->cause == b->cause && a->cpu == b->cpu;
}

static uint64_t hash_of(const struct why_node *n)
{
	uint64_t h = (uint64_t)n->parent << 32 | n->thread;

	h = (h ^ ((uint64_t)n->call << 24 | (uint64_t)n->cause << 8 | n->state)) *
	    0x9E3779B97F4A7C15u;
	return (h ^ n->cpu) * 0x9E3779B97F4A7C15u;
}

static uint32_t *slot_of(struct why *w, const struct why_node *like)
{
	uint64_t h = hash_of(like) >> 20;

	while (w->table[h & (w->n_table - 1)] &&
	       !is_like(&w->nodes[w->table[h & (w->n_table - 1)]], like))
		h++;
	return &w->table[h & (w->n_table - 1)];
}

/* Room for another node, at most half full. */
static bool grow_table(struct why *w)
{
	uint32_t n = w->n_table ? 2 * w->n_table : 1024;
	uint32_t *bigger;

	if (w->n_nodes < w->n_table / 2)
		return true;
	bigger = calloc(n, sizeof *bigger);
	if (!bigger) {
		w->has_failed = true;
		return false;
	}
	free(w->table);
	w->table = bigger;
	w->n_table = n;
	for (uint32_t i = 1; i < w->n_nodes; i++)
		*slot_of(w, &w->nodes[i]) = i;
	return true;
}

/* Adds @begin_ns to @end_ns to the child of @parent that is like @like.  Returns it; 0: no memory. */
static uint32_t count(struct why *w, uint32_t parent, const struct why_node *like, int64_t begin_ns,
		      int64_t end_ns)
{
	struct why_node wanted = *like, *node;
	uint32_t *slot, i;

	wanted.parent = parent;
	if (!grow_table(w))
		return 0;
	slot = slot_of(w, &wanted);
	if (!*slot) {
		*slot = add_node(w, &wanted);
		if (!*slot)
			return 0;
		w->nodes[*slot].next = w->nodes[parent].child;
		w->nodes[parent].child = *slot;
	}
	i = *slot;
	node = &w->nodes[i];
	if (!node->n || end_ns - begin_ns > node->to - node->from) {
		node->from = begin_ns;
		node->to = end_ns;
	}
	node->n++;
	node->ns += (uint64_t)(end_ns - begin_ns);
	return i;
}

/* ---------------------------------------------------------------- blocked */

static struct why_node node_of(const struct why_slice *s)
{
	bool is_in_call = s->state == UI_KERNEL || s->state == UI_BLOCKED;

	return (struct why_node){ .thread = s->thread,
				  .call = is_in_call ? s->call : 0,
				  .state = s->state,
				  .cause = s->cause };
}

static void add_wait(struct why *w, const struct why_wait *wait)
{
	struct why_node like = { .thread = w->row + 1, .call = wait->call, .state = UI_BLOCKED };
	int64_t begin = wait->begin_ns > w->from ? wait->begin_ns : w->from;
	uint32_t stack[NEST_MOST], depth = 0;

	stack[0] = count(w, 0, &like, begin, begin + (int64_t)wait->ns);
	for (uint32_t i = 0; i < wait->n_slices && stack[depth]; i++) {
		const struct why_slice *s = &w->slices[wait->first + i];

		if (s->is_turn && s->is_end) {
			depth -= depth > 0;
			continue;
		}
		like = node_of(s);
		if (!s->is_turn)
			count(w, stack[depth], &like, s->begin_ns, s->end_ns);
		else if (depth + 1 < NEST_MOST) {
			stack[depth + 1] = count(w, stack[depth], &like, s->begin_ns, s->end_ns);
			depth++;
		}
	}
}

/* ---------------------------------------------------------------- waiting for a CPU */

/* The CPU on which the row runs at @ns, plus 1; 0: none. */
static uint32_t cpu_at(struct why *w, const struct ui_row_set *all, int64_t ns)
{
	struct ui_row row;

	for (uint32_t r = 0; r < all->n_rows && ui_index_row(w->x, r, &row); r++) {
		uint32_t track = row.kind == UI_ROW_CPU ? ui_row_track(w->x, r, 0) : UINT32_MAX;
		struct ui_interval v;

		if (track != UINT32_MAX &&
		    ui_track_get(w->x, track, ui_track_find(w->x, track, ns), &v) &&
		    v.begin_ns <= ns && v.what == w->row)
			return r + 1;
	}
	return 0;
}

/* Who had @cpu from @begin to @end; nobody: it was idle, and the row was on its way there. */
static void add_running(struct why *w, uint32_t parent, uint32_t cpu, int64_t begin, int64_t end)
{
	uint32_t track = ui_row_track(w->x, cpu - 1, 0), i = ui_track_find(w->x, track, begin);
	struct ui_interval v;
	int64_t idle = begin;

	for (int n = 0; n < RUNNING_MOST && idle < end; n++, i++) {
		bool is_there = ui_track_get(w->x, track, i, &v) && v.begin_ns < end;
		struct why_node like = { .cpu = cpu, .state = UI_USER };
		int64_t from = is_there && v.begin_ns > idle ? v.begin_ns : is_there ? idle : end;

		if (from > idle)
			count(w, parent, &like, idle, from);
		idle = is_there && v.end_ns < end ? v.end_ns : end;
		like.thread = v.what + 1;
		if (is_there && idle > from)
			count(w, parent, &like, from, idle);
	}
}

static int longer_first(const void *a, const void *b)
{
	const struct why_slice *x = a, *y = b;
	int64_t m = x->end_ns - x->begin_ns, n = y->end_ns - y->begin_ns;

	if (m != n)
		return m < n ? 1 : -1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* The row's other states off the CPU; of the longest also who had it. */
static void add_own(struct why *w)
{
	const struct ui_row_set all = { NULL, w->n_rows };
	uint32_t n = 0;

	if (w->n_own)
		qsort(w->own, w->n_own, sizeof *w->own, longer_first);
	for (uint32_t i = 0; i < w->n_own && !w->has_failed; i++) {
		const struct why_slice *s = &w->own[i];
		struct why_node like = { .thread = w->row + 1, .state = s->state };
		bool is_for_cpu = s->state == UI_RUNNABLE || s->state == UI_PREEMPTED;
		uint32_t node, cpu;

		if (!is_for_cpu && s->state != UI_UNKNOWN)
			continue;
		node = count(w, 0, &like, s->begin_ns, s->end_ns);
		if (!node || !is_for_cpu || n++ >= CPU_WAITS_MOST)
			continue;
		cpu = cpu_at(w, &all, s->end_ns);
		if (cpu)
			add_running(w, node, cpu, s->begin_ns, s->end_ns);
	}
}

/* ---------------------------------------------------------------- order */

static bool is_before(const struct why_node *a, const struct why_node *b)
{
	return a->ns != b->ns ? a->ns > b->ns : a->from < b->from;
}

/* Merge sort of a list, most time first. */
static uint32_t sort_list(struct why *w, uint32_t list)
{
	uint32_t slow = list, fast, half, first = 0, *tail = &first;

	if (!list || !w->nodes[list].next)
		return list;
	for (fast = w->nodes[list].next; fast && w->nodes[fast].next;
	     fast = w->nodes[w->nodes[fast].next].next)
		slow = w->nodes[slow].next;
	half = w->nodes[slow].next;
	w->nodes[slow].next = 0;
	list = sort_list(w, list);
	half = sort_list(w, half);
	while (list || half) {
		bool is_list = !half || (list && is_before(&w->nodes[list], &w->nodes[half]));

		*tail = is_list ? list : half;
		tail = &w->nodes[*tail].next;
		if (is_list)
			list = *tail;
		else
			half = *tail;
	}
	return first;
}

/* What ended all waits of one kind is said with them, and not again below. */
static void join_only_cause(struct why *w, struct why_node *n)
{
	const struct why_node *c = &w->nodes[n->child];

	if (!n->child || c->next || c->child || c->thread != n->thread || c->state != n->state ||
	    c->call != n->call || c->ns != n->ns)
		return;
	n->cause = c->cause;
	n->child = 0;
}

void reasons_make(struct why *w)
{
	if (!why_grow(w, &w->nodes, &w->node_room, 0, sizeof *w->nodes))
		return;
	w->nodes[0] = (struct why_node){ 0 };
	w->n_nodes = 1;
	for (uint32_t i = 0; i < w->n_waits && !w->has_failed; i++)
		add_wait(w, &w->waits[i]);
	add_own(w);
	for (uint32_t i = 0; i < w->n_nodes; i++)
		w->nodes[i].child = sort_list(w, w->nodes[i].child);
	for (uint32_t i = 1; i < w->n_nodes; i++)
		join_only_cause(w, &w->nodes[i]);
}
