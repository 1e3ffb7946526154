/* SPDX-License-Identifier: MIT */
/*
 * ui/index/spans.c - events as points, and pairs of an application's events as spans.
 *
 * The pairs are those of analysis/timeline, so the page and exports agree.  Spans of a thread nest: an
 * end closes the innermost span of its pair and all spans inside that.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ui/index/build.h"

static const struct {
	const char *begin; /* of the names of the kernel's events */
	enum class_is is;
} known[] = {
	{ "syscall_entry_", CLASS_ENTRY },
	{ "syscall_exit_", CLASS_EXIT },
	{ "compat_syscall_entry_", CLASS_ENTRY },
	{ "compat_syscall_exit_", CLASS_EXIT },
	{ "sched_switch", CLASS_SHOWN },
	{ "sched_wak", CLASS_SHOWN },
	{ "irq_", CLASS_SHOWN },
	{ "x86_irq_vectors_", CLASS_SHOWN },
	{ "lttng_statedump_", CLASS_HIDDEN },
	{ "profile", CLASS_SAMPLE },
	{ "counter_", CLASS_TALLY },
	{ "block_rq_issue", CLASS_BLOCK_ISSUE },
	{ "block_rq_complete", CLASS_BLOCK_COMPLETE },
	{ "power_cpu_frequency", CLASS_COUNTER },
	{ "cpu_frequency", CLASS_COUNTER },
};

int build_name(struct builder *b, struct built_class *c)
{
	int64_t number = c->name ? c->name - 1 : build_text(b, c->text, c->text_size);

	if (number < 0)
		return (int)number;
	c->name = (uint32_t)number + 1;
	return 0;
}

/* A call's name is in that of its events: syscall_entry_open, compat_syscall_exit_open. */
static void name_class(struct built_class *c, const struct ctf_event_class *class)
{
	const char *name = class->name;

	if (c->is == CLASS_ENTRY || c->is == CLASS_EXIT)
		name = strstr(name, c->is == CLASS_ENTRY ? "_entry_" : "_exit_") +
		       (c->is == CLASS_ENTRY ? 7 : 6);
	c->text = name;
	c->text_size = strlen(name);
}

/* The kind of event, and the fields that are read. */
static enum class_is kernel_class(struct built_class *c, const struct ctf_event_class *class)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (strncmp(class->name, known[i].begin, strlen(known[i].begin)) != 0)
			continue;
		if (known[i].is == CLASS_BLOCK_ISSUE || known[i].is == CLASS_BLOCK_COMPLETE) {
			c->field[0] = ctf_class_find(class, CTF_PAYLOAD, "dev");
			c->field[1] = ctf_class_find(class, CTF_PAYLOAD, "sector");
		} else if (known[i].is == CLASS_COUNTER) {
			c->field[0] = ctf_class_find(class, CTF_PAYLOAD, "state");
			c->field[1] = ctf_class_find(class, CTF_PAYLOAD, "cpu_id");
		} else if (known[i].is == CLASS_TALLY) {
			c->field[0] = ctf_class_find(class, CTF_PAYLOAD, "count");
		} else if (known[i].is == CLASS_EXIT) {
			c->field[0] = ctf_class_find(class, CTF_PAYLOAD, "ret");
		}
		return known[i].is;
	}
	return CLASS_POINT;
}

/* The first number whose name is that of a level: such an event is a counter too. */
static const struct ctf_op *level_of(const struct ctf_event_class *c)
{
	static const char *const levels[] = { "level", "value",	 "depth",   "used",
					      "free",  "queued", "pending", "total" };

	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
		const struct ctf_op *op = ctf_class_find(c, CTF_PAYLOAD, levels[i]);

		if (op && (op->code == OP_LEB128 ||
			   (op->code == OP_NUMBER && op->type->kind != CTF_FLOAT)))
			return op;
	}
	return NULL;
}

static bool is_hidden(const char *name)
{
	return !strncmp(name, "lttng_ust_statedump:", 20) || !strncmp(name, "duet_calls", 10);
}

static void plan_class(void *context, const struct trace_source *s, const struct ctf_event_class *c,
		       uint32_t number)
{
	struct builder *b = context;
	struct built_class *class = &b->classes[number];

	if (number < b->n_classes && class->is != CLASS_POINT && class->is != CLASS_LEVEL)
		return; /* known before; but a point may have found the other half of a pair */
	if (s->domain == TRACE_KERNEL)
		class->is = kernel_class(class, c);
	else if (is_hidden(c->name))
		class->is = CLASS_HIDDEN;
	else if (b->plans[number].role == TIMELINE_OPENS ||
		 b->plans[number].role == TIMELINE_CLOSES)
		class->is = CLASS_SPAN;
	else if ((class->field[0] = level_of(c)))
		class->is = CLASS_LEVEL;
	class->name = 0;
	name_class(class, c);
	if (class->is == CLASS_SPAN) {
		class->text = b->plans[number].name;
		class->text_size = b->plans[number].name_size;
	}
}

int build_classes(struct builder *b)
{
	static const struct timeline_options none;
	uint32_t n = trace_n_classes(b->trace);
	struct timeline_plan *plans;

	if (b->plans && n == b->n_classes)
		return 0;
	plans = timeline_plan(b->pass, &none);
	if (!plans || pass_grow(&b->classes, &b->n_class_rooms, n, sizeof *b->classes)) {
		free(plans);
		return -ENOMEM;
	}
	free(b->plans);
	b->plans = plans;
	pass_each_class(b->pass, plan_class, b);
	b->n_classes = n;
	return 0;
}

int build_point(struct builder *b, const struct trace_event *e, uint32_t thread)
{
	struct built_class *c = &b->classes[trace_class_number(e)];
	struct built_thread *t = &b->threads[thread];
	bool is_sample = c->is == CLASS_SAMPLE;
	uint32_t *track = is_sample ? &t->samples : &t->events;
	int err = build_name(b, c);

	if (!err)
		err = build_track(b, track, t->row - 1,
				  is_sample ? UI_TRACK_SAMPLES : UI_TRACK_EVENTS, 0);
	if (err)
		return err;
	err = write_add(b, &b->writers[*track - 1], b->now_ns, b->now_ns, c->name - 1, 0);
	return err == -EFBIG ? 0 : err;
}

static int open_span(struct builder *b, struct built_thread *t, const struct timeline_plan *p,
		     struct built_class *c)
{
	int err = build_name(b, c);

	if (err || t->n_open == SPANS_DEEPEST)
		return err;
	err = build_track(b, &t->spans[t->n_open], t->row - 1, UI_TRACK_SPANS, (uint8_t)t->n_open);
	if (err)
		return err;
	t->open[t->n_open] = p->pair;
	return write_begin(b, &b->writers[t->spans[t->n_open++] - 1], b->now_ns, c->name - 1);
}

static int close_span(struct builder *b, struct built_thread *t, const struct timeline_plan *p)
{
	uint32_t depth = t->n_open;
	int err = 0;

	while (depth && t->open[depth - 1] != p->pair)
		depth--;
	for (; depth && t->n_open >= depth && !err; t->n_open--)
		err = write_end(b, &b->writers[t->spans[t->n_open - 1] - 1], b->now_ns, 0);
	return err;
}

int build_span(struct builder *b, const struct trace_event *e, uint32_t thread)
{
	uint32_t number = trace_class_number(e);
	const struct timeline_plan *p = &b->plans[number];
	struct built_class *c = &b->classes[number];

	switch (c->is) {
	case CLASS_SPAN:
		return p->role == TIMELINE_OPENS ? open_span(b, &b->threads[thread], p, c)
						 : close_span(b, &b->threads[thread], p);
	case CLASS_ENTRY:
	case CLASS_EXIT:
		return build_call(b, e, thread);
	case CLASS_POINT:
	case CLASS_TALLY:
	case CLASS_LEVEL:
	case CLASS_SAMPLE:
		return build_point(b, e, thread);
	}
	return 0;
}
