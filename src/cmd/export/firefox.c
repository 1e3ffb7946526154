/* SPDX-License-Identifier: MIT */
/*
 * cmd/export/firefox.c - `duet export firefox`: call stacks in the Gecko profile format, version
 * 27.
 *
 * profiler.firefox.com reads this version and upgrades it.  Tables are rows under a schema of
 * columns.  Each thread has its own tables and numbers of stacks; a stack is a frame on
 * top of another stack.  Times are milliseconds since the first event.
 */
#include <errno.h>
#include <stdlib.h>

#include "cmd/export/span.h"
#include "cmd/export/stacks.h"

struct firefox {
	struct out *o;
	const struct stacks *s;
	uint32_t *stack_of;	   /* by node, for the current thread: its stack number plus 1 */
	uint32_t *frame_of;	   /* by frame: the same */
	uint32_t *stacks, *frames; /* in the order of their numbers */
	uint32_t n_stacks, n_frames;
	int64_t begin_ns;
};

static void add_ms(struct out *o, int64_t ns)
{
	if (ns < 0)
		out_byte(o, '-');
	ns = span_ns(ns < 0 ? ns : 0, ns < 0 ? 0 : ns);
	out_i64(o, ns / 1000000);
	out_byte(o, '.');
	for (int64_t unit = 100000; unit; unit /= 10)
		out_byte(o, (char)('0' + ns / unit % 10));
}

/* Numbers the stacks of the thread, callers first. */
static void number_stack(struct firefox *f, uint32_t node)
{
	uint32_t path[EXPORT_DEPTH_MAX], n = export_path(f->s, node, path);

	for (uint32_t k = 1; k < n; k++) { /* the first frame is the program */
		uint32_t frame = f->s->nodes[path[k]].frame;

		if (f->stack_of[path[k]])
			continue;
		f->stacks[f->n_stacks++] = path[k];
		f->stack_of[path[k]] = f->n_stacks;
		if (f->frame_of[frame])
			continue;
		f->frames[f->n_frames++] = frame;
		f->frame_of[frame] = f->n_frames;
	}
}

static void add_samples(struct firefox *f, const struct stacks_thread *t)
{
	struct out *o = f->o;

	out_literal(o, ",\"samples\":{\"schema\":{\"stack\":0,\"time\":1,\"responsiveness\":2},"
		       "\"data\":[");
	for (uint32_t i = 0; i < t->n_samples; i++) {
		uint32_t stack = f->stack_of[t->samples[i].node];

		out_room(o);
		out_bytes(o, i ? ",\n[" : "[", i ? 3 : 1);
		if (stack)
			out_u64(o, stack - 1);
		else
			out_literal(o, "null");
		out_byte(o, ',');
		add_ms(o, span_ns(f->begin_ns, t->samples[i].time_ns));
		out_literal(o, ",0]");
	}
	out_literal(o, "]}");
}

static void add_tables(struct firefox *f)
{
	struct out *o = f->o;

	out_literal(o, ",\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},\"data\":[");
	for (uint32_t i = 0; i < f->n_stacks; i++) {
		const struct stacks_node *n = &f->s->nodes[f->stacks[i]];
		uint32_t below = f->stack_of[n->parent];

		out_room(o);
		out_bytes(o, i ? ",\n[" : "[", i ? 3 : 1);
		if (below)
			out_u64(o, below - 1);
		else
			out_literal(o, "null");
		out_byte(o, ',');
		out_u64(o, f->frame_of[n->frame] - 1);
		out_byte(o, ']');
	}
	out_literal(o, "]},\"frameTable\":{\"schema\":{\"location\":0,\"relevantForJS\":1,"
		       "\"innerWindowID\":2,"
		       "\"implementation\":3,\"line\":4,\"column\":5,\"category\":6,"
		       "\"subcategory\":7},\"data\":[");
	for (uint32_t i = 0; i < f->n_frames; i++) {
		out_room(o);
		out_bytes(o, i ? ",\n[" : "[", i ? 3 : 1);
		out_u64(o, i); /* index of its name in the table below */
		out_literal(o, ",false,0,null,null,null,0,null]");
	}
	out_literal(o, "]},\"stringTable\":[");
	for (uint32_t i = 0; i < f->n_frames; i++) {
		const char *name = f->s->frames[f->frames[i]];

		out_room(o);
		if (i)
			out_literal(o, ",\n");
		out_json(o, name, strlen(name));
	}
	out_byte(o, ']');
}

/* Returns the thread that names the process: its first thread, if that has samples. */
static const struct stacks_thread *first_of(const struct firefox *f, const struct stacks_thread *t)
{
	for (uint32_t i = 0; i < f->s->n_threads; i++)
		if (f->s->threads[i].pid == t->pid && f->s->threads[i].tid == t->pid)
			return &f->s->threads[i];
	return t;
}

static void add_thread(struct firefox *f, const struct stacks_thread *t)
{
	const struct stacks_thread *process = first_of(f, t);
	struct out *o = f->o;

	memset(f->stack_of, 0, f->s->n_nodes * sizeof *f->stack_of);
	memset(f->frame_of, 0, f->s->n_frames * sizeof *f->frame_of);
	f->n_stacks = f->n_frames = 0;
	for (uint32_t i = 0; i < t->n_samples; i++)
		number_stack(f, t->samples[i].node);
	out_literal(o, "{\"name\":");
	out_json(o, t->name, t->name_size);
	out_literal(o, ",\"processName\":");
	out_json(o, process->name, process->name_size);
	out_literal(
		o,
		",\"processType\":\"default\",\"registerTime\":0,\"unregisterTime\":null,\"pid\":");
	out_i64(o, t->pid);
	out_literal(o, ",\"tid\":");
	out_i64(o, t->tid);
	out_literal(
		o, ",\"markers\":{\"schema\":{\"name\":0,\"startTime\":1,\"endTime\":2,\"phase\":3,"
		   "\"category\":4,\"data\":5},\"data\":[]}");
	add_samples(f, t);
	add_tables(f);
	out_byte(o, '}');
}

static void add_all(struct firefox *f)
{
	struct out *o = f->o;

	f->begin_ns = INT64_MAX;
	for (uint32_t i = 0; i < f->s->n_threads; i++)
		if (f->s->threads[i].n_samples && f->s->threads[i].samples[0].time_ns < f->begin_ns)
			f->begin_ns = f->s->threads[i].samples[0].time_ns;
	out_literal(o, "{\"meta\":{\"version\":27,\"interval\":1,\"processType\":0,\"product\":"
		       "\"duet\",\"stackwalk\":1,"
		       "\"debug\":0,\"gcpoison\":0,\"asyncstack\":0,\"presymbolicated\":true,"
		       "\"shutdownTime\":null,"
		       "\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":["
		       "\"Other\"]}],"
		       "\"markerSchema\":[],\"startTime\":");
	add_ms(o, f->begin_ns);
	out_literal(o, "},\"libs\":[],\"processes\":[],\"pausedRanges\":[],\"threads\":[");
	for (uint32_t i = 0; i < f->s->n_threads && !o->is_over; i++) {
		if (i)
			out_literal(o, ",\n");
		add_thread(f, &f->s->threads[i]);
	}
	out_literal(o, "]}\n");
}

int export_firefox(struct export *x, struct diag *d)
{
	struct stacks s;
	struct firefox f = { .o = &x->out, .s = &s };
	bool is_given = x->weight;
	int err = export_stacks(x, &s, true, d);

	if (!err) {
		f.stack_of = calloc(s.n_nodes + (size_t)1, sizeof *f.stack_of);
		f.stacks = calloc(s.n_nodes + (size_t)1, sizeof *f.stacks);
		f.frame_of = calloc(s.n_frames + (size_t)1, sizeof *f.frame_of);
		f.frames = calloc(s.n_frames + (size_t)1, sizeof *f.frames);
		if (!f.stack_of || !f.stacks || !f.frame_of || !f.frames)
			err = diag_fail(d, -ENOMEM, "no memory for call stacks");
	}
	if (!err && x->weight && (is_given || !export_has_calls(x)))
		err = diag_fail(
			d, -EINVAL,
			"firefox: its samples weigh the same; take speedscope for --weight");
	if (!err)
		add_all(&f);
	free(f.stack_of);
	free(f.stacks);
	free(f.frame_of);
	free(f.frames);
	stacks_fini(&s);
	return err;
}
