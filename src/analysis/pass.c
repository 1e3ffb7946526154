/* SPDX-License-Identifier: MIT */
/* analysis/pass.c - the loop over the items of a recording, and helpers that every analysis
 * needs. */
#include "analysis/pass.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules/pattern.h"

int pass_init(struct pass *r, struct trace *trace, const struct pass_range *range, struct diag *d)
{
	static const struct pass_range all = { INT64_MIN, INT64_MAX };

	*r = (struct pass){ .trace = trace, .range = range ? *range : all };
	return threads_open(&r->threads, trace, d);
}

void pass_fini(struct pass *r)
{
	threads_close(r->threads);
	r->threads = NULL;
	free(r->cpus);
	free(r->by_stream);
	r->cpus = NULL;
	r->by_stream = NULL;
}

void pass_move(struct pass *to, struct pass *from)
{
	*to = *from;
	from->threads = NULL;
	from->cpus = NULL;
	from->by_stream = NULL;
	from->n_cpus = from->n_cpu_rooms = from->n_by_stream = 0;
}

static void count_lost(struct pass *r, const struct trace_event *e)
{
	if (e->time_ns >= r->range.from_ns) {
		r->lost_events += e->lost_events;
		r->lost_packets += e->lost_packets;
	}
	r->epoch[e->stream->source->domain]++;
}

static void count_event(struct pass *r, const struct trace_event *e)
{
	if (e->time_ns < r->range.from_ns)
		return;
	if (!r->n_events++)
		r->first_ns = r->last_ns = e->time_ns;
	if (e->time_ns > r->last_ns)
		r->last_ns = e->time_ns;
	r->n_of[e->stream->source->domain]++;
}

/* Damages are counted stream by stream, so not at every event. */
enum { DAMAGES_EVERY = 256 };

int pass_next(struct pass *r, struct trace_event *e, uint32_t *thread, struct diag *d)
{
	int item = trace_next(r->trace, e, d);

	assert(r->threads);
	if (item != TRACE_EVENT || r->n_events % DAMAGES_EVERY == 0)
		r->n_damages = trace_n_damages(r->trace);
	return item < 0 ? item : pass_take(r, item, e, thread, d);
}

int pass_take(struct pass *r, int item, const struct trace_event *e, uint32_t *thread,
	      struct diag *d)
{
	int64_t number;

	if (item == TRACE_END || e->time_ns > r->range.to_ns)
		return TRACE_END;
	if (item == TRACE_LOST) {
		count_lost(r, e);
		return item;
	}
	number = threads_on_event(r->threads, e);
	if (number < 0)
		return diag_fail(d, (int)number, "cannot go on: %s", strerror((int)-number));
	*thread = (uint32_t)number;
	count_event(r, e);
	return item;
}

int pass_all(struct pass *r, pass_on_event *on_event, pass_lost *lost, void *context,
	     struct diag *d)
{
	struct trace_event e;
	uint32_t thread;
	int item, err = 0;

	assert(on_event);
	while (!err && (item = pass_next(r, &e, &thread, d)) != TRACE_END) {
		if (item < 0)
			return item;
		if (e.time_ns < r->range.from_ns && !r->wants_earlier)
			continue;
		if (item == TRACE_EVENT)
			err = on_event(context, r, &e, thread);
		else if (lost)
			err = lost(context, r, &e);
	}
	if (!err)
		err = threads_finalize(r->threads);
	return err ? diag_fail(d, err, "cannot go on: %s", strerror(-err)) : 0;
}

int pass_run(struct pass *r, struct trace *trace, const struct pass_range *range,
	     const struct pass_analysis *a, void *context, struct diag *d)
{
	int err = pass_init(r, trace, range, d);

	assert(a->about && a->on_event);
	if (err)
		return err;
	r->wants_earlier = a->wants_earlier;
	err = a->prepare ? a->prepare(context) : 0;
	if (err && err != -ENOMEM)
		return err;
	if (!err) {
		err = pass_all(r, a->on_event, a->on_lost, context, d);
		if (err)
			return err;
		err = a->finish ? a->finish(context) : 0;
	}
	return err ? diag_fail(d, err, "no memory for %s", a->about) : 0;
}

void pass_each_class(const struct pass *r, pass_class *report, void *context)
{
	for (uint32_t i = 0; i < trace_n_sources(r->trace); i++) {
		const struct trace_source *s = trace_source(r->trace, i);

		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next)
			report(context, s, c, c->number);
	}
}

bool pass_is_like(const char *pattern, const struct trace_source *s, const char *event)
{
	const char *colon = strchr(event, ':'), *name = colon ? colon + 1 : event;
	char channel[256];

	if (colon)
		snprintf(channel, sizeof channel, "%.*s", (int)(colon - event), event);
	else
		snprintf(channel, sizeof channel, "%s", s->domain == TRACE_KERNEL ? "kernel" : "");
	return pattern_matches_event(pattern, pattern + strlen(pattern), channel, name);
}

int64_t pass_cpu(struct pass *r, const struct trace_event *e)
{
	uint32_t i = 0;

	/* A stream is that of one CPU, mostly. */
	if (e->stream->number < r->n_by_stream) {
		i = r->by_stream[e->stream->number];
		if (i < r->n_cpus && r->cpus[i].cpu == e->cpu &&
		    r->cpus[i].source == e->stream->source)
			return i;
		i = 0;
	}
	while (i < r->n_cpus &&
	       (r->cpus[i].cpu != e->cpu || r->cpus[i].source != e->stream->source))
		i++;
	if (i == r->n_cpus) {
		if (pass_grow(&r->cpus, &r->n_cpu_rooms, i, sizeof *r->cpus))
			return -ENOMEM;
		r->cpus[r->n_cpus++] = (struct pass_cpu){ e->stream->source, e->cpu };
	}
	if (pass_grow(&r->by_stream, &r->n_by_stream, e->stream->number, sizeof *r->by_stream))
		return -ENOMEM;
	r->by_stream[e->stream->number] = i;
	return i;
}

static uint32_t rooms_for(uint32_t n, uint32_t i)
{
#ifdef __SANITIZE_ADDRESS__
	/* Each new element moves the array, so that every pointer kept across pass_grow() is found. */
	if (i < 1024)
		return i + 1;
#endif
	n = n ? n : 64;
	while (n <= i)
		n = n < UINT32_MAX / 2 ? n * 2 : UINT32_MAX;
	return n;
}

int pass_grow_to(void *array, uint32_t *n, uint32_t i, size_t size)
{
	void **at = array;
	uint32_t more = rooms_for(*n, i);
	char *bigger;

	assert(i >= *n && size);
	bigger = realloc(*at, more * size);
	if (!bigger)
		return -ENOMEM;
	memset(bigger + *n * size, 0, (more - *n) * size);
	*at = bigger;
	*n = more;
	assert(i < *n);
	return 0;
}

const struct ctf_op *pass_function(const struct ctf_event_class *c)
{
	if (!strcmp(c->name, "function"))
		return ctf_class_find(c, CTF_PAYLOAD, "ip");
	return strncmp(c->name, "funcgraph_", 10) ? NULL : ctf_class_find(c, CTF_PAYLOAD, "func");
}
