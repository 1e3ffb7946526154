/* SPDX-License-Identifier: MIT */
/*
 * analysis/stacks/stack_tree.c - builds the tree of call stacks from events, with names from
 * symbols and kallsyms.
 *
 * Nodes, frames and threads are found through hash tables with two numbers as key. An address is
 * looked up once for each mapping.
 */
#include "analysis/stacks/stack_tree.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stacks/callstack.h"
#include "analysis/stacks/function_graph.h"
#include "analysis/stacks/own.h"
#include "analysis/stacks/table.h"
#include "analysis/pass.h"
#include "base/hash.h"
#include "symbol/symbol.h"
#include "trace/symbols/public.h"

static const uint32_t NO_MAPPING = UINT32_MAX, FUNCTION = UINT32_MAX - 1;

struct class
{
	bool has_stack, is_of_sample;
	bool is_switch; /* STACKS_OFF_CPU; those from idle may have no stack */
	enum ctf_scope scope;
	const struct ctf_op *weight; /* STACKS_OFF_CPU: the thread that comes to the CPU */
	const struct ctf_op *function, *depth,
		*duration; /* for events of the function graph; duration: for an end */
};

struct stacks_private {
	struct stacks_options o;
	struct modules *modules;
	struct symbols *symbols;
	struct kallsyms *kallsyms;
	struct class *classes;	/* by class number */
	struct table addresses; /* (mapping, address): frame */
	struct table children;	/* (parent, frame): node */
	struct table threads;	/* (pid, tid): thread */
	struct table waiting;	/* (source, tid): the thread that last left its CPU with this tid */
	struct table texts;	/* (hash, counter for equal hashes): frame */
	uint32_t n_frame_rooms, n_node_rooms, n_thread_rooms;
};

/* ---------------------------------------------------------------- opening */

static bool plan_classes(struct stacks *tree, struct stacks_private *p)
{
	bool found = false;

	for (uint32_t i = 0; i < trace_n_sources(p->o.trace); i++) {
		const struct trace_source *s = trace_source(p->o.trace, i);

		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next) {
			struct class *class = &p->classes[c->number];

			class->has_stack = callstack_find(c, &class->scope);
			class->is_of_sample = callstack_is_of_sample(s, c);
			if (class->has_stack)
				*(class->is_of_sample ? &tree->has_samples : &tree->has_others) =
					true;
			if (p->o.weight == STACKS_OFF_CPU) {
				class->is_switch = !strcmp(c->name, "sched_switch");
				class->has_stack &= class->is_switch;
				class->weight = ctf_class_find(c, CTF_PAYLOAD, "next_tid");
				found |= class->has_stack;
				continue;
			}
			found |= class->has_stack;
			if (p->o.weight == STACKS_FIELD)
				class->weight = ctf_class_find(c, CTF_PAYLOAD, p->o.field);
		}
	}
	return found;
}

static bool plan_graph(struct stacks_private *p)
{
	bool found = false;

	for (uint32_t i = 0; i < trace_n_sources(p->o.trace); i++) {
		const struct trace_source *s = trace_source(p->o.trace, i);

		if (s->domain != TRACE_KERNEL ||
		    (p->o.weight != STACKS_ONE && p->o.weight != STACKS_TIME))
			continue;
		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next) {
			struct class *class = &p->classes[c->number];
			bool ends = !strcmp(c->name, "funcgraph_exit");

			if (!ends && strcmp(c->name, "funcgraph_entry") != 0)
				continue;
			class->function = ctf_class_find(c, CTF_PAYLOAD, "func");
			class->depth = ctf_class_find(c, CTF_PAYLOAD, "depth");
			class->duration = ends ? ctf_class_find(c, CTF_PAYLOAD, "duration") : NULL;
			found |= class->function && class->duration;
		}
	}
	return found;
}

int stacks_init(struct stacks *s, const struct stacks_options *o, struct diag *d)
{
	struct stacks_private *p = calloc(1, sizeof *p);
	int err = p ? 0 : -ENOMEM;

	*s = (struct stacks){ .private = p };
	if (p) {
		p->o = *o;
		p->symbols = symbols_open();
		p->kallsyms = kallsyms_open(o->paths, o->n_paths);
		p->classes = calloc(trace_n_classes(o->trace) + (size_t)1, sizeof *p->classes);
		err = modules_open(&p->modules, o->paths, o->n_paths, d);
	}
	if (err || !p->symbols || !p->kallsyms || !p->classes ||
	    pass_grow(&s->nodes, &p->n_node_rooms, STACKS_ROOT, sizeof *s->nodes)) {
		stacks_fini(s);
		return diag_fail(d, -ENOMEM, "no memory for call stacks");
	}
	s->n_nodes = 1;
	if (plan_classes(s, p))
		return 0;
	if (o->weight == STACKS_OFF_CPU)
		return diag_fail(d, -ENODATA,
				 "no switch of this recording has a call stack\n"
				 "  `duet record -k stack:sched_switch` records them");
	s->is_graph = plan_graph(p);
	return s->is_graph ? 0
			   : diag_fail(d, -ENODATA,
				       "no event of this recording has a call stack\n"
				       "  `duet record -c callstack` records them with events of "
				       "applications, -k profile:99 samples them, "
				       "-k stack:sched_switch records them with events of the "
				       "kernel, --graph F those of the kernel's functions");
}

int stacks_init_empty(struct stacks *s)
{
	struct stacks_private *p = calloc(1, sizeof *p);

	*s = (struct stacks){ .private = p };
	if (!p || pass_grow(&s->nodes, &p->n_node_rooms, STACKS_ROOT, sizeof *s->nodes))
		return -ENOMEM;
	s->n_nodes = 1;
	return 0;
}

void stacks_fini(struct stacks *s)
{
	struct stacks_private *p = s->private;

	for (uint32_t i = 0; i < s->n_frames; i++)
		free(s->frames[i]);
	for (uint32_t i = 0; i < s->n_threads; i++) {
		free(s->threads[i].samples);
		free(s->threads[i].calls);
	}
	free(s->frames);
	free(s->nodes);
	free(s->threads);
	if (p) {
		modules_close(p->modules);
		symbols_close(p->symbols);
		kallsyms_close(p->kallsyms);
		free(p->classes);
		free(p->addresses.at);
		free(p->children.at);
		free(p->threads.at);
		free(p->waiting.at);
		free(p->texts.at);
		free(p);
	}
	*s = (struct stacks){ 0 };
}

/* ---------------------------------------------------------------- frames */

static int64_t frame_named(struct stacks *s, const char *text, size_t size)
{
	struct stacks_private *p = s->private;
	uint64_t hash = hash_bytes(text, size);
	struct slot *slot;
	uint64_t nth = 0;

	for (;; nth++) {
		slot = table_find(&p->texts, hash, nth);
		if (!slot)
			return -ENOMEM;
		if (!slot->value)
			break;
		if (strlen(s->frames[slot->value - 1]) == size &&
		    !memcmp(s->frames[slot->value - 1], text, size))
			return slot->value - 1;
	}
	if (pass_grow(&s->frames, &p->n_frame_rooms, s->n_frames, sizeof *s->frames))
		return -ENOMEM;
	s->frames[s->n_frames] = strndup(text, size);
	if (!s->frames[s->n_frames])
		return -ENOMEM;
	fill(&p->texts, slot, s->n_frames);
	return s->n_frames++;
}

static int64_t frame_of(struct stacks *s, int64_t pid, uint64_t clock, uint64_t address)
{
	struct stacks_private *p = s->private;
	struct module_location at = { .number = NO_MAPPING };
	uint64_t call = address ? address - 1 : 0; /* a return address may be the first of the next
					    * function */
	const char *name = NULL, *slash;
	struct slot *slot;
	char text[512];
	int64_t frame;

	bool is_known = modules_find(p->modules, pid, clock, call, &at);

	slot = table_find(&p->addresses, at.number, address);
	if (!slot)
		return -ENOMEM;
	if (slot->value)
		return slot->value - 1;
	if (is_known)
		name = symbols_find_written(p->symbols, at.path, at.build_id, at.offset);
	else
		name = kallsyms_find(p->kallsyms, call);
	if (!name && is_known) {
		slash = strrchr(at.path, '/');
		snprintf(text, sizeof text, "%s+0x%" PRIx64, slash ? slash + 1 : at.path,
			 at.offset);
	} else if (!name) {
		snprintf(text, sizeof text, "0x%" PRIx64, address);
	}
	frame = frame_named(s, name ? name : text, strlen(name ? name : text));
	if (frame >= 0)
		fill(&p->addresses, slot, (uint32_t)frame);
	return frame;
}

/* The frame of a kernel function, by its first address. */
static int64_t frame_at(struct stacks *s, uint64_t function)
{
	struct stacks_private *p = s->private;
	struct slot *slot = table_find(&p->addresses, FUNCTION, function);
	const char *name;
	char text[24];
	int64_t frame;

	if (!slot)
		return -ENOMEM;
	if (slot->value)
		return slot->value - 1;
	name = kallsyms_find(p->kallsyms, function);
	if (!name) {
		snprintf(text, sizeof text, "0x%" PRIx64, function);
		name = text;
	}
	frame = frame_named(s, name, strlen(name));
	if (frame >= 0)
		fill(&p->addresses, slot, (uint32_t)frame);
	return frame;
}

static int64_t child_of(struct stacks *s, uint32_t parent, int64_t frame)
{
	struct stacks_private *p = s->private;
	struct slot *slot = frame < 0 ? NULL : table_find(&p->children, parent, (uint64_t)frame);

	if (!slot)
		return -ENOMEM;
	if (slot->value)
		return slot->value - 1;
	if (pass_grow(&s->nodes, &p->n_node_rooms, s->n_nodes, sizeof *s->nodes))
		return -ENOMEM;
	assert(parent < s->n_nodes && frame < (int64_t)s->n_frames);
	s->nodes[s->n_nodes] = (struct stacks_node){ parent, (uint32_t)frame, 0 };
	fill(&p->children, slot, s->n_nodes);
	return s->n_nodes++;
}

/* ---------------------------------------------------------------- events */

static struct stacks_thread *thread_of(struct stacks *s, const struct thread_identity *w)
{
	struct stacks_private *p = s->private;
	struct slot *slot = table_find(&p->threads, (uint64_t)w->pid, (uint64_t)w->tid);
	struct stacks_thread *t;

	if (!slot)
		return NULL;
	if (!slot->value) {
		if (pass_grow(&s->threads, &p->n_thread_rooms, s->n_threads, sizeof *s->threads))
			return NULL;
		fill(&p->threads, slot, s->n_threads);
		s->threads[s->n_threads++] = (struct stacks_thread){ .pid = w->pid, .tid = w->tid };
	}
	t = &s->threads[slot->value - 1];
	if (w->size) {
		t->name_size = (uint8_t)(w->size < STACKS_NAME ? w->size : STACKS_NAME);
		memcpy(t->name, w->name, t->name_size);
	}
	return t;
}

static int64_t node_of(struct stacks *s, const struct trace_event *e, enum ctf_scope scope,
		       const struct thread_identity *w)
{
	uint64_t addresses[CALLSTACK_FRAMES_MAX];
	int n = callstack_read(e, scope, addresses), left = callstack_without_loop(addresses, n);
	int64_t pid = w->pid < 0 ? w->tid : w->pid; /* the pid is unknown: the tid of the leader
						     * is used */
	int64_t node = child_of(s, STACKS_ROOT,
				frame_named(s, w->size ? w->name : "?", w->size ? w->size : 1));

	if (left < n) {
		s->n_repeating++;
		node = node < 0 ? node : stacks_child(s, (uint32_t)node, "[repeats]");
	}
	while (node >= 0 && left--)
		node = child_of(s, (uint32_t)node, frame_of(s, pid, e->clock, addresses[left]));
	return node;
}

static void add_weight(struct stacks *s, uint32_t node, uint64_t weight)
{
	assert(node < s->n_nodes);
	s->nodes[node].self += weight;
	s->total += weight;
}

/* The time since the thread's last event is the weight of that event. */
static void weigh_last(struct stacks *s, struct stacks_thread *t, int64_t now_ns)
{
	uint64_t ns = now_ns > t->last_ns ? (uint64_t)(now_ns - t->last_ns) : 0;

	if (t->last)
		add_weight(s, t->last, ns);
	if (t->last && t->n_samples)
		t->samples[t->n_samples - 1].weight = ns;
}

static int keep_sample(struct stacks_thread *t, int64_t time_ns, uint64_t weight, uint32_t node)
{
	if (pass_grow(&t->samples, &t->n_rooms, t->n_samples, sizeof *t->samples))
		return -ENOMEM;
	t->samples[t->n_samples++] = (struct stacks_sample){ time_ns, weight, node };
	return 0;
}

int64_t stacks_child(struct stacks *s, uint32_t parent, const char *name)
{
	return child_of(s, parent, frame_named(s, name, strlen(name)));
}

int stacks_add(struct stacks *s, uint32_t node, uint64_t weight, int64_t time_ns,
	       const struct thread_identity *w)
{
	struct stacks_thread *t = w ? thread_of(s, w) : NULL;

	add_weight(s, node, weight);
	s->n_samples++;
	if (!w)
		return 0;
	return t ? keep_sample(t, time_ns, weight, node) : -ENOMEM;
}

static int on_call(struct stacks *s, const struct trace_event *e, const struct thread_identity *w,
		   const struct class *c)
{
	int64_t function = 0, depth = 0, duration_ns = 0, frame, node;
	struct stacks_thread *t = thread_of(s, w);
	uint32_t begun = UINT32_MAX;
	uint64_t own_ns = 0;

	if (t && !t->calls)
		t->calls = calloc(1, sizeof *t->calls);
	if (!t || !t->calls)
		return -ENOMEM;
	if (!ctf_event_number(e->ctf, c->function, &function) ||
	    (c->duration && !ctf_event_number(e->ctf, c->duration, &duration_ns)))
		return 0;
	if (c->depth)
		ctf_event_number(e->ctf, c->depth, &depth);
	if (c->duration)
		own_ns = graph_leave(t->calls, (uint64_t)function, depth, (uint64_t)duration_ns,
				     &begun);
	node = begun;
	if (begun == UINT32_MAX) {
		frame = frame_at(s, (uint64_t)function);
		node = child_of(s, STACKS_ROOT,
				frame_named(s, w->size ? w->name : "?", w->size ? w->size : 1));
		node = node < 0 || frame < 0
			       ? -ENOMEM
			       : child_of(s, graph_node(t->calls, (uint32_t)node), frame);
	}
	if (node < 0)
		return -ENOMEM;
	if (!c->duration) {
		graph_enter(t->calls, (uint64_t)function, (uint32_t)node);
		return 0;
	}
	add_weight(s, (uint32_t)node, own_ns);
	s->n_samples++;
	return s->private->o.keeps_samples ? keep_sample(t, e->time_ns, own_ns, (uint32_t)node) : 0;
}

/* The thread that comes to the CPU has waited since it left one. */
static int end_wait(struct stacks *s, const struct trace_event *e, const struct class *c)
{
	struct stacks_private *p = s->private;
	struct stacks_thread *t;
	struct slot *slot;
	int64_t tid;

	if (!c->weight || !ctf_event_number(e->ctf, c->weight, &tid))
		return 0;
	slot = table_find(&p->waiting, (uint64_t)(uintptr_t)e->stream->source, (uint64_t)tid);
	if (!slot)
		return -ENOMEM;
	if (!slot->value)
		return 0;
	t = &s->threads[slot->value - 1];
	weigh_last(s, t, e->time_ns);
	t->last = 0;
	return 0;
}

/* By number, because the table of threads may have moved. */
static int begin_wait(struct stacks *s, const struct trace_event *e,
		      const struct thread_identity *w, uint32_t thread)
{
	struct slot *slot = table_find(&s->private->waiting, (uint64_t)(uintptr_t)e->stream->source,
				       (uint64_t)w->tid);

	if (!slot)
		return -ENOMEM;
	if (slot->value)
		slot->value = thread + 1;
	else
		fill(&s->private->waiting, slot, thread);
	return 0;
}

int stacks_on_event(struct stacks *s, const struct trace_event *e, const struct thread_identity *w)
{
	struct stacks_private *p = s->private;
	const struct class *c = &p->classes[trace_class_number(e)];
	struct stacks_thread *t;
	int64_t node, weight = p->o.weight == STACKS_TIME || p->o.weight == STACKS_OFF_CPU ? 0 : 1;
	int err;

	if (s->is_graph && c->function)
		return on_call(s, e, w, c);
	if (c->is_switch) {
		err = end_wait(s, e, c);
		if (err || !w->tid) /* the idle thread does not wait */
			return err;
	}
	if (!c->has_stack)
		return 0;
	if (p->o.samples_alone && s->has_samples && !c->is_of_sample)
		return 0;
	if (p->o.own && !stacks_own_has(p->o.own, e, w)) {
		s->n_foreign++;
		return 0;
	}
	if (p->o.weight == STACKS_FIELD &&
	    (!c->weight || !ctf_event_number(e->ctf, c->weight, &weight))) {
		s->n_unweighted++;
		return 0;
	}
	node = node_of(s, e, c->scope, w);
	t = node < 0 ? NULL : thread_of(s, w);
	if (!t)
		return -ENOMEM;
	if (p->o.weight == STACKS_TIME)
		weigh_last(s, t, e->time_ns);
	if (p->o.weight == STACKS_OFF_CPU && begin_wait(s, e, w, (uint32_t)(t - s->threads)))
		return -ENOMEM;
	t->last = s->newest = (uint32_t)node;
	t->last_ns = e->time_ns;
	add_weight(s, (uint32_t)node, weight > 0 ? (uint64_t)weight : 0);
	s->n_samples++;
	return p->o.keeps_samples ? keep_sample(t, e->time_ns, weight > 0 ? (uint64_t)weight : 0,
						(uint32_t)node)
				  : 0;
}
