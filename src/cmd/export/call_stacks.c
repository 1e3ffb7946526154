/* SPDX-License-Identifier: MIT */
/*
 * cmd/export/call_stacks.c - calls of programs as stacks with time, for flame graphs and viewers of
 * samples.
 *
 * Flame graphs of calls alone are made of sums by path (fcalls_tree_open), which is fast.  With the
 * kernel the recording is read in the order of time, and waits are named by their reason.  Viewers of
 * samples get one for each time between two changes of a thread's stack, so their order of time is
 * exact; memory grows with the calls there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/export/span.h"
#include "cmd/export/stacks.h"

enum { OTHER_STACKS_MAX = 4096 };

enum weight { WALL, ON_CPU, OFF_CPU };

struct call_stacks {
	struct fcalls *calls;
	struct stacks *s;
	enum weight weight;
	/* walk */
	struct pass *pass;
	struct place {
		uint32_t *node; /* by stack: the innermost open call */
		uint32_t n_nodes, stack, next_stack;
		int64_t since_ns;
	} * places; /* by thread */
	uint32_t n_places;
	bool keeps_samples;
};

static bool is_weight(const char *name, enum weight *w)
{
	*w = !name || !strcmp(name, "time") || !strcmp(name, "wall") ? WALL
	     : !strcmp(name, "on-cpu")				     ? ON_CPU
								     : OFF_CPU;
	return *w != OFF_CPU || !strcmp(name, "off-cpu");
}

static bool is_waiting(enum fcalls_kind kind)
{
	return kind == FCALLS_WAIT || kind == FCALLS_DELAY;
}

static bool counts(const struct call_stacks *c, bool is_off)
{
	return c->weight == WALL || is_off == (c->weight == OFF_CPU);
}

/* The one name of all programs. */
static const char *program_of(const struct fcalls *c)
{
	const char *name = fcalls_n_processes(c) ? fcalls_process(c, 0)->program : "?";

	for (uint32_t i = 1; i < fcalls_n_processes(c); i++)
		if (strcmp(fcalls_process(c, i)->program, name) != 0)
			return "programs";
	return *name ? name : "?";
}

/* ---------------------------------------------------------------- sums */

/* Along the links: a tree may be deeper than a stack of this program, and its nodes are in any
 * order. */
static int add_tree(struct call_stacks *c, const struct fcalls_tree *tree)
{
	uint32_t *node_of = calloc(tree->n, sizeof *node_of), i = tree->at[0].child;
	int64_t node = stacks_child(c->s, STACKS_ROOT, program_of(c->calls));
	int err = node_of && node >= 0 ? 0 : -ENOMEM;

	if (!err)
		node_of[0] = (uint32_t)node;
	while (i && !err) {
		const struct fcalls_node *n = &tree->at[i];

		node = stacks_child(c->s, node_of[n->parent], n->name);
		if (node < 0)
			err = -ENOMEM;
		else if (counts(c, is_waiting(n->kind)) && n->self_ns)
			err = stacks_add(c->s, (uint32_t)node, n->self_ns, 0, NULL);
		if (err)
			break;
		node_of[i] = (uint32_t)node;
		if (n->child) {
			i = n->child;
			continue;
		}
		while (i && !tree->at[i].next)
			i = tree->at[i].parent;
		i = i ? tree->at[i].next : 0;
	}
	free(node_of);
	return err;
}

static int sum(struct call_stacks *c, const struct fcalls_options *o, struct diag *d)
{
	struct fcalls_tree *tree;
	int err = fcalls_tree_open(&tree, c->calls, o, d);

	if (err)
		return err;
	err = add_tree(c, tree);
	fcalls_tree_close(tree);
	return err ? diag_fail(d, err, "no memory for a graph") : 0;
}

/* ---------------------------------------------------------------- one sample for each change */

/* Gives the time until now to @node. */
static int add_time(struct call_stacks *c, const struct fcalls_item *item, struct place *at,
		    uint32_t node, bool is_off)
{
	const struct thread *t = threads_at(c->pass->threads, item->thread);
	const struct thread_identity w = {
		.name = t->name, .size = t->name_size, .pid = t->pid, .tid = t->tid
	};
	int64_t from_ns = at->since_ns, ns = span_ns(from_ns, item->time_ns);

	at->since_ns = item->time_ns;
	if (ns <= 0 || c->s->nodes[node].parent == STACKS_ROOT || !counts(c, is_off))
		return 0;
	return stacks_add(c->s, node, (uint64_t)ns, from_ns, c->keeps_samples ? &w : NULL);
}

/* A wait gets its name when it ends: by then its reason is known. */
static int end_wait(struct call_stacks *c, const struct fcalls_item *item, struct place *at,
		    uint32_t node)
{
	const char *why = item->kind == FCALLS_DELAY ? "without a CPU" : item->why;
	char text[256];
	int64_t child;

	if (c->s->nodes[node].parent == STACKS_ROOT)
		return add_time(c, item, at, node, true);
	snprintf(text, sizeof text, "%s%s",
		 item->kind == FCALLS_DELAY ? ""
		 : why && *why		    ? "blocked: "
					    : "blocked",
		 why ? why : "");
	child = stacks_child(c->s, node, text);
	return child < 0 ? -ENOMEM : add_time(c, item, at, (uint32_t)child, true);
}

static struct place *place_of(struct call_stacks *c, const struct fcalls_item *item,
			      uint32_t program)
{
	uint32_t stack = item->stack < OTHER_STACKS_MAX ? item->stack : 0;
	struct place *at;

	if (pass_grow(&c->places, &c->n_places, item->thread, sizeof *c->places))
		return NULL;
	at = &c->places[item->thread];
	if (item->kind != FCALLS_FUNCTION)
		stack = at->stack;
	if (pass_grow(&at->node, &at->n_nodes, stack > at->stack ? stack : at->stack,
		      sizeof *at->node))
		return NULL;
	if (!at->node[at->stack])
		at->node[at->stack] = program;
	if (!at->node[stack])
		at->node[stack] = program;
	at->next_stack = stack;
	return at;
}

static int change(struct call_stacks *c, const struct fcalls_item *item, uint32_t program)
{
	struct place *at = place_of(c, item, program);
	int64_t node;
	int err;

	if (!at)
		return -ENOMEM;
	/* The kernel outside of functions is left out, as in sums; spans nest, so its ends are too. */
	if (item->kind != FCALLS_FUNCTION && at->node[at->stack] == program) {
		at->since_ns = item->time_ns;
		return 0;
	}
	if (is_waiting(item->kind) && item->is == FCALLS_LEAVE)
		return end_wait(c, item, at, at->node[at->stack]);
	err = add_time(c, item, at, at->node[at->stack], false);
	at->stack = at->next_stack;
	if (err || is_waiting(item->kind))
		return err;
	node = at->node[at->stack];
	if (item->is == FCALLS_LEAVE) {
		node = c->s->nodes[node].parent;
		at->node[at->stack] = node == STACKS_ROOT ? program : (uint32_t)node;
		return 0;
	}
	node = stacks_child(c->s, (uint32_t)node, item->name);
	if (node < 0)
		return -ENOMEM;
	at->node[at->stack] = (uint32_t)node;
	return 0;
}

static int sample(struct call_stacks *c, const struct fcalls_options *o, struct diag *d)
{
	int64_t program = stacks_child(c->s, STACKS_ROOT, program_of(c->calls));
	struct fcalls_item item;
	struct fcalls_walk *w;
	int is = FCALLS_END, err = fcalls_walk_open(&w, c->calls, o, d);

	if (err)
		return err;
	c->pass = fcalls_walk_pass(w);
	err = program < 0 ? -ENOMEM : 0;
	while (!err && (is = fcalls_walk_next(w, &item, d)) > 0)
		if (is == FCALLS_ENTER || is == FCALLS_LEAVE)
			err = change(c, &item, (uint32_t)program);
	fcalls_walk_close(w);
	if (err)
		diag_fail(d, err, "no memory for samples");
	return err ? err : is < 0 ? is : 0;
}

int export_call_stacks(struct export *x, struct stacks *s, bool keeps_samples, struct diag *d)
{
	struct call_stacks c = { .s = s, .keeps_samples = keeps_samples };
	struct fcalls_options o = { .range = { export_from_ns(x), export_to_ns(x) } };
	int err = stacks_init_empty(s);

	if (err)
		return diag_fail(d, err, "no memory for call stacks");
	if (!is_weight(x->weight, &c.weight))
		return diag_fail(d, -EINVAL,
				 "--weight %s: calls of programs have time, on-cpu or off-cpu",
				 x->weight);
	x->weight = c.weight == OFF_CPU ? "off-cpu" : "time";
	err = fcalls_open(&c.calls, x->trace, d);
	if (!err && c.weight != WALL && !fcalls_has_kernel(c.calls))
		err = diag_fail(d, -ENODATA,
				"--weight: no switches of threads in this recording\n"
				"  `duet record -k sched` records them");
	o.is_without_kernel = !err && !fcalls_has_kernel(c.calls);
	if (!err)
		err = keeps_samples || !o.is_without_kernel ? sample(&c, &o, d) : sum(&c, &o, d);
	if (!err && !s->n_samples)
		err = diag_fail(d, -ENODATA, "no call has such a time");
	fcalls_close(c.calls);
	for (uint32_t i = 0; i < c.n_places; i++)
		free(c.places[i].node);
	free(c.places);
	return err;
}
