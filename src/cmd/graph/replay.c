/* SPDX-License-Identifier: MIT */
/*
 * cmd/graph/replay.c - `duet graph`: calls and events as indented lines, in the order of time.
 *
 * Each thread has its lines (cmd/graph/lines.h); a thread that runs on several stacks has them for
 * each stack.  What the kernel recorded lies in the innermost function that was open.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/graph/graph.h"
#include "cmd/graph/lines.h"
#include "cmd/pager.h"
#include "cmd/print/print.h"
#include "cmd/progress.h"
#include "trace/text/public.h"
#include "rules/pattern.h"
#include "trace/filter/match.h"

struct replay {
	struct graph *g;
	struct fcalls_walk *walk;
	struct threads *threads; /* of the walk */
	struct out out;
	struct lines lines;
	struct stack_lines { /* of a thread on a stack */
		struct lines_thread lines;
		uint32_t stack, next; /* of the same thread, plus 1 */
	} * stacks;
	uint32_t n_stacks, n_stack_rooms;
	struct thread_state {
		uint32_t first; /* of its stacks, plus 1 */
		uint32_t stack; /* that ran last */
		bool skips_end; /* the next end is shown already */
		int32_t pid;	/* plus 1; 0: not known yet */
	} * states;
	uint32_t n_states;
	bool *is_wanted; /* by class number */
	struct match *match;
	struct view_texts texts;
	struct out text_out; /* into `text` */
	struct text text;
	uint64_t lost_events, lost_packets;
};

/* ---------------------------------------------------------------- threads */

static bool is_program(const struct replay *r, uint32_t number)
{
	const char *wanted = r->g->program;
	const struct thread *t = threads_at(r->threads, number);
	int64_t leader = threads_process(r->threads, number);

	if (pattern_glob(wanted, wanted + strlen(wanted), t->name, t->name + t->name_size))
		return true;
	t = threads_at(r->threads, leader > 0 ? (uint32_t)leader : number);
	return pattern_glob(wanted, wanted + strlen(wanted), t->name, t->name + t->name_size);
}

/* The process of a thread, as its events or its calls name it. */
static int32_t pid_of(struct replay *r, uint32_t number)
{
	const struct thread *t = threads_at(r->threads, number);
	struct thread_state *state;
	int32_t pid = t->tid;

	if (t->pid >= 0)
		return t->pid;
	if (pass_grow(&r->states, &r->n_states, number, sizeof *r->states))
		return pid;
	state = &r->states[number];
	for (uint32_t i = 0; !state->pid && i < fcalls_n_threads(r->g->calls); i++) {
		const struct fcalls_thread *f = fcalls_thread(r->g->calls, i);

		if (f->tid == t->tid)
			pid = (int32_t)fcalls_process(r->g->calls, f->process)->pid;
	}
	if (!state->pid)
		state->pid = pid + 1;
	return state->pid - 1;
}

static bool is_shown(struct replay *r, uint32_t number)
{
	if (r->g->tid && threads_at(r->threads, number)->tid != r->g->tid)
		return false;
	if (r->g->pid && pid_of(r, number) != r->g->pid)
		return false;
	return !r->g->program || is_program(r, number);
}

static void name_thread(struct replay *r, struct lines_thread *l, uint32_t number, uint32_t stack)
{
	int32_t tid = threads_at(r->threads, number)->tid;

	if (number == THREAD_UNKNOWN)
		snprintf(l->who, sizeof l->who, "[?]");
	else if (!tid)
		snprintf(l->who, sizeof l->who, "[idle]");
	else if (stack)
		snprintf(l->who, sizeof l->who, "[%d.%d/%u]", pid_of(r, number), tid, stack);
	else
		snprintf(l->who, sizeof l->who, "[%d.%d]", pid_of(r, number), tid);
	l->color = number;
}

/* The lines of a thread on a stack; NULL: no memory. */
static struct lines_thread *lines_of(struct replay *r, uint32_t thread, uint32_t stack)
{
	uint32_t i;

	if (pass_grow(&r->states, &r->n_states, thread, sizeof *r->states))
		return NULL;
	r->states[thread].stack = stack;
	for (i = r->states[thread].first; i && r->stacks[i - 1].stack != stack;
	     i = r->stacks[i - 1].next)
		;
	if (i)
		return &r->stacks[i - 1].lines;
	if (pass_grow(&r->stacks, &r->n_stack_rooms, r->n_stacks, sizeof *r->stacks))
		return NULL;
	i = r->n_stacks++;
	r->stacks[i].stack = stack;
	r->stacks[i].next = r->states[thread].first;
	r->states[thread].first = i + 1;
	name_thread(r, &r->stacks[i].lines, thread, stack);
	return &r->stacks[i].lines;
}

static uint32_t stack_of(const struct replay *r, const struct fcalls_item *item)
{
	if (item->kind == FCALLS_FUNCTION && item->is != FCALLS_EVENT)
		return item->stack;
	return item->thread < r->n_states ? r->states[item->thread].stack : 0;
}

/* ---------------------------------------------------------------- lines */

static unsigned marks_of(const struct fcalls_item *item)
{
	return (item->flags & FCALLS_OPEN ? LINES_OPEN : 0u) |
	       (item->flags & FCALLS_UNWOUND ? LINES_UNWOUND : 0u) |
	       (item->flags & FCALLS_HEADLESS ? LINES_BEFORE : 0u);
}

static enum lines_kind kind_of(const struct fcalls_item *item)
{
	return item->kind == FCALLS_SYSCALL ? LINES_SYSCALL
	       : item->kind == FCALLS_IRQ   ? LINES_IRQ
					    : LINES_FUNCTION;
}

static int begin(struct replay *r, struct lines_thread *t, const struct fcalls_item *item)
{
	struct lines_call c = {
		.name = item->name,
		.name_size = (uint32_t)strlen(item->name),
		.kind = kind_of(item),
		.marks = item->begin_ns < item->time_ns ? LINES_BEFORE : 0,
		.time_ns = item->begin_ns,
		.duration_ns = item->end_ns == INT64_MAX || item->kind != FCALLS_FUNCTION
				       ? -1
				       : item->end_ns - item->begin_ns,
	};

	return lines_begin(&r->lines, t, &c);
}

static void add_shown(struct text *to, const char *before, const char *name)
{
	text_addf(to, "%s", before);
	text_add_printable(to, name, strlen(name));
}

/* A wait, or a delay, has one line, at its end. */
static int show_span(struct replay *r, struct lines_thread *t, const struct fcalls_item *item)
{
	int64_t ns = item->time_ns - item->begin_ns;
	struct text *text = &r->text;
	char name[48];

	text->size = 0;
	if (item->kind == FCALLS_DELAY)
		text_addf(text, "waited for a CPU");
	else
		text_addf(text, "blocked");
	if (item->kind != FCALLS_DELAY && item->why && *item->why)
		add_shown(text, ": ", item->why);
	if (item->kind == FCALLS_WAIT && item->waker)
		add_shown(text, ", woken by ", thread_text(r->threads, item->waker, name));
	else if (item->kind == FCALLS_WAIT && item->cause && *item->cause)
		add_shown(text, ", woken by ", item->cause);
	if (item->flags & FCALLS_OPEN)
		text_addf(text, ", until the end");
	return text->failed ? -ENOMEM : lines_note(&r->lines, t, ns, text->bytes, text->size);
}

/* Of a kernel function only the end may be recorded: then both items come from its event, and the
 * begin is shown in front of calls that ended before. */
static bool is_end_alone(const struct fcalls_item *item)
{
	return item->kind == FCALLS_KERNEL_FUNCTION && item->is == FCALLS_ENTER && item->event &&
	       !strcmp(item->event->ctf->class->name, "funcgraph_exit");
}

static int show_end_alone(struct replay *r, struct lines_thread *t, const struct fcalls_item *item)
{
	const struct ctf_event_class *class = item->event->ctf->class;
	struct lines_call c = { .name = item->name,
				.name_size = (uint32_t)strlen(item->name),
				.kind = LINES_FUNCTION };

	c.duration_ns = pass_number(item->event, ctf_class_find(class, CTF_PAYLOAD, "duration"), 0);
	if (c.duration_ns < 0)
		c.duration_ns = 0;
	r->states[item->thread].skips_end = true;
	return lines_ended(
		&r->lines, t, &c,
		pass_number(item->event, ctf_class_find(class, CTF_PAYLOAD, "depth"), 0));
}

/* The event as `duet view` prints it, without columns. */
static int show_fields(struct replay *r, struct lines_thread *t, const struct trace_event *e,
		       const struct thread_identity *w)
{
	size_t n;

	r->text.size = 0;
	view_text(&r->text_out, &r->texts, e, w);
	out_flush(&r->text_out);
	if (r->text.failed)
		return -ENOMEM;
	n = r->text.size && r->text.bytes[r->text.size - 1] == '\n' ? r->text.size - 1
								    : r->text.size;
	for (char *end = r->text.bytes;
	     (end = memmem(end, (size_t)(r->text.bytes + n - end), "*/", 2));)
		*end = '.'; /* it would end the comment */
	return lines_note(&r->lines, t, -1, r->text.bytes, n);
}

static int show_event(struct replay *r, const struct fcalls_item *item)
{
	const struct trace_event *e = item->event;
	const struct thread *th = threads_at(r->threads, item->thread);
	struct thread_identity w = { .name = th->name,
				     .size = th->name_size,
				     .pid = th->pid,
				     .tid = th->tid,
				     .vpid = th->pid,
				     .vtid = th->tid };
	struct lines_thread *t;

	if (!is_shown(r, item->thread))
		return 0;
	if (item->is_span || r->g->has_no_events || !r->is_wanted[trace_class_number(e)] ||
	    (r->match && !match_event(r->match, e, &w)))
		return 0;
	t = lines_of(r, item->thread, stack_of(r, item));
	return t ? show_fields(r, t, e, &w) : -ENOMEM;
}

static int show(struct replay *r, const struct fcalls_item *item)
{
	struct lines_thread *t;

	if (item->is == FCALLS_LOST) {
		r->lost_events += item->event->lost_events;
		r->lost_packets += item->event->lost_packets;
		view_text_lost(&r->out, &r->texts, item->event);
		return 0;
	}
	if (item->is == FCALLS_EVENT)
		return show_event(r, item);
	if (!is_shown(r, item->thread))
		return 0;
	t = lines_of(r, item->thread, stack_of(r, item));
	if (!t)
		return -ENOMEM;
	if (item->kind == FCALLS_WAIT || item->kind == FCALLS_DELAY)
		return item->is == FCALLS_LEAVE ? show_span(r, t, item) : 0;
	if (is_end_alone(item))
		return show_end_alone(r, t, item);
	if (item->is == FCALLS_ENTER)
		return begin(r, t, item);
	if (r->states[item->thread].skips_end) {
		r->states[item->thread].skips_end = false;
		return 0;
	}
	return lines_end(&r->lines, t, item->time_ns, marks_of(item));
}

static int show_all(struct replay *r, struct diag *d)
{
	struct fcalls_item item;
	int is = FCALLS_END, err = 0;

	while (!err && !r->lines.is_full && !r->out.is_over &&
	       (is = fcalls_walk_next(r->walk, &item, d)) > 0) {
		if (progress_is_stopped())
			return diag_fail(d, -EINTR, "interrupted");
		err = show(r, &item);
	}
	if (is < 0)
		return is;
	for (uint32_t i = 0; i < r->n_stacks && !err; i++)
		err = lines_finish(&r->lines, &r->stacks[i].lines);
	return err ? diag_fail(d, err, "no memory") : 0;
}

/* ---------------------------------------------------------------- the command */

static int select_events(struct replay *r, struct diag *d)
{
	struct trace *t = r->g->trace;
	const char *missing;

	r->is_wanted = calloc(trace_n_classes(t) + (size_t)1, sizeof *r->is_wanted);
	if (!r->is_wanted)
		return diag_fail(d, -ENOMEM, "no memory");
	if (!r->g->n_patterns)
		selection_mark_default(t, r->is_wanted);
	missing = selection_mark_all(t, r->g->patterns, r->g->n_patterns, r->is_wanted);
	if (missing)
		return selection_refuse(t, missing, d);
	return r->g->filter ? match_open(&r->match, t, r->g->filter, r->is_wanted, d) : 0;
}

static int open_all(struct replay *r, struct diag *d)
{
	struct graph *g = r->g;
	const struct fcalls_options o = graph_selection(g);
	int err = select_events(r, d);

	r->texts.style.columns = VIEW_COLUMN_FIELDS;
	if (!err)
		err = addresses_open(&r->texts.symbols, g->paths, g->n_paths, d);
	if (!err)
		err = view_templates_open(&r->texts.templates, trace_n_classes(g->trace),
					  r->texts.style.name, r->texts.style.plain);
	if (!err)
		err = out_init(&r->out, STDOUT_FILENO);
	if (!err)
		err = out_init(&r->text_out, -1);
	r->text_out.text = &r->text;
	if (!err)
		err = fcalls_walk_open(&r->walk, g->calls, &o, d);
	if (!err)
		r->threads = fcalls_walk_pass(r->walk)->threads;
	r->lines = (struct lines){ .out = &r->out,
				   .over_ns = g->over_ns,
				   .depth = g->depth,
				   .limit = g->limit,
				   .is_full = !g->limit,
				   .has_colors = *r->texts.style.plain,
				   .has_columns = g->has_columns };
	return err;
}

static void close_all(struct replay *r)
{
	for (uint32_t i = 0; i < r->n_stacks; i++)
		lines_free(&r->stacks[i].lines);
	free(r->stacks);
	free(r->states);
	free(r->is_wanted);
	match_close(r->match);
	addresses_close(r->texts.symbols);
	view_templates_close(&r->texts.templates);
	out_fini(&r->text_out);
	out_fini(&r->out);
	text_fini(&r->text);
	fcalls_walk_close(r->walk);
}

static void report_missing(const struct replay *r)
{
	char text[160];

	if (r->lost_events || r->lost_packets)
		print_err("duet graph: %s lost while recording; larger or more buffers keep more\n",
			  cmd_lost_text(r->lost_events, r->lost_packets, text));
	if (r->lines.n_short)
		print_err("duet graph: not shown: %s that were too short or too deep\n",
			  cmd_count_text(r->lines.n_short, "call", text));
	graph_notes_text(r->g);
}

int graph_replay(struct graph *g)
{
	struct replay r = { .g = g, .texts.style = VIEW_STYLE_DEFAULT };
	struct diag d = { "no memory" };
	int err;

	if (!view_style_color(&r.texts.style, g->color))
		return CMD_FAILED;
	err = open_all(&r, &d);
	if (!err) {
		if (!g->has_no_pager)
			pager_open();
		if (!isatty(STDOUT_FILENO))
			progress_begin("graph", g->trace);
		out_literal(&r.out, "#   DURATION   PROCESS.THREAD | FUNCTION\n");
		err = show_all(&r, &d);
		progress_end();
		out_flush(&r.out);
		pager_close();
	}
	if (!err && r.out.err)
		err = diag_fail(&d, r.out.err, "cannot write: %s", strerror(-r.out.err));
	if (!err)
		report_missing(&r);
	close_all(&r);
	return err ? cmd_error("graph", "%s", d.text) : 0;
}
