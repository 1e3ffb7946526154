/* SPDX-License-Identifier: MIT */
/* trace/summary.c - counts events by class and stream, then adds them up by name. */
#include "trace/summary.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void count_event(struct summary_stream *s, const struct trace_event *e, uint64_t *of_class)
{
	if (!s->n_events++)
		s->first_ns = e->time_ns;
	s->last_ns = e->time_ns;
	of_class[trace_class_number(e)]++;
}

static int count(struct trace *t, struct summary *s, uint64_t *of_class, struct diag *d)
{
	struct trace_event e;
	int item;

	while ((item = trace_next(t, &e, d)) > 0) {
		struct summary_stream *st = &s->streams[e.stream->number];

		if (item == TRACE_EVENT) {
			count_event(st, &e, of_class);
		} else {
			st->lost_events += e.lost_events;
			st->lost_packets += e.lost_packets;
		}
	}
	return item;
}

static void add_up(struct summary *s)
{
	for (uint32_t i = 0; i < s->n_streams; i++) {
		const struct summary_stream *st = &s->streams[i];

		if (st->n_events && (!s->n_events || st->first_ns < s->first_ns))
			s->first_ns = st->first_ns;
		if (st->n_events && (!s->n_events || st->last_ns > s->last_ns))
			s->last_ns = st->last_ns;
		s->n_events += st->n_events;
		s->lost_events += st->lost_events;
		s->lost_packets += st->lost_packets;
		s->size_bytes += st->info->size_bytes;
	}
}

static int by_name(const void *a, const void *b)
{
	const struct summary_event *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (int)x->domain - (int)y->domain;
}

static int by_count(const void *a, const void *b)
{
	const struct summary_event *x = a, *y = b;

	return x->n != y->n ? (x->n < y->n ? 1 : -1) : by_name(a, b);
}

/* Several traces may have classes of one name: they become one entry. */
static void name_events(const struct trace *t, struct summary *s, const uint64_t *of_class)
{
	uint32_t n = 0, n_names = 0;

	for (uint32_t i = 0; i < trace_n_sources(t); i++) {
		const struct trace_source *src = trace_source(t, i);

		for (const struct ctf_event_class *c = src->meta->events; c; c = c->next)
			if (of_class[c->number])
				s->events[n++] = (struct summary_event){ c->name, src->domain,
									 of_class[c->number] };
	}
	qsort(s->events, n, sizeof *s->events, by_name);
	for (uint32_t i = 0; i < n; i++) {
		if (n_names && !by_name(&s->events[n_names - 1], &s->events[i]))
			s->events[n_names - 1].n += s->events[i].n;
		else
			s->events[n_names++] = s->events[i];
	}
	assert(n_names <= n);
	qsort(s->events, n_names, sizeof *s->events, by_count);
	s->n_event_names = n_names;
}

int trace_summary(struct trace *t, struct summary *s, struct diag *d)
{
	uint64_t *of_class = calloc(trace_n_classes(t) + (size_t)1, sizeof *of_class);
	int err;

	*s = (struct summary){ .n_streams = trace_n_streams(t) };
	s->streams = calloc(s->n_streams + (size_t)1, sizeof *s->streams);
	s->events = calloc(trace_n_classes(t) + (size_t)1, sizeof *s->events);
	if (!of_class || !s->streams || !s->events) {
		err = diag_fail(d, -ENOMEM, "no memory to count events");
	} else {
		for (uint32_t i = 0; i < s->n_streams; i++)
			s->streams[i].info = trace_stream(t, i);
		err = count(t, s, of_class, d);
		add_up(s);
		name_events(t, s, of_class);
	}
	free(of_class);
	if (err)
		summary_fini(s);
	return err;
}

void summary_fini(struct summary *s)
{
	free(s->events);
	free(s->streams);
	*s = (struct summary){ 0 };
}
