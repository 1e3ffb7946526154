/* SPDX-License-Identifier: MIT */
/*
 * script/engine/engine.c - the life of a script: sources start, begin probes, events, end probes.
 *
 * The end comes by exit(), by too many errors, when the command or the target exits, after -T, by a
 * signal, or at the end of all recordings.  But for the first two, everything that happened until
 * then is handled first.
 */
#include "script/engine/engine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/monotonic.h"
#include "script/engine/internal.h"

enum {
	BATCH = 256,	 /* handlers between two looks at signals and the target */
	TURN_MS = 50,	 /* and the longest time in between, if handlers are slow */
	IDLE_MS = 200,	 /* longest wait */
	LOOK_MS = 50,	 /* for readers of procfs files, and a target without descriptor */
	HELD_UP_MS = 10, /* an event waits for other sources */
	DRAIN_MS = 5000, /* longest time that a stopped source may take to end */
	LOSSES_MS = 500, /* losses are asked for so often */
	POLL_MAX = 128,
};

int64_t engine_clock(const struct script_engine *e)
{
	return (int64_t)monotonic_ns() + e->offset_ns;
}

void engine_message(struct script_engine *e, enum script_message kind, const char *format, ...)
{
	char *line = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&line, format, ap) >= 0 && e->o.message)
		e->o.message(e->o.context, kind, line);
	va_end(ap);
	free(line);
}

/* ---------------------------------------------------------------- handlers */

/* pp(): of these two, `text` is what they are about. */
static const char *point_text(const struct script_world_point *p)
{
	return p->family == FAMILY_INPUT || p->family == FAMILY_PROCFS ? p->name : p->text;
}

/* The machine's text has the operator, the place and the calls. */
static void report_error(struct script_engine *e, const struct script_probe *p)
{
	struct script_place place;

	engine_message(e, SCRIPT_MESSAGE_ERROR, "error: %s\n in probe %s",
		       script_vm_error(e->o.vm, &place), point_text(&p->point));
}

static void count_error(struct script_engine *e)
{
	uint32_t most = e->o.limits ? e->o.limits->errors : 0;

	if (++e->result.n_errors > most)
		e->result.has_failed = true;
}

static void run_handler(struct script_engine *e, const struct script_probe *p,
			const struct script_frame *frame)
{
	e->result.n_events++;
	if (script_vm_run(e->o.vm, p->handler->index, frame) == SCRIPT_FAILED) {
		report_error(e, p);
		count_error(e);
	}
	e->is_exiting |= script_vm_exiting(e->o.vm);
}

void engine_run_event(struct script_engine *e, const struct script_event *event)
{
	if (event->time_ns > e->now_ns)
		e->now_ns = event->time_ns;
	run_handler(e, event->probe, event->frame);
}

/* Makes the kernel's counts visible to the next handler.  An error in the kernel, such as a full array,
 * is an error of the script, as in a handler. */
static void collect(struct script_engine *e)
{
	struct diag d = { "" };

	for (struct engine_source *s = e->sources; s < e->sources + e->n_sources; s++)
		if (s->is_started && s->of->ops->collect && s->of->ops->collect(s->of, &d)) {
			engine_message(e, SCRIPT_MESSAGE_ERROR, "%s", d.text);
			count_error(e);
		}
}

static void fill_frame(struct script_engine *e, const struct script_probe *p, int64_t time_ns)
{
	const struct script_string *empty = script_vm_string(e->o.vm, "", 0);
	const char *text = point_text(&p->point);
	struct script_frame *f = e->frame;

	f->faults = 0;
	for (int i = 0; i < STANDARD_N; i++)
		if (script_standard_type(i) == SCRIPT_STRING)
			f->standard[i].text = empty;
		else
			f->standard[i].number = 0;
	f->standard[STANDARD_TIME_NS].number = time_ns;
	f->standard[STANDARD_MONOTONIC_NS].number = time_ns - e->offset_ns;
	f->standard[STANDARD_POINT].text = script_vm_string(e->o.vm, text, strlen(text));
	f->standard[STANDARD_EXECNAME].text = script_vm_string(e->o.vm, "duet", 4);
	f->standard[STANDARD_PROCNAME] = f->standard[STANDARD_EXECNAME];
	for (uint32_t i = 0; i < p->handler->n_slots; i++) {
		if (p->handler->slots[i].type == SCRIPT_STRING)
			f->slot[i].text = empty;
		else
			f->slot[i].number = 0;
	}
}

void engine_run_own(struct script_engine *e, const struct script_probe *p, int64_t time_ns,
		    const char *text, size_t size)
{
	collect(e);
	if (time_ns > e->now_ns)
		e->now_ns = time_ns;
	fill_frame(e, p, time_ns);
	for (uint32_t i = 0; text && i < p->handler->n_slots; i++)
		if (p->handler->slots[i].type == SCRIPT_STRING)
			e->frame->slot[i].text = script_vm_string(e->o.vm, text, size);
	run_handler(e, p, e->frame);
}

/* All probes of a family, by number, then by their order in the script. */
void engine_run_family(struct script_engine *e, enum script_family family)
{
	const struct script_program *p = e->o.program;
	int64_t after = INT64_MIN;
	bool is_first = true, found = true;

	while (found) {
		int64_t next = INT64_MAX;

		found = false;
		for (uint32_t i = 0; i < p->n_probes; i++) {
			const struct script_world_point *point = &p->probes[i]->point;

			if (point->family == family && (is_first || point->number > after) &&
			    point->number <= next) {
				next = point->number;
				found = true;
			}
		}
		for (uint32_t i = 0; found && i < p->n_probes; i++)
			if (p->probes[i]->point.family == family &&
			    p->probes[i]->point.number == next)
				engine_run_own(e, p->probes[i], e->now_ns, NULL, 0);
		after = next;
		is_first = false;
	}
}

/* ---------------------------------------------------------------- begin */

/* A replay begins where its recordings do, or at their first event. */
static int find_begin(struct script_engine *e, struct diag *d)
{
	int64_t begin_ns = INT64_MAX;

	e->result.begin_ns = INT64_MIN;
	for (struct engine_source *s = e->sources; s < e->sources + e->n_sources; s++) {
		int64_t at = s->of->begin_ns;

		if (!at) {
			int n = s->of->ops->next(s->of, &s->event, d);

			if (n < 0 && n != -ENODATA)
				return n;
			s->has_event = n == 1;
			s->has_ended = n == -ENODATA;
			at = n == 1 ? s->event.time_ns : INT64_MAX;
		}
		begin_ns = at < begin_ns ? at : begin_ns;
		if (s->of->end_ns && s->of->end_ns < e->limit_ns && e->n_sources == 1)
			e->limit_ns = s->of->end_ns;
	}
	e->result.begin_ns = begin_ns < INT64_MAX ? begin_ns : engine_clock(e);
	return 0;
}

static int start_sources(struct script_engine *e, struct diag *d)
{
	int err = 0;

	for (uint32_t i = 0; i < e->n_sources && !err; i++) {
		err = e->sources[i].of->ops->start(e->sources[i].of, d);
		e->sources[i].is_started = !err;
	}
	e->result.begin_ns = engine_clock(e);
	e->result.started_ns = monotonic_ns();
	return !err && e->o.is_replay ? find_begin(e, d) : err;
}

static bool is_over(const struct script_engine *e)
{
	return e->is_exiting || e->result.has_failed;
}

static int begin(struct script_engine *e, struct diag *d)
{
	e->now_ns = e->result.begin_ns;
	if (e->o.most_ns && e->result.begin_ns + e->o.most_ns < e->limit_ns)
		e->limit_ns = e->result.begin_ns + e->o.most_ns;
	engine_timers_begin(e, e->result.begin_ns);
	engine_run_family(e, FAMILY_BEGIN);
	if (!is_over(e))
		engine_run_family(e, FAMILY_ONESHOT);
	for (uint32_t i = 0; i < e->o.program->n_probes; i++)
		e->is_exiting |= e->o.program->probes[i]->point.family == FAMILY_ONESHOT;
	while (e->o.is_replay && !is_over(e) && engine_input_is_open(e))
		engine_input_take(e);
	if (e->o.flush)
		e->o.flush(e->o.context);
	return is_over(e) ? 0 : engine_target_release(&e->target, e->o.command, d);
}

/* ---------------------------------------------------------------- events */

static void stop(struct script_engine *e)
{
	int64_t now = engine_clock(e);

	if (e->stopped_ns)
		return;
	e->stopped_ns = (int64_t)monotonic_ns();
	if (now < e->limit_ns)
		e->limit_ns = now;
	for (uint32_t i = 0; i < e->n_sources; i++)
		if (e->sources[i].is_started)
			e->sources[i].of->ops->stop(e->sources[i].of);
}

/* Nothing can happen any more. */
static bool is_idle(const struct script_engine *e)
{
	for (uint32_t i = 0; i < e->n_sources; i++)
		if (!e->sources[i].has_ended)
			return false;
	return !e->n_timers && !e->procfs && !engine_input_is_open(e) &&
	       (!e->target.pid || e->target.ended);
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* How long to wait if no descriptor becomes ready; adds those of the sources. */
static int wait_ms(struct script_engine *e, enum engine_step step, struct pollfd *fds, uint32_t *n)
{
	struct engine_timer *t = engine_timers_next(e);
	int64_t ms = IDLE_MS;

	if (step == ENGINE_RAN)
		return 0;
	for (uint32_t i = 0; i < e->n_sources; i++) {
		struct script_source_of *s = e->sources[i].of;
		int source_ms = IDLE_MS, fd;

		if (e->sources[i].has_event || e->sources[i].has_ended)
			continue;
		fd = s->ops->wait ? s->ops->wait(s, &source_ms) : -1;
		ms = least(ms, source_ms);
		if (fd >= 0 && *n < POLL_MAX)
			fds[(*n)++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	}
	if (engine_is_held_up(e) || e->stopped_ns)
		ms = least(ms, HELD_UP_MS);
	if (t && !e->o.is_replay)
		ms = least(ms, (t->due_ns - engine_clock(e)) / 1000000 + 1);
	if (e->limit_ns < INT64_MAX && !e->o.is_replay)
		ms = least(ms, (e->limit_ns - engine_clock(e)) / 1000000 + 1);
	return ms > 0 ? (int)ms : 1;
}

static void look_around(struct script_engine *e, enum engine_step step)
{
	struct pollfd fds[POLL_MAX + 8] = {
		{ .fd = e->o.stop_fd, .events = POLLIN },
		{ .fd = e->target.ended ? -1 : e->target.pidfd, .events = POLLIN },
		{ .fd = engine_input_is_open(e) ? e->o.input : -1, .events = POLLIN }
	};
	uint32_t n = 3;
	int ms;

	n = engine_procfs_poll(e, fds, n);
	ms = wait_ms(e, step, fds, &n);
	if ((e->target.pid && e->target.pidfd < 0) || e->procfs)
		ms = (int)least(ms, LOOK_MS);
	if (ms && e->o.flush)
		e->o.flush(e->o.context);
	poll(fds, n, ms);
	if (fds[0].revents && !e->result.is_interrupted) {
		e->result.is_interrupted = true;
		e->is_exiting |= e->o.is_replay;
		stop(e);
	}
	if (e->target.pid && engine_target_has_ended(&e->target))
		stop(e);
	if (fds[2].revents && !e->stopped_ns)
		engine_input_take(e);
	if (!e->stopped_ns)
		engine_procfs_take(e);
}

static void look_for_losses(struct script_engine *e)
{
	int64_t now = (int64_t)monotonic_ns();

	if (now - e->losses_ns < LOSSES_MS * 1000000ll)
		return;
	e->losses_ns = now;
	engine_losses_take(e);
	if (e->o.flush && !e->o.is_replay)
		e->o.flush(e->o.context);
}

static bool is_drained(const struct script_engine *e)
{
	return e->stopped_ns && (int64_t)monotonic_ns() - e->stopped_ns > DRAIN_MS * 1000000ll;
}

/* Not much longer than TURN_MS: slow handlers must not delay an end by a signal. */
static int run_batch(struct script_engine *e, struct diag *d)
{
	uint64_t ends_ns = monotonic_ns() + TURN_MS * 1000000ull;
	int step = ENGINE_RAN;

	for (int i = 0; i < BATCH && step == ENGINE_RAN && !is_over(e); i++) {
		step = engine_step(e, d);
		if (!(i & (i + 1)) && monotonic_ns() > ends_ns) /* after 1, 2, 4, .. */
			break;
	}
	return step;
}

static int loop(struct script_engine *e, struct diag *d)
{
	while (!is_over(e)) {
		int step = run_batch(e, d);

		if (step < 0)
			return step;
		if (step == ENGINE_OVER || is_over(e) || is_drained(e) ||
		    (step == ENGINE_WAIT && is_idle(e)))
			break;
		look_around(e, step);
		look_for_losses(e);
	}
	return 0;
}

/* ---------------------------------------------------------------- end */

static void print_unread(struct script_engine *e)
{
	const struct script_program *p = e->o.program;

	for (uint32_t i = 0; i < p->n_globals; i++)
		if (p->globals[i]->prints_at_end)
			script_vm_print_global(e->o.vm, p->globals[i]->name);
}

/* The end is the time of the last handler after exit(), else the limit that was reached. */
static void end(struct script_engine *e)
{
	if (!is_over(e) && e->limit_ns < INT64_MAX && e->limit_ns > e->now_ns)
		e->now_ns = e->limit_ns;
	e->result.end_ns = e->now_ns;
	stop(e);
	collect(e); /* it may fail, too */
	engine_run_family(e, e->result.has_failed ? FAMILY_ERROR : FAMILY_END);
	collect(e);
	print_unread(e);
	engine_losses_take(e);
	if (e->o.flush)
		e->o.flush(e->o.context);
	engine_losses_report(e);
	e->result.command_status = e->target.is_command && e->target.ended ? e->target.status : -1;
}

int script_engine_run(struct script_engine *e, struct script_engine_result *r, struct diag *d)
{
	int err = start_sources(e, d);

	if (!err) {
		err = begin(e, d);
		if (!err)
			err = loop(e, d);
		e->result.has_failed |= err;
		end(e);
	}
	*r = e->result;
	return err;
}

/* ---------------------------------------------------------------- open and close */

static int open_parts(struct script_engine *e, struct diag *d)
{
	int err;

	e->frame = calloc(1, sizeof *e->frame + SCRIPT_SLOTS_MAX * sizeof e->frame->slot[0]);
	if (!e->frame || engine_timers_open(e) || engine_losses_open(e))
		return diag_fail(d, -ENOMEM, "no memory");
	engine_input_open(e);
	err = engine_procfs_open(e, d);
	return err ? err : engine_target_open(&e->target, e->o.command, e->o.target, d);
}

int script_engine_open(struct script_engine **engine, const struct script_engine_options *o,
		       struct diag *d)
{
	struct script_engine *e = calloc(1, sizeof *e);
	struct timespec now;
	int err;

	*engine = NULL;
	if (!e)
		return diag_fail(d, -ENOMEM, "no memory");
	e->o = *o;
	e->limit_ns = INT64_MAX;
	e->result.command_status = -1;
	e->target = (struct engine_target){ .pidfd = -1, .go = -1, .report = -1 };
	clock_gettime(CLOCK_REALTIME, &now);
	e->offset_ns = now.tv_sec * 1000000000ll + now.tv_nsec - (int64_t)monotonic_ns();
	err = open_parts(e, d);
	if (err)
		script_engine_close(e);
	else
		*engine = e;
	return err;
}

int script_engine_add(struct script_engine *e, struct script_source_of *s, struct diag *d)
{
	if (e->n_sources == ENGINE_SOURCES_MAX)
		return diag_fail(d, -E2BIG, "more than %d sources of events", ENGINE_SOURCES_MAX);
	e->sources[e->n_sources++].of = s;
	return 0;
}

pid_t script_engine_target(const struct script_engine *e)
{
	return e->target.pid;
}

void script_engine_symbol(struct script_engine *e, int64_t pid, uint64_t address, char what,
			  struct text *to)
{
	size_t before = to->size;

	for (uint32_t i = 0; i < e->n_sources && to->size == before; i++)
		if (e->sources[i].of->ops->symbol)
			e->sources[i].of->ops->symbol(e->sources[i].of, pid, address, what, to);
}

void script_engine_close(struct script_engine *e)
{
	if (!e)
		return;
	engine_target_close(&e->target);
	engine_procfs_close(e);
	free(e->frame);
	free(e->timers);
	free(e->lost);
	free(e);
}
