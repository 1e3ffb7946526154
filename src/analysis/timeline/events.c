/* SPDX-License-Identifier: MIT */
/*
 * analysis/timeline/events.c - the events that open and close slices: see timeline.h.
 *
 * A name counts only if the recording has its partner: `server_start` without `server_stop` is an
 * instant like any other.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/timeline/internal.h"

static const struct {
	const char *opens, *closes;
} endings[] = {
	{ "entry", "exit" }, { "begin", "end" }, { "enter", "exit" }, { "enter", "leave" },
	{ "start", "stop" }, { "start", "end" }, { "start", "done" }, { "start", "finish" },
};
/* Prefixes; the rest of the name is that of a function or a system call. */
static const struct {
	const char *entry, *leaving;
} calls[] = {
	{ "syscall_entry_", "syscall_exit_" },
	{ "kprobe_", "kretprobe_" },
	{ "fprobe_", "fretprobe_" },
	{ "uprobe_", "uretprobe_" },
};

struct class
{
	const struct trace_source *source;
	const struct ctf_event_class *class;
	uint32_t number;
};

struct planning {
	struct class *classes; /* by name */
	uint32_t n;
	struct timeline_plan *plans;
};

static int by_name(const void *a, const void *b)
{
	const struct class *x = a, *y = b;
	int order = strcmp(x->class->name, y->class->name);

	return order ? order : x->number < y->number ? -1 : x->number > y->number;
}

static void add_class(void *context, const struct trace_source *s, const struct ctf_event_class *c,
		      uint32_t number)
{
	struct planning *p = context;

	p->classes[p->n++] = (struct class){ s, c, number };
}

/* The first class with the name @name + @more; its number stands for all classes of that name.
 * NULL: none. */
static const struct class *find(const struct planning *p, const char *name, size_t size,
				const char *more)
{
	uint32_t low = 0, high = p->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const char *other = p->classes[middle].class->name;
		int order = strncmp(other, name, size);

		if (!order)
			order = strcmp(other + size, more);
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == p->n || strncmp(p->classes[low].class->name, name, size) ||
	    strcmp(p->classes[low].class->name + size, more))
		return NULL;
	return &p->classes[low];
}

/* Interrupts belong to the CPU, not to the thread they interrupt. */
static bool is_of_cpu(const struct class *c)
{
	const char *name = c->class->name;

	return c->source->domain == TRACE_KERNEL &&
	       (!strncmp(name, "irq_", 4) || !strncmp(name, "softirq_", 8) ||
		!strncmp(name, "x86_irq_vectors_", 16) || strstr(name, "_vector_"));
}

static bool plan_call_of(struct planning *p, const struct class *c, const char *entry,
			 const char *leaving)
{
	const char *name = c->class->name;
	bool opens = !strncmp(name, entry, strlen(entry));
	size_t prefix = strlen(opens ? entry : leaving);
	const struct class *first, *last;

	if (!opens && strncmp(name, leaving, prefix) != 0)
		return false;
	first = find(p, entry, strlen(entry), name + prefix);
	last = find(p, leaving, strlen(leaving), name + prefix);
	if (first && last) {
		p->plans[c->number].role = opens ? TIMELINE_OPENS : TIMELINE_CLOSES;
		p->plans[c->number].pair = first->number;
		p->plans[c->number].name = name + prefix;
	}
	return true;
}

static bool plan_call(struct planning *p, const struct class *c)
{
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (plan_call_of(p, c, calls[i].entry, calls[i].leaving))
			return true;
	return false;
}

/* "job_begin", "job:begin" */
static bool has_ending(const char *name, const char *ending, size_t *base)
{
	size_t size = strlen(name), n = strlen(ending);

	if (size < n + 2 || strcmp(name + size - n, ending) ||
	    (name[size - n - 1] != '_' && name[size - n - 1] != ':'))
		return false;
	*base = size - n;
	return true;
}

static void plan_pair(struct planning *p, const struct class *c)
{
	const char *name = c->class->name;
	struct timeline_plan *plan = &p->plans[c->number];
	size_t base;

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		bool opens = has_ending(name, endings[i].opens, &base);
		const struct class *first, *last;

		if (!opens && !has_ending(name, endings[i].closes, &base))
			continue;
		first = find(p, name, base, endings[i].opens);
		last = find(p, name, base, endings[i].closes);
		if (!first || !last)
			continue;
		plan->role = opens ? TIMELINE_OPENS : TIMELINE_CLOSES;
		plan->pair = first->number;
		plan->name = name;
		plan->name_size = (uint32_t)base - 1;
		return;
	}
}

static void plan_sched(struct planning *p, const struct class *c)
{
	struct timeline_plan *plan = &p->plans[c->number];
	const char *name = c->class->name;

	if (!strcmp(name, "sched_switch")) {
		plan->role = TIMELINE_SWITCHES;
		plan->field[0] = ctf_class_find(c->class, CTF_PAYLOAD, "prev_tid");
		plan->field[1] = ctf_class_find(c->class, CTF_PAYLOAD, "next_tid");
		plan->field[2] = ctf_class_find(c->class, CTF_PAYLOAD, "prev_state");
	} else if (!strcmp(name, "sched_waking") || !strncmp(name, "sched_wakeup", 12)) {
		plan->role = TIMELINE_WAKES;
		plan->field[0] = ctf_class_find(c->class, CTF_PAYLOAD, "tid");
	} else if (!strcmp(name, "sched_process_exit")) {
		plan->role = TIMELINE_EXITS;
	}
}

static void plan_given(struct planning *p, const struct class *c, const struct timeline_options *o,
		       uint32_t n_classes)
{
	struct timeline_plan *plan = &p->plans[c->number];

	for (uint32_t i = 0; i < o->n_pairs; i++) {
		bool opens = pass_is_like(o->pairs[i].begin, c->source, c->class->name);

		if (!opens && !pass_is_like(o->pairs[i].end, c->source, c->class->name))
			continue;
		*plan = (struct timeline_plan){ .role = opens ? TIMELINE_OPENS : TIMELINE_CLOSES,
						.pair = n_classes + i,
						.is_of_cpu = plan->is_of_cpu,
						.name = c->class->name };
		plan->name_size = (uint32_t)strlen(plan->name);
		return;
	}
}

static void plan_class(struct planning *p, const struct class *c, const struct timeline_options *o,
		       uint32_t n_classes)
{
	struct timeline_plan *plan = &p->plans[c->number];

	plan->name = c->class->name;
	plan->is_of_cpu = is_of_cpu(c);
	if (c->source->domain == TRACE_KERNEL) {
		plan_sched(p, c);
		plan->function = pass_function(c->class);
		if (!strcmp(c->class->name, "irq_softirq_entry"))
			plan->softirq = ctf_class_find(c->class, CTF_PAYLOAD, "vec");
	}
	if (plan->role == TIMELINE_PLAIN && !plan_call(p, c))
		plan_pair(p, c);
	if (!plan->name_size)
		plan->name_size = (uint32_t)strlen(plan->name);
	plan_given(p, c, o, n_classes);
}

struct timeline_plan *timeline_plan(const struct pass *r, const struct timeline_options *o)
{
	size_t n = trace_n_classes(r->trace) + (size_t)1;
	struct planning p = { .classes = calloc(n, sizeof *p.classes),
			      .plans = calloc(n, sizeof *p.plans) };

	if (p.classes && p.plans) {
		pass_each_class(r, add_class, &p);
		qsort(p.classes, p.n, sizeof *p.classes, by_name);
		for (uint32_t i = 0; i < p.n; i++)
			plan_class(&p, &p.classes[i], o, (uint32_t)n);
	} else {
		free(p.plans);
		p.plans = NULL;
	}
	free(p.classes);
	return p.plans;
}
