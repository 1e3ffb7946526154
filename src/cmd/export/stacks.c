/* SPDX-License-Identifier: MIT */
/* cmd/export/stacks.c - `duet export folded` and `speedscope`, and the reading of stacks for all
 * formats. */
#include "cmd/export/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/print/print.h"
#include "cmd/progress.h"

static int on_event(void *context, const struct trace_event *e, const struct thread_identity *w)
{
	return stacks_on_event(context, e, w);
}

static enum stacks_weight weight_of(const char *name)
{
	if (!name)
		return STACKS_ONE;
	return !strcmp(name, "time")	  ? STACKS_TIME
	       : !strcmp(name, "off-cpu") ? STACKS_OFF_CPU
					  : STACKS_FIELD;
}

static bool is_ns(const struct export *x)
{
	enum stacks_weight w = weight_of(x->weight);

	return w == STACKS_TIME || w == STACKS_OFF_CPU;
}

/* Reads the recording once more, because its threads are known at its end. */
static int find_own(struct export *x, struct stacks_own **own, struct diag *d)
{
	struct trace_options quiet = { .warn = export_ignore_warning };
	struct trace *first = NULL;
	int err;

	if (!stacks_own_is_needed(x->trace))
		return 0;
	progress_hook(&quiet);
	err = trace_open(&first, x->paths, x->n_paths, &quiet, d);
	if (!err)
		progress_also(first);
	if (!err)
		err = stacks_own_open(own, first, d);
	trace_close(first);
	return err;
}

/* A recording may have stacks of samples and of switches; one graph shows one of them. */
static void choose(struct export *x, const struct stacks *s)
{
	enum stacks_weight weight = weight_of(x->weight);

	if (!s->has_samples || !s->has_others)
		return;
	x->drawn = weight == STACKS_OFF_CPU		    ? "time off the CPU, from switches"
		   : weight == STACKS_ONE && !x->n_patterns ? "samples"
							    : NULL;
	print_err("duet export: drawn: %s\n",
		  !x->drawn		     ? "samples and call stacks of other events together"
		  : weight == STACKS_OFF_CPU ? "time off the CPU, from switches; not the samples"
					     : "samples; not the call stacks of other events: "
					       "--weight off-cpu, or -e EVENT");
}

static void report_left_out(const struct stacks *s)
{
	if (s->n_foreign)
		print_err("duet export: not shown: %" PRIu64
			  " call stacks of threads that the recording does not follow\n",
			  s->n_foreign);
	if (s->n_repeating)
		print_err("duet export: cut at [repeats]: %" PRIu64
			  " call stacks without an end, whose frame pointers go in a circle\n",
			  s->n_repeating);
}

int export_stacks(struct export *x, struct stacks *s, bool keeps_samples, struct diag *d)
{
	struct stacks_own *own = NULL;
	struct stacks_options o = { .trace = x->trace,
				    .paths = x->paths,
				    .n_paths = x->n_paths,
				    .weight = weight_of(x->weight),
				    .field = x->weight,
				    .keeps_samples = keeps_samples,
				    .samples_alone =
					    weight_of(x->weight) == STACKS_ONE && !x->n_patterns };
	int err;

	if (export_has_calls(x))
		return export_call_stacks(x, s, keeps_samples, d);
	*s = (struct stacks){ 0 };
	err = find_own(x, &own, d);
	o.own = own;
	if (!err)
		err = stacks_init(s, &o, d);
	if (!err)
		choose(x, s);
	if (s->is_graph)
		x->weight = "time"; /* switches weigh their time off the CPU */
	if (!err)
		err = export_each(x, on_event, NULL, s, d);
	stacks_own_close(own);
	if (!err)
		report_left_out(s);
	if (!err && !s->n_samples && s->n_unweighted)
		err = diag_fail(d, -ENODATA,
				"--weight %s: no event with a call stack has such a number\n"
				"  it is the name of a field, time or off-cpu",
				x->weight);
	else if (!err && !s->n_samples && x->drawn && s->has_others)
		err = diag_fail(d, -ENODATA,
				"nothing is drawn: %s, and there are none\n"
				"  other events have call stacks: -e EVENT chooses them",
				x->drawn);
	else if (!err && !s->n_samples)
		err = diag_fail(d, -ENODATA,
				"no selected event has a call stack\n"
				"  `duet record -c callstack` records them with events of "
				"applications, -k profile:99 samples them, "
				"-k stack:sched_switch records them with events of the kernel");
	return err;
}

uint32_t export_path(const struct stacks *s, uint32_t node, uint32_t *path)
{
	uint32_t n = 0, at = node, i;

	for (; at != STACKS_ROOT && n < EXPORT_DEPTH_MAX; at = s->nodes[at].parent)
		n++;
	for (at = node, i = n; i; at = s->nodes[at].parent)
		path[--i] = at;
	return n;
}

const char *export_unit(const struct export *x)
{
	return !x->weight ? "" : is_ns(x) ? "ns" : x->weight;
}

/* Replaces the separators of the format in a name. */
static void add_folded_name(struct out *o, const char *s)
{
	for (; *s; s++) {
		out_room(o);
		out_byte(o, *s == ';' ? ':' : (unsigned char)*s < ' ' ? ' ' : *s);
	}
}

int export_folded(struct export *x, struct diag *d)
{
	uint32_t path[EXPORT_DEPTH_MAX];
	struct stacks s;
	int err = export_stacks(x, &s, false, d);

	for (uint32_t i = 1; i < s.n_nodes && !err; i++) {
		uint32_t n = s.nodes[i].self ? export_path(&s, i, path) : 0;

		for (uint32_t k = 0; k < n; k++) {
			if (k)
				out_byte(&x->out, ';');
			add_folded_name(&x->out, s.frames[s.nodes[path[k]].frame]);
		}
		if (!n)
			continue;
		out_byte(&x->out, ' ');
		out_u64(&x->out, s.nodes[i].self);
		out_byte(&x->out, '\n');
	}
	stacks_fini(&s);
	return err;
}

/* ---------------------------------------------------------------- speedscope */

static void add_frames(struct out *o, const struct stacks *s)
{
	out_literal(o, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
		       "\"exporter\":\"duet " DUET_VERSION "\",\"shared\":{\"frames\":[");
	for (uint32_t i = 0; i < s->n_frames; i++) {
		out_room(o);
		if (i)
			out_literal(o, ",\n");
		out_literal(o, "{\"name\":");
		out_json(o, s->frames[i], strlen(s->frames[i]));
		out_byte(o, '}');
	}
	out_literal(o, "]},\n\"profiles\":[");
}

/* Adds the stack without its first frame, the program: the profile has that name. */
static void add_sample(struct out *o, const struct stacks *s, uint32_t node)
{
	uint32_t path[EXPORT_DEPTH_MAX], n = export_path(s, node, path);

	out_byte(o, '[');
	for (uint32_t k = 1; k < n; k++) {
		out_room(o);
		if (k > 1)
			out_byte(o, ',');
		out_u64(o, s->nodes[path[k]].frame);
	}
	out_byte(o, ']');
}

static void add_profile(struct out *o, const struct stacks *s, const struct stacks_thread *t,
			const char *unit)
{
	char name[64];
	uint64_t sum = 0;

	snprintf(name, sizeof name, "%.*s:%lld", t->name_size, t->name, (long long)t->tid);
	for (uint32_t i = 0; i < t->n_samples; i++)
		sum += t->samples[i].weight;
	out_literal(o, "{\"type\":\"sampled\",\"name\":");
	out_json(o, name, strlen(name));
	out_literal(o, ",\"unit\":\"");
	out_bytes(o, unit, strlen(unit));
	out_literal(o, "\",\"startValue\":0,\"endValue\":");
	out_u64(o, sum);
	out_literal(o, ",\"samples\":[");
	for (uint32_t i = 0; i < t->n_samples; i++) {
		out_room(o);
		if (i)
			out_literal(o, ",\n");
		add_sample(o, s, t->samples[i].node);
	}
	out_literal(o, "],\n\"weights\":[");
	for (uint32_t i = 0; i < t->n_samples; i++) {
		out_room(o);
		if (i)
			out_byte(o, ',');
		out_u64(o, t->samples[i].weight);
	}
	out_literal(o, "]}");
}

int export_speedscope(struct export *x, struct diag *d)
{
	const char *unit = !x->weight			? "none"
			   : is_ns(x)			? "nanoseconds"
			   : !strcmp(x->weight, "size") ? "bytes"
							: "none";
	struct stacks s;
	int err = export_stacks(x, &s, true, d);

	if (!err)
		add_frames(&x->out, &s);
	for (uint32_t i = 0; i < s.n_threads && !err; i++) {
		out_room(&x->out);
		if (i)
			out_literal(&x->out, ",\n");
		add_profile(&x->out, &s, &s.threads[i], unit);
	}
	if (!err)
		out_literal(&x->out, "]}\n");
	stacks_fini(&s);
	return err;
}
