/* SPDX-License-Identifier: MIT */
/* analysis/recent.c - see recent.h. */
#include "analysis/recent.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "trace/trace.h"

/* Where an event's bytes begin is where the one before it ended. */
struct place {
	const uint8_t *packet;
	uint64_t end_bits;
};

/* The field that tells whose an event is, by class; looked for once. */
struct reporter {
	bool is_known;
	const struct ctf_op *vpid;
};

struct looking {
	struct recent *r;
	struct trace *trace;
	struct place *places; /* by stream */
	uint32_t n_places;
	struct reporter *reporters; /* by class */
	uint32_t n_reporters;
};

static void *grow(void *at, uint32_t *n, uint32_t wanted, size_t size)
{
	char *more = realloc(at, wanted * size);

	if (!more)
		return NULL;
	for (size_t i = *n * size; i < wanted * size; i++)
		more[i] = 0;
	*n = wanted;
	return more;
}

/* The place of @pid among the programs, or where it is to come. */
static uint32_t place_of(const struct recent *r, int64_t pid)
{
	uint32_t low = 0, high = r->n_programs;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (r->programs[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct recent_program *recent_find(const struct recent *r, int64_t pid)
{
	uint32_t i = place_of(r, pid);

	return i < r->n_programs && r->programs[i].pid == pid ? &r->programs[i] : NULL;
}

static struct recent_program *program(struct recent *r, int64_t pid)
{
	uint32_t i = place_of(r, pid);
	struct recent_program *more;

	if (i < r->n_programs && r->programs[i].pid == pid)
		return &r->programs[i];
	more = realloc(r->programs, (r->n_programs + 1) * sizeof *more);
	if (!more)
		return NULL;
	r->programs = more;
	for (uint32_t k = r->n_programs++; k > i; k--)
		more[k] = more[k - 1];
	more[i] = (struct recent_program){ .pid = pid };
	return &more[i];
}

static uint64_t bytes_of(struct looking *l, const struct trace_event *e)
{
	struct place *p = &l->places[e->stream->number];
	uint64_t begin_bits = p->packet == e->ctf->packet && p->end_bits <= e->ctf->body_bits
				      ? p->end_bits
				      : e->ctf->body_bits;

	*p = (struct place){ e->ctf->packet, e->ctf->end_bits };
	return (e->ctf->end_bits - begin_bits) / 8;
}

static const struct ctf_op *reporter_of(struct looking *l, const struct trace_event *e)
{
	struct reporter *t = &l->reporters[trace_class_number(e)];

	if (!t->is_known)
		*t = (struct reporter){ true, ctf_class_find(e->ctf->class, CTF_CONTEXT, "vpid") };
	return t->vpid;
}

static int count(struct looking *l, const struct trace_event *e)
{
	struct recent *r = l->r;
	struct recent_program *p;
	const struct ctf_op *vpid;
	uint64_t bytes;
	int64_t pid;

	if (e->stream->number >= l->n_places &&
	    !(l->places =
		      grow(l->places, &l->n_places, trace_n_streams(l->trace), sizeof *l->places)))
		return -ENOMEM;
	if (trace_class_number(e) >= l->n_reporters &&
	    !(l->reporters = grow(l->reporters, &l->n_reporters, trace_n_classes(l->trace),
				  sizeof *l->reporters)))
		return -ENOMEM;
	bytes = bytes_of(l, e);
	if (e->time_ns < r->begin_ns)
		return 0;
	if (e->stream->source->domain == TRACE_KERNEL) {
		r->kernel_events++;
		r->kernel_bytes += bytes;
		return 0;
	}
	r->events++;
	r->bytes += bytes;
	vpid = reporter_of(l, e);
	if (!vpid || !ctf_event_number(e->ctf, vpid, &pid))
		return 0; /* the collector's own */
	p = program(r, pid);
	if (!p)
		return -ENOMEM;
	p->events++;
	p->bytes += bytes;
	return 0;
}

static int look(struct looking *l, int64_t window_ns, uint64_t max_events, struct diag *d)
{
	struct recent *r = l->r;
	struct trace_event e;
	int item, err = trace_refresh(l->trace, d);

	if (err < 0)
		return err;
	r->end_ns = trace_following(l->trace)->known_ns;
	if (r->end_ns == INT64_MIN || trace_following(l->trace)->n_sent)
		return -EAGAIN; /* what is sent does not stay */
	r->begin_ns = r->end_ns - window_ns;
	trace_seek(l->trace, r->begin_ns);
	while ((item = trace_next(l->trace, &e, d)) > TRACE_END && e.time_ns <= r->end_ns) {
		err = item == TRACE_EVENT ? count(l, &e) : 0;
		if (err)
			return diag_fail(d, err, "no memory");
		if (r->events + r->kernel_events >= max_events) {
			r->end_ns = e.time_ns;
			break;
		}
	}
	return item < 0 ? item : 0;
}

int recent_scan(struct recent *r, const char *path, int64_t window_ns, uint64_t max_events,
		struct diag *d)
{
	const struct trace_options o = { .follows = true };
	struct looking l = { .r = r };
	int err;

	*r = (struct recent){ .events = 0 };
	err = trace_open(&l.trace, &path, 1, &o, d);
	if (err)
		return err;
	err = look(&l, window_ns, max_events, d);
	free(l.places);
	free(l.reporters);
	trace_close(l.trace);
	if (err)
		recent_fini(r);
	return err;
}

void recent_fini(struct recent *r)
{
	free(r->programs);
	*r = (struct recent){ .events = 0 };
}
