/* SPDX-License-Identifier: MIT */
/*
 * analysis/recent.c - reads the last second of a recording that is still written, and counts by
 * program.
 */
#include "analysis/recent.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "trace/public.h"

/* In each stream an event's bytes begin where those of the event before it ended. */
struct bookmark {
	const uint8_t *packet;
	uint64_t end_bits;
};

/* The context field with the process id, by class; looked up once. */
struct pid_field {
	bool is_known;
	const struct ctf_op *vpid;
};

struct scan {
	struct recent *r;
	struct trace *trace;
	struct bookmark *bookmarks; /* by stream */
	uint32_t n_bookmarks;
	struct pid_field *pid_fields; /* by class */
	uint32_t n_pid_fields;
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

/* The index of @pid among the programs, or the index at which to insert it. */
static uint32_t index_of(const struct recent *r, int64_t pid)
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
	uint32_t i = index_of(r, pid);

	return i < r->n_programs && r->programs[i].pid == pid ? &r->programs[i] : NULL;
}

/* Numbers of programs are from the recording, which may be another user's: each new one moves the others.
 * Events of more are in the totals alone. */
enum { PROGRAMS_MOST = 4096 };

static struct recent_program *program_of(struct recent *r, int64_t pid)
{
	uint32_t i = index_of(r, pid);
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
	assert(!i || more[i - 1].pid < pid); /* the order recent_find() needs */
	assert(i + 1 == r->n_programs || more[i + 1].pid > pid);
	return &more[i];
}

static uint64_t bytes_of(struct scan *l, const struct trace_event *e)
{
	struct bookmark *p = &l->bookmarks[e->stream->number];
	uint64_t begin_bits = p->packet == e->ctf->packet && p->end_bits <= e->ctf->body_bits
				      ? p->end_bits
				      : e->ctf->body_bits;

	*p = (struct bookmark){ e->ctf->packet, e->ctf->end_bits };
	return (e->ctf->end_bits - begin_bits) / 8;
}

static const struct ctf_op *pid_field_of(struct scan *l, const struct trace_event *e)
{
	struct pid_field *t = &l->pid_fields[trace_class_number(e)];

	if (!t->is_known)
		*t = (struct pid_field){ true, ctf_class_find(e->ctf->class, CTF_CONTEXT, "vpid") };
	return t->vpid;
}

static int count(struct scan *l, const struct trace_event *e)
{
	struct recent *r = l->r;
	struct recent_program *p;
	const struct ctf_op *vpid;
	uint64_t bytes;
	int64_t pid;

	if (e->stream->number >= l->n_bookmarks &&
	    !(l->bookmarks = grow(l->bookmarks, &l->n_bookmarks, trace_n_streams(l->trace),
				  sizeof *l->bookmarks)))
		return -ENOMEM;
	if (trace_class_number(e) >= l->n_pid_fields &&
	    !(l->pid_fields = grow(l->pid_fields, &l->n_pid_fields, trace_n_classes(l->trace),
				   sizeof *l->pid_fields)))
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
	vpid = pid_field_of(l, e);
	if (!vpid || !ctf_event_number(e->ctf, vpid, &pid))
		return 0; /* an event of the collector itself */
	if (r->n_programs == PROGRAMS_MOST && !recent_find(r, pid))
		return 0;
	p = program_of(r, pid);
	if (!p)
		return -ENOMEM;
	p->events++;
	p->bytes += bytes;
	return 0;
}

static int scan_window(struct scan *l, int64_t window_ns, uint64_t max_events, struct diag *d)
{
	struct recent *r = l->r;
	struct trace_event e;
	int item, err = trace_refresh(l->trace, d);

	if (err < 0)
		return err;
	r->end_ns = trace_following(l->trace)->known_ns;
	if (r->end_ns == INT64_MIN || trace_following(l->trace)->n_sent)
		return -EAGAIN; /* a recording that is sent away has no files here */
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
	struct scan l = { .r = r };
	int err;

	*r = (struct recent){ .events = 0 };
	err = trace_open(&l.trace, &path, 1, &o, d);
	if (err)
		return err;
	err = scan_window(&l, window_ns, max_events, d);
	free(l.bookmarks);
	free(l.pid_fields);
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
