/* SPDX-License-Identifier: MIT */
/*
 * script/replay/source.c - the events of recordings, with frames, in the order of time.
 *
 * An item is read once.  Then each probe bound to its class gets a frame, in the order of the script.
 * If a handler wants the words of a system call, the items pass through the pairing of calls
 * (analysis/syscalls), as for `duet strace`.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "script/engine/times.h"
#include "script/replay/bind.h"

enum { REFRESH_MS = 20 };
static const struct bound_class no_class;

struct replay_source {
	struct script_source_of base; /* first */
	struct replay *r;
	const struct script_program *program;
	struct bound_class *classes; /* by number */
	uint32_t n_classes, n_class_rooms;
	bool has_words;
	struct pairing pairing; /* with words; else only `own` is used */
	struct pass own, *run;
	struct functions functions;
	bool is_function; /* the present event is a call */
	struct trace_event event;
	struct fill fill;
	struct entries *entries;
	int32_t *parents;
	uint32_t n_parents;
	uint32_t next;	     /* probe of the present event; behind the last: read another one */
	uint64_t lost, late; /* late: events left out so far, as later ones were given already */
	bool is_stopped, is_over;
	struct text argstr, retstr;
	struct script_frame *frame;
};

/* ---------------------------------------------------------------- words of system calls */

static bool wants_words(const struct replay_source *s, const struct script_probe *p)
{
	const struct replay_point *point = p->point.data;

	if (!replay_has(&s->r->world, &p->point) || (point->at != AT_ENTRY && point->at != AT_EXIT))
		return false;
	for (uint32_t i = 0; i < p->handler->n_slots; i++) {
		const struct replay_value *v = p->slots[i].data;

		if (v->kind == VALUE_ARGSTR || v->kind == VALUE_RETSTR)
			return true;
	}
	return false;
}

static bool on_call(void *context, const char *call)
{
	const struct replay_source *s = context;

	for (uint32_t i = 0; i < s->program->n_probes; i++) {
		const struct script_probe *p = s->program->probes[i];
		const struct replay_point *point = p->point.data;

		if (wants_words(s, p) && (!point->event || !strcmp(point->event, call)))
			return true;
	}
	return false;
}

/* Called at the exit of a call; the item's texts are valid only now. */
static int take_words(void *context, const struct pairing_item *item)
{
	struct replay_source *s = context;

	if (item->kind != PAIRING_CALL || !item->has_end)
		return 0;
	s->argstr.size = s->retstr.size = 0;
	text_addf(&s->argstr, "%s", item->text);
	text_addf(&s->retstr, "%s", item->result_text);
	return 0;
}

static int open_run(struct replay_source *s, struct diag *d)
{
	const struct pairing_options o = { .has_text = true,
					   .string_bytes = 32,
					   .command = -1,
					   .range = { INT64_MIN, INT64_MAX },
					   .wants = on_call,
					   .give = take_words,
					   .context = s };
	int err;

	for (uint32_t i = 0; i < s->program->n_probes; i++)
		s->has_words |= wants_words(s, s->program->probes[i]);
	err = functions_open(&s->functions, s->r, s->program, d);
	if (!err && s->has_words)
		err = pairing_open(&s->pairing, s->r->trace, &o, d);
	if (err)
		return err;
	s->run = s->functions.walk ? functions_pass(&s->functions)
		 : s->has_words	   ? &s->pairing.run
				   : &s->own;
	return s->run == &s->own ? pass_init(&s->own, s->r->trace, NULL, d) : 0;
}

/* ---------------------------------------------------------------- classes */

static int bind(struct replay_source *s, const struct trace_source *of,
		const struct ctf_event_class *c)
{
	struct bound_class *to = &s->classes[c->number];

	if (bind_class(to, s->r, s->program, s->r->by_class[c->number], c))
		return -ENOMEM;
	to->is_needed = to->n || to->n_kept || to->is_dump ||
			threads_learns_from(s->run->threads, of, c->number);
	return 0;
}

/* Binds the classes that appeared. */
static int learn(struct replay_source *s)
{
	uint32_t n;

	if (replay_learn(s->r))
		return -ENOMEM;
	n = s->r->n_classes;
	s->fill.class = &no_class; /* the table may move; the frames of the last event were given */
	if (!n || pass_grow(&s->classes, &s->n_class_rooms, n, sizeof *s->classes))
		return n ? -ENOMEM : 0;
	for (uint32_t i = 0; i < trace_n_sources(s->r->trace); i++)
		for (const struct ctf_event_class *c = trace_source(s->r->trace, i)->meta->events;
		     c; c = c->next)
			if (!s->classes[c->number].is_bound && s->r->by_class[c->number] &&
			    bind(s, trace_source(s->r->trace, i), c))
				return -ENOMEM;
	s->n_classes = n;
	return 0;
}

/* ---------------------------------------------------------------- events */

static int learn_parent(struct replay_source *s, const struct bound_class *c)
{
	int64_t tid = pass_number(&s->event, c->dump[0], -1);
	int64_t thread = threads_of(s->run->threads, &s->event, tid);

	if (thread <= 0)
		return thread < 0 ? -ENOMEM : 0;
	if (pass_grow(&s->parents, &s->n_parents, (uint32_t)thread, sizeof *s->parents))
		return -ENOMEM;
	s->parents[thread] = (int32_t)pass_number(&s->event, c->dump[1], 0);
	return 0;
}

static int pair(struct replay_source *s, const struct bound_class *c, uint32_t thread)
{
	int64_t number = thread;
	int err;

	/* Under a walk over calls the pairing has threads of its own. */
	if (s->functions.walk)
		number = threads_on_event(s->pairing.run.threads, &s->event);
	err = number < 0 ? (int)number : pairing_handle(&s->pairing, &s->event, (uint32_t)number);
	if (!err && c->n && c->at[0].point->at == AT_ENTRY)
		text_addf(&s->argstr, "%s", pairing_text(&s->pairing, (uint32_t)number));
	return err;
}

/* Takes the event that was read into hand. */
static int begin_event(struct replay_source *s, uint32_t thread)
{
	const struct bound_class *c =
		s->is_function ? &s->functions.class : &s->classes[trace_class_number(&s->event)];
	int err = 0;

	s->argstr.size = s->retstr.size = 0;
	if (s->has_words && !s->is_function)
		err = pair(s, c, thread);
	if (!err && c->is_dump)
		err = learn_parent(s, c);
	if (err)
		return err;
	s->fill.function = s->is_function ? functions_name(&s->functions) : NULL;
	s->next = s->event.time_ns < s->r->from_ns ? c->n : 0;
	if (!s->is_function)
		s->r->clock = s->event.clock;
	s->fill.class = c;
	s->fill.e = &s->event;
	s->fill.thread = thread;
	s->fill.threads = s->run->threads;
	s->fill.parents = s->parents;
	s->fill.n_parents = s->n_parents;
	s->fill.argstr = s->argstr.size ? s->argstr.bytes : "";
	s->fill.retstr = s->retstr.size ? s->retstr.bytes : "";
	return c->n_kept ? entries_keep(s->entries, &s->fill, c->kept, c->n_kept) : 0;
}

static int on_lost(struct replay_source *s)
{
	if (s->event.time_ns >= s->r->from_ns)
		s->lost += s->event.lost_events + s->event.lost_packets;
	return s->has_words ? pairing_handle_lost(&s->pairing, &s->event) : 0;
}

/* Classes have new numbers after trace_forget(): everything that is found by them is found anew. */
static int renumber(struct replay_source *s, const uint32_t *was, struct diag *d)
{
	int err = threads_renumber(s->run->threads, s->r->trace, was, d);

	s->fill.class = &no_class;
	for (uint32_t i = 0; i < s->n_class_rooms; i++)
		bind_fini(&s->classes[i]);
	s->n_classes = 0;
	return err		       ? err
	       : replay_renumber(s->r) ? diag_fail(d, -ENOMEM, "no memory for events")
				       : 0;
}

/* The pairing of calls, and calls of programs, need all classes. */
static int forget_read_chunks(struct replay_source *s, struct diag *d)
{
	const uint32_t *was = s->run == &s->own ? trace_forget(s->r->trace) : NULL;

	return was ? renumber(s, was, d) : 0;
}

/* At the end of what is there: 1: more came; 0: nothing now; -ENODATA: nothing more. */
static int refresh(struct replay_source *s, struct diag *d)
{
	int grows, err;

	if (!s->r->o.follows || s->is_over)
		return -ENODATA;
	grows = trace_refresh(s->r->trace, d);
	if (grows < 0)
		return grows;
	err = grows ? forget_read_chunks(s, d) : 0;
	if (!err)
		err = s->has_words ? pairing_update(&s->pairing, d)
				   : threads_update(s->run->threads, s->r->trace, d);
	if (!err && learn(s))
		err = diag_fail(d, -ENOMEM, "no memory for the events of the recording");
	s->is_over = !grows;
	return err ? err : 1;
}

/* The next item; events that nothing needs are left out. */
static int next_item(struct replay_source *s, uint32_t *thread, struct diag *d)
{
	int64_t number = 0;
	int item;

	s->is_function = false;
	if (s->functions.walk)
		return functions_next(&s->functions, &s->event, thread, &s->is_function, d);
	if (s->has_words)
		return pass_next(s->run, &s->event, thread, d);
	do
		item = trace_next(s->r->trace, &s->event, d);
	while (item == TRACE_EVENT && !s->classes[trace_class_number(&s->event)].is_needed);
	if (item == TRACE_EVENT)
		number = threads_on_event(s->run->threads, &s->event);
	*thread = number > 0 ? (uint32_t)number : 0;
	return number < 0 ? diag_fail(d, (int)number, "no memory for threads") : item;
}

/* Reads items up to one that a probe may want.  1, 0 or -errno as next. */
static int read_event(struct replay_source *s, struct diag *d)
{
	bool has_refreshed = false;
	uint32_t thread;
	int item, err;

	for (;;) {
		item = next_item(s, &thread, d);
		if (item < 0)
			return item;
		if (item != TRACE_END && s->event.time_ns > s->r->to_ns)
			return -ENODATA;
		if (item == TRACE_END) {
			if (has_refreshed && !s->is_over)
				break;
			err = refresh(s, d);
			if (err <= 0)
				return err;
			has_refreshed = true;
			continue;
		}
		err = item == TRACE_LOST ? on_lost(s) : begin_event(s, thread);
		if (err)
			return diag_fail(d, err, "no memory for events");
		if (item == TRACE_EVENT && s->next < s->fill.class->n)
			return 1;
	}
	replay_live_was_read(s->r);
	if (trace_following(s->r->trace)->known_ns > s->base.known_ns)
		s->base.known_ns = trace_following(s->r->trace)->known_ns;
	return 0;
}

static int next(struct script_source_of *base, struct script_event *e, struct diag *d)
{
	struct replay_source *s = (struct replay_source *)base;

	for (;;) {
		int got;

		while (s->next < s->fill.class->n) {
			const struct bound *b = &s->fill.class->at[s->next++];

			if (s->is_function && !functions_is_at(&s->functions, s->next - 1))
				continue;
			if (!fill_is_of(&s->fill, b))
				continue;
			fill_frame(&s->fill, b, s->frame);
			*e = (struct script_event){ b->probe, s->event.time_ns, s->frame };
			s->base.known_ns = s->event.time_ns;
			return 1;
		}
		got = read_event(s, d);
		if (got <= 0)
			return got;
	}
}

/* ---------------------------------------------------------------- the rest */

/* Begins to read, from the beginning. */
static int prepare(struct replay_source *s, struct diag *d)
{
	int err;

	if (!s->r->o.follows)
		trace_seek(s->r->trace, INT64_MIN);
	err = open_run(s, d);
	if (!err && (learn(s) || replay_symbols_open(s->r)))
		err = diag_fail(d, -ENOMEM, "no memory for the events of the recording");
	return err;
}

static int start(struct script_source_of *base, struct diag *d)
{
	struct replay_source *s = (struct replay_source *)base;
	struct script_times times;
	int64_t first, last;
	int err = s->r->live ? replay_live_start(s->r, s->program, s->base.vm, d) : 0;

	if (!err && s->r->live)
		err = prepare(s, d);
	if (err)
		return err;
	if (s->r->o.follows)
		return 0;
	replay_times(&s->r->world, &first, &last);
	if (s->r->o.n_paths == 1 && !script_times_read(s->r->o.paths[0], &times)) {
		s->base.begin_ns = times.begin_ns;
		s->base.end_ns = times.end_ns;
	} else {
		s->base.begin_ns = first > s->r->from_ns ? first : s->r->from_ns;
		s->base.end_ns = last < s->r->to_ns ? last : s->r->to_ns;
	}
	return 0;
}

static int wait(struct script_source_of *base, int *wait_ms)
{
	(void)base;
	*wait_ms = REFRESH_MS;
	return -1;
}

static void stop(struct script_source_of *base)
{
	struct replay_source *s = (struct replay_source *)base;

	s->is_stopped = true;
	if (s->r->live)
		replay_live_stop(s->r);
}

static int losses(struct script_source_of *base, struct script_losses *l)
{
	struct replay_source *s = (struct replay_source *)base;

	if (s->r->o.follows && s->r->trace) {
		uint64_t late = trace_following(s->r->trace)->n_late;

		s->lost += late - s->late;
		s->late = late;
	}
	if (!s->lost)
		return 0;
	*l = (struct script_losses){ .lost = s->lost };
	s->lost = 0;
	return 1;
}

static void explain_probe(struct replay_source *s, const struct script_probe *probe,
			  struct text *to)
{
	struct text filter = { 0 };

	text_addf(to, "probe %u (%s): %s%s", probe->number, probe->point.text,
		  s->r->live ? "recorded and followed" : "recorded events",
		  wants_words(s, probe) ? ", with words" : "");
	if (replay_needs_filter(s->r, probe, s->base.vm, &filter))
		text_addf(to, ", filtered in the programs by %s", filter.bytes);
	text_addf(to, "\n");
	text_fini(&filter);
}

static void explain(struct script_source_of *base, struct text *to)
{
	struct replay_source *s = (struct replay_source *)base;

	for (uint32_t i = 0; i < s->program->n_probes; i++)
		if (replay_has(&s->r->world, &s->program->probes[i]->point))
			explain_probe(s, s->program->probes[i], to);
}

static void symbol(struct script_source_of *base, int64_t pid, uint64_t address, char what,
		   struct text *to)
{
	replay_symbol(&((struct replay_source *)base)->r->world, pid, address, what, to);
}

static void close_source(struct script_source_of *base)
{
	struct replay_source *s = (struct replay_source *)base;

	if (!s)
		return;
	for (uint32_t i = 0; i < s->n_class_rooms; i++)
		bind_fini(&s->classes[i]);
	free(s->classes);
	if (s->has_words)
		pairing_close(&s->pairing);
	functions_close(&s->functions);
	pass_fini(&s->own);
	free(s->parents);
	text_fini(&s->argstr);
	text_fini(&s->retstr);
	text_fini(&s->fill.scratch);
	fill_strings_fini(&s->fill);
	entries_close(s->entries);
	free(s->frame);
	free(s);
}

static const struct script_source_ops ops = {
	.name = "recording",
	.start = start,
	.next = next,
	.wait = wait,
	.stop = stop,
	.losses = losses,
	.explain = explain,
	.symbol = symbol,
	.close = close_source,
};

int replay_source_open(struct script_source_of **result, struct script_world *world,
		       const struct script_program *program, struct script_vm *vm, struct diag *d)
{
	struct replay_source *s = calloc(1, sizeof *s);
	int err;

	*result = NULL;
	if (!s)
		return diag_fail(d, -ENOMEM, "no memory for the recording");
	s->base = (struct script_source_of){ .ops = &ops, .vm = vm, .known_ns = INT64_MIN };
	s->r = (struct replay *)world;
	s->base.is_live = s->r->o.follows;
	s->program = program;
	s->fill = (struct fill){ .r = s->r,
				 .string_bytes = script_vm_limits(vm)->string_bytes,
				 .class = &no_class };
	s->frame = calloc(1, sizeof *s->frame + SCRIPT_SLOTS_MAX * sizeof *s->frame->slot);
	err = s->frame && !entries_open(&s->entries, s->r, program)
		      ? 0
		      : diag_fail(d, -ENOMEM, "no memory for the recording");
	s->fill.entries = s->entries;
	if (!err && !s->r->live)
		err = prepare(s, d);
	if (err)
		close_source(&s->base);
	else
		*result = &s->base;
	return err;
}
