/* SPDX-License-Identifier: MIT */
/*
 * analysis/calls/tree.c - sums by path: a node for each function under each path of callers.
 *
 * Without the kernel a batch is read backward: a caller comes before its calls, so one node for each
 * depth is all that is kept.  With the kernel the tree follows a walk.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls/internal.h"
#include "base/atomic.h"
#include "rules/pattern.h"

enum { NOWHERE = UINT32_MAX }; /* outside of all paths that are wanted */

struct building {
	struct fcalls_tree *t;
	struct fcalls *c;
	const struct fcalls_options *o;
	uint32_t n_rooms;
	uint32_t *table; /* nodes by parent, kind and id; 0: free */
	uint32_t n_table;
	uint32_t *path; /* nodes by depth */
	uint32_t n_path_rooms;
	uint8_t *likes; /* by function: 1 + whether it matches the pattern; 0: not asked */
	uint32_t n_likes;
};

static uint64_t hash_of(uint32_t parent, uint32_t kind, uint32_t id)
{
	uint64_t h = (((uint64_t)parent << 32 | id) ^ (uint64_t)kind << 61) * 0x9e3779b97f4a7c15ull;

	/* low bits of a product depend on low bits alone: on the function, not on its parent */
	h = (h ^ h >> 32) * 0xff51afd7ed558ccdull;
	return h >> 32;
}

static int grow_table(struct building *b)
{
	uint32_t n = b->n_table ? b->n_table * 2 : 1024;
	uint32_t *table = calloc(n, sizeof *table);

	if (!table)
		return -ENOMEM;
	for (uint32_t i = 1; i < b->t->n; i++) {
		const struct fcalls_node *node = &b->t->at[i];
		uint64_t h = hash_of(node->parent, node->kind, node->id);

		while (table[h & (n - 1)])
			h++;
		table[h & (n - 1)] = i;
	}
	free(b->table);
	b->table = table;
	b->n_table = n;
	return 0;
}

/* The child of @parent, made if it is new; @parent itself if there are too many nodes; -ENOMEM. */
static int64_t child_of(struct building *b, uint32_t parent, enum fcalls_kind kind, uint32_t id,
			const char *name)
{
	struct fcalls_tree *t = b->t;
	uint64_t h = hash_of(parent, kind, id);

	if (unlikely(t->n * 2 >= b->n_table) && grow_table(b))
		return -ENOMEM;
	for (uint32_t i; (i = b->table[h & (b->n_table - 1)]); h++)
		if (likely(t->at[i].parent == parent && t->at[i].id == id && t->at[i].kind == kind))
			return i;
	if (t->n == FCALLS_NODES_MAX) {
		t->n_beyond++;
		return parent;
	}
	if (pass_grow(&t->at, &b->n_rooms, t->n, sizeof *t->at))
		return -ENOMEM;
	t->at[t->n] = (struct fcalls_node){
		.parent = parent,
		.kind = kind,
		.id = id,
		.name = kind == FCALLS_FUNCTION ? fcalls_function(b->c, id)->shown
						: fcalls_keep(b->c, name),
		.min_ns = UINT64_MAX,
	};
	b->table[h & (b->n_table - 1)] = t->n;
	return t->n++;
}

static bool is_like(struct building *b, uint32_t function)
{
	if (!b->o->pattern)
		return true;
	if (pass_grow(&b->likes, &b->n_likes, function, sizeof *b->likes))
		return false;
	if (!b->likes[function])
		b->likes[function] = 1 + fcalls_is_like(b->c, function, b->o->pattern);
	return b->likes[function] == 2;
}

/* The node of a call below @parent, which may be NOWHERE. */
static inline int64_t node_below(struct building *b, uint32_t parent, uint32_t function)
{
	if (unlikely(parent == NOWHERE)) {
		if (!is_like(b, function))
			return NOWHERE;
		parent = 0;
	}
	return child_of(b, parent, FCALLS_FUNCTION, function, NULL);
}

static inline void add(struct fcalls_node *node, uint64_t ns, uint64_t self_ns, uint8_t flags)
{
	node->calls++;
	node->n_open += flags & FCALLS_OPEN;
	node->total_ns += ns;
	node->self_ns += self_ns;
	if (ns < node->min_ns)
		node->min_ns = ns;
	if (ns > node->max_ns)
		node->max_ns = ns;
}

/* ---------------------------------------------------------------- batches */

static int set_path(struct building *b, uint32_t depth, uint32_t n, uint32_t function,
		    uint32_t *node)
{
	uint32_t outside = b->o->pattern ? NOWHERE : 0;
	int64_t at;

	if (unlikely(depth >= b->n_path_rooms) &&
	    pass_grow(&b->path, &b->n_path_rooms, depth, sizeof *b->path))
		return -ENOMEM;
	for (; n < depth; n++)
		b->path[n] = n ? b->path[n - 1] : outside;
	at = node_below(b, depth ? b->path[depth - 1] : outside, function);
	if (at < 0)
		return (int)at;
	b->path[depth] = *node = (uint32_t)at;
	return 0;
}

static int add_block_call(struct building *b, const struct each *e, const struct block_call *call,
			  uint32_t *n)
{
	uint32_t node;
	int err;

	err = set_path(b, call->depth, *n < call->depth ? *n : call->depth, call->function, &node);
	*n = call->depth + 1;
	if (!err && node != NOWHERE && node && block_overlaps(call, e->o))
		add(&b->t->at[node], ((uint64_t)call->end_ns - (uint64_t)call->begin_ns),
		    call->self_ns, call->flags);
	return err;
}

static int add_lane(struct building *b, const struct each *e, const struct batch_lane *lane)
{
	uint32_t process = e->c->threads[e->thread].public.process, n = 0, node;
	int err = 0;

	for (uint32_t i = 0; i < lane->n_open && !err; i++, n = i)
		err = set_path(b, i, n,
			       lane->open[i].function
				       ? fcalls_number(b->c, process, lane->open[i].function)
				       : 0,
			       &node);
	for (uint32_t i = lane->last; i && !err; i = e->block.calls[i - 1].before)
		err = add_block_call(b, e, &e->block.calls[i - 1], &n);
	return err;
}

/* Cut calls of one lane: innermost first, so backward from the outermost. */
static int add_cuts(struct building *b, const struct each *e)
{
	uint32_t lane = UINT32_MAX, n = 0;
	int err = 0;

	for (uint32_t i = e->block.n_cuts; i-- && !err;) {
		const struct block_call *call = &e->block.cuts[i];

		if (call->lane != lane)
			n = 0;
		lane = call->lane;
		err = add_block_call(b, e, call, &n);
	}
	return err;
}

static int on_block(void *context, struct each *e)
{
	struct building *b = context;
	int err = add_cuts(b, e);

	for (uint32_t i = 0; i < e->state.n_lanes && !err && e->block.n; i++)
		if (e->state.lanes[i].last)
			err = add_lane(b, e, &e->state.lanes[i]);
	return err;
}

/* ---------------------------------------------------------------- profiles */

static int64_t profile_node(struct building *b, uint32_t process,
			    const struct abi_calls_path *nodes, uint32_t i)
{
	uint32_t chain[256], n = 0, outside = b->o->pattern ? NOWHERE : 0;
	int64_t at = outside;

	for (; i && n < 256; i = profile_parent(nodes, i))
		chain[n++] = i;
	while (n-- && at >= 0) {
		uint32_t function = nodes[chain[n]].function;

		function =
			function < ABI_CALLS_FUNCTIONS ? fcalls_number(b->c, process, function) : 0;
		at = node_below(b, (uint32_t)at, function);
	}
	return at;
}

static int on_node(void *context, uint32_t process, const struct abi_calls_path *nodes, uint32_t i)
{
	struct building *b = context;
	uint64_t ns = profile_ns(b->c, process, &nodes[i]);
	int64_t at = profile_node(b, process, nodes, i);
	struct fcalls_node *node;

	if (at < 0 || at == NOWHERE || !at || !nodes[i].calls)
		return at < 0 ? (int)at : 0;
	b->t->is_estimated = true;
	node = &b->t->at[at];
	node->calls += nodes[i].calls;
	node->total_ns += ns;
	node->self_ns += ns;
	node = &b->t->at[node->parent];
	node->self_ns -= node->self_ns < ns ? node->self_ns : ns;
	return 0;
}

/* ---------------------------------------------------------------- walks */

/* The nodes of open spans of a stack of a thread. */
struct place {
	uint32_t thread, stack;
	uint32_t *nodes;
	uint32_t n, n_rooms;
};

struct places {
	struct place *at;
	uint32_t n, n_rooms, last;
};

static struct place *place_of(struct places *p, uint32_t thread, uint32_t stack)
{
	struct place *at = p->at + p->last;

	if (p->last < p->n && at->thread == thread && at->stack == stack)
		return at;
	for (p->last = 0; p->last < p->n; p->last++)
		if (p->at[p->last].thread == thread && p->at[p->last].stack == stack)
			return &p->at[p->last];
	if (pass_grow(&p->at, &p->n_rooms, p->n, sizeof *p->at))
		return NULL;
	p->at[p->n].thread = thread;
	p->at[p->n].stack = stack;
	return &p->at[p->n++];
}

/* Whether a kernel function or a system call is meant by @pattern. */
static bool is_kernel_like(enum fcalls_kind kind, const char *name, const char *pattern)
{
	return (kind == FCALLS_KERNEL_FUNCTION || kind == FCALLS_SYSCALL) &&
	       pattern_glob(pattern, pattern + strlen(pattern), name, name + strlen(name));
}

static int enter(struct building *b, struct place *p, const struct fcalls_item *item)
{
	uint32_t outside = b->o->pattern ? NOWHERE : 0;
	uint32_t parent = p->n ? p->nodes[p->n - 1] : outside;
	int64_t at;

	if (item->kind == FCALLS_FUNCTION)
		at = node_below(b, parent, item->id);
	else if (parent && parent != NOWHERE)
		at = child_of(b, parent, item->kind, item->id, item->name);
	else if (b->o->pattern ? is_kernel_like(item->kind, item->name, b->o->pattern)
			       : item->kind == FCALLS_KERNEL_FUNCTION)
		at = child_of(b, 0, item->kind, item->id, item->name);
	else /* the kernel outside of functions is not shown */
		at = parent;
	if (at < 0 || pass_grow(&p->nodes, &p->n_rooms, p->n, sizeof *p->nodes))
		return -ENOMEM;
	p->nodes[p->n++] = (uint32_t)at;
	return 0;
}

static void leave(struct building *b, struct place *p, const struct fcalls_item *item)
{
	uint32_t at = p->n ? p->nodes[--p->n] : NOWHERE;
	struct fcalls_node *node;
	uint64_t ns = ((uint64_t)item->end_ns - (uint64_t)item->begin_ns);

	if (!at || at == NOWHERE)
		return;
	node = &b->t->at[at];
	if (node->kind != item->kind || node->id != item->id)
		return; /* no node of its own: there are too many */
	add(node, ns, item->self_ns, item->flags);
	for (int i = 0; i < FCALLS_PARTS; i++) {
		node->total.ns[i] += item->total.ns[i];
		node->self.ns[i] += item->self.ns[i];
	}
}

static int read_walk(struct building *b, struct diag *d)
{
	struct places places = { .n = 0 };
	struct fcalls_walk *w;
	struct fcalls_item item;
	struct place *p;
	int is, err = fcalls_walk_open(&w, b->c, b->o, d);

	while (!err && (is = fcalls_walk_next(w, &item, d)) != FCALLS_END) {
		if (is < 0)
			err = is;
		if (err || (is != FCALLS_ENTER && is != FCALLS_LEAVE))
			continue;
		p = place_of(&places, item.thread, item.stack);
		if (!p)
			err = -ENOMEM;
		else if (is == FCALLS_ENTER)
			err = enter(b, p, &item);
		else
			leave(b, p, &item);
	}
	b->t->has_split = true;
	for (uint32_t i = 0; i < places.n_rooms; i++)
		free(places.at[i].nodes);
	free(places.at);
	fcalls_walk_close(w);
	return err;
}

/* ---------------------------------------------------------------- the result */

/* Children of the kernel take their time from the function around them. */
static void subtract_kernel(struct fcalls_tree *t)
{
	for (uint32_t i = t->n; i-- > 1;) {
		const struct fcalls_node *node = &t->at[i];
		struct fcalls_node *up = &t->at[node->parent];

		if (node->kind != FCALLS_FUNCTION && up->kind == FCALLS_FUNCTION && node->parent)
			up->self_ns -= up->self_ns < node->total_ns ? up->self_ns : node->total_ns;
	}
}

static int compare(const void *a, const void *b, void *context)
{
	const struct fcalls_tree *t = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (t->at[i].total_ns != t->at[k].total_ns)
		return t->at[i].total_ns < t->at[k].total_ns ? 1 : -1;
	if (t->at[i].calls != t->at[k].calls)
		return t->at[i].calls < t->at[k].calls ? 1 : -1;
	return i < k ? -1 : i > k;
}

static void tree_sort(const struct fcalls_tree *t, uint32_t *order)
{
	qsort_r(order, t->n, sizeof *order, compare, (void *)t);
}

/* Links children to their parents, most total time first. */
static int link_nodes(struct fcalls_tree *t)
{
	uint32_t *order = malloc((t->n + (size_t)1) * sizeof *order);

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 1; i < t->n; i++) {
		t->at[i].child = t->at[i].next = 0;
		if (t->at[i].min_ns == UINT64_MAX)
			t->at[i].min_ns = 0;
	}
	t->at[0].child = 0;
	for (uint32_t i = 0; i < t->n; i++)
		order[i] = i;
	tree_sort(t, order);
	for (uint32_t i = t->n; i--;) { /* the least first: each goes before its siblings */
		struct fcalls_node *node = &t->at[order[i]];

		if (!order[i])
			continue;
		node->next = t->at[node->parent].child;
		t->at[node->parent].child = order[i];
	}
	free(order);
	return 0;
}

static int finish(struct building *b)
{
	struct fcalls_tree *t = b->t;

	subtract_kernel(t);
	for (uint32_t i = 1; i < t->n; i++)
		if (!t->at[i].parent) {
			t->at[0].total_ns += t->at[i].total_ns;
			t->at[0].calls += t->at[i].calls;
		}
	fcalls_losses(b->c, &t->losses);
	return link_nodes(t);
}

static void close_building(struct building *b)
{
	free(b->table);
	free(b->path);
	free(b->likes);
}

static int open_building(struct building *b)
{
	b->t = calloc(1, sizeof *b->t);
	if (!b->t || pass_grow(&b->t->at, &b->n_rooms, 0, sizeof *b->t->at))
		return -ENOMEM;
	b->t->n = 1;
	b->t->at[0].name = "";
	return 0;
}

int fcalls_tree_open(struct fcalls_tree **tree, struct fcalls *c, const struct fcalls_options *o,
		     struct diag *d)
{
	struct building b = { .c = c, .o = o };
	struct each e = { .c = c, .o = o, .on_block = on_block, .context = &b };
	int err = open_building(&b);

	if (!err)
		err = c->has_kernel && !o->is_without_kernel ? read_walk(&b, d) : each_block(&e, d);
	if (!err)
		err = each_node(c, o, on_node, &b);
	if (!err)
		err = finish(&b);
	close_building(&b);
	if (err) {
		fcalls_tree_close(b.t);
		b.t = NULL;
	}
	*tree = b.t;
	return err == -ENOMEM ? diag_fail(d, err, "no memory for calls") : err;
}

static void tree_merge(struct fcalls_node *to, const struct fcalls_node *from)
{
	to->calls += from->calls;
	to->n_open += from->n_open;
	to->total_ns += from->total_ns;
	to->self_ns += from->self_ns;
	if (from->min_ns < to->min_ns)
		to->min_ns = from->min_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	for (int i = 0; i < FCALLS_PARTS; i++) {
		to->total.ns[i] += from->total.ns[i];
		to->self.ns[i] += from->self.ns[i];
	}
}

int fcalls_tree_callers(struct fcalls_tree **tree, const struct fcalls_tree *from,
			const struct fcalls *c, const char *pattern, struct diag *d)
{
	const struct fcalls_options all = { .pattern = NULL };
	struct building b = { .c = (struct fcalls *)c, .o = &all };
	int err = open_building(&b);

	for (uint32_t i = 1; i < from->n && !err; i++) {
		const struct fcalls_node *node = &from->at[i];
		uint32_t at = 0;

		if (node->kind == FCALLS_FUNCTION
			    ? !fcalls_is_like(c, node->id, pattern)
			    : !is_kernel_like(node->kind, node->name, pattern))
			continue;
		for (uint32_t up = i; up && !err; up = from->at[up].parent) {
			int64_t next = child_of(&b, at, from->at[up].kind, from->at[up].id,
						from->at[up].name);

			err = next < 0 ? (int)next : 0;
			if (err || next == at)
				break;
			at = (uint32_t)next;
			tree_merge(&b.t->at[at], node);
		}
	}
	b.t->has_split = from->has_split;
	b.t->is_estimated = from->is_estimated;
	b.t->losses = from->losses;
	if (!err)
		err = link_nodes(b.t);
	close_building(&b);
	if (err) {
		fcalls_tree_close(b.t);
		b.t = NULL;
	}
	*tree = b.t;
	return err == -ENOMEM ? diag_fail(d, err, "no memory for calls") : err;
}

void fcalls_tree_close(struct fcalls_tree *t)
{
	if (t)
		free(t->at);
	free(t);
}
