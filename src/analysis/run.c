/* SPDX-License-Identifier: MIT */
/* analysis/run.c - see run.h. */
#include "analysis/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"

int run_init(struct run *r, struct trace *trace, struct diag *d)
{
	*r = (struct run){ .trace = trace };
	return threads_open(&r->threads, trace, d);
}

void run_fini(struct run *r)
{
	threads_close(r->threads);
	r->threads = NULL;
}

static int take_lost(struct run *r, const struct trace_event *e, run_lost *lost, void *context)
{
	r->lost_events += e->lost_events;
	r->lost_packets += e->lost_packets;
	r->epoch[e->stream->source->domain]++;
	return lost ? lost(context, r, e) : 0;
}

static int take_event(struct run *r, const struct trace_event *e, run_see *see, void *context)
{
	int64_t thread = threads_see(r->threads, e);

	if (thread < 0)
		return (int)thread;
	if (!r->n_events++)
		r->first_ns = r->last_ns = e->time_ns;
	if (e->time_ns > r->last_ns)
		r->last_ns = e->time_ns;
	r->n_of[e->stream->source->domain]++;
	return see(context, r, e, (uint32_t)thread);
}

int run_all(struct run *r, run_see *see, run_lost *lost, void *context, struct diag *d)
{
	struct trace_event e;
	int item, err = 0;

	while (!err && (item = trace_next(r->trace, &e, d)) != TRACE_END) {
		if (item < 0)
			return item;
		err = item == TRACE_EVENT ? take_event(r, &e, see, context)
					  : take_lost(r, &e, lost, context);
	}
	r->n_damages = trace_n_damages(r->trace);
	if (!err)
		err = threads_settle(r->threads);
	return err ? diag_fail(d, err, "cannot go on: %s", strerror(-err)) : 0;
}

void run_each_class(const struct run *r, run_class *tell, void *context)
{
	for (uint32_t i = 0; i < trace_n_sources(r->trace); i++) {
		const struct trace_source *s = trace_source(r->trace, i);

		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next)
			tell(context, s, c, s->first_class + c->number);
	}
}

bool run_is_like(const char *pattern, const struct trace_source *s, const char *event)
{
	const char *colon = strchr(event, ':'), *name = colon ? colon + 1 : event;
	char channel[256];

	if (colon)
		snprintf(channel, sizeof channel, "%.*s", (int)(colon - event), event);
	else
		snprintf(channel, sizeof channel, "%s", s->domain == TRACE_KERNEL ? "kernel" : "");
	return pattern_matches_event(pattern, pattern + strlen(pattern), channel, name);
}

int run_grow(void *array, uint32_t *n, uint32_t i, size_t size)
{
	void **at = array;
	uint32_t more = *n ? *n : 64;
	char *bigger;

	if (i < *n)
		return 0;
	while (more <= i)
		more = more < UINT32_MAX / 2 ? more * 2 : UINT32_MAX;
	bigger = realloc(*at, more * size);
	if (!bigger)
		return -ENOMEM;
	memset(bigger + *n * size, 0, (more - *n) * size);
	*at = bigger;
	*n = more;
	return 0;
}
