/* SPDX-License-Identifier: MIT */
/*
 * read/open.c - opens recordings, moves the cursor, and describes classes and streams: duet/read.h.
 *
 * Descriptions have addresses that never change, so that a caller may keep pointers to them while
 * more are added.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "read/internal.h"

static void on_damage(void *context, const char *text)
{
	struct duet_read *r = context;

	if (r->damage)
		r->damage(r->context, text);
}

static uint32_t kind_of(const struct ctf_op *op)
{
	switch (op->code) {
	case OP_STRING:
	case OP_WIDE_STRING:
	case OP_TEXT_ARRAY:
	case OP_TEXT_SEQUENCE:
		return DUET_READ_TEXT;
	case OP_ARRAY:
	case OP_SEQUENCE:
	case OP_LOOP:
		return DUET_READ_ARRAY;
	case OP_OPEN:
		return DUET_READ_STRUCT;
	case OP_CHOICE:
		return DUET_READ_NONE;
	default:
		break;
	}
	if (op->type->kind == CTF_FLOAT)
		return DUET_READ_REAL;
	if (op->type->n_members)
		return DUET_READ_LABEL;
	return op->is_signed ? DUET_READ_INT : DUET_READ_UINT;
}

/* Returns the operation after the field of @op, including everything the field contains. */
static const struct ctf_op *after_field(const struct ctf_program *p, const struct ctf_op *op)
{
	int depth = 0;

	/* Every case of a variant ends with a jump behind it.  The last case's jump is the first
	 * one at or behind its beginning. */
	if (op->code == OP_CHOICE) {
		uint32_t last = (uint32_t)(op - p->ops);

		for (uint32_t i = 0; i < op->n_cases; i++)
			last = op->cases[i].to > last ? op->cases[i].to : last;
		for (const struct ctf_op *o = op + 1; o < p->ops + p->n_ops; o++)
			if (o->code == OP_JUMP && (uint32_t)(o - p->ops) >= last)
				return p->ops + o->to;
		return p->ops + last;
	}
	do {
		depth += op->code == OP_OPEN || op->code == OP_LOOP;
		depth -= op->code == OP_CLOSE || op->code == OP_CLOSE_ARRAY;
		op++;
	} while (depth && op < p->ops + p->n_ops);
	return op;
}

static bool is_shown(const struct ctf_op *op)
{
	return op->code != OP_RUN && op->code != OP_SAVE && op->code != OP_JUMP &&
	       op->code != OP_AGAIN && !op->is_hidden;
}

static const struct ctf_op *next_field(const struct ctf_program *p, const struct ctf_op *op)
{
	while (op->code != OP_END && !is_shown(op))
		op++;
	return op < p->ops + p->n_ops && op->code != OP_END ? op : NULL;
}

static uint32_t count_fields(const struct ctf_program *p)
{
	const struct ctf_op *op;
	uint32_t n = 0;

	for (op = next_field(p, p->ops); op; op = next_field(p, after_field(p, op)))
		n++;
	return n;
}

static void describe_field(struct duet_read_field *f, const struct ctf_op *op)
{
	*f = (struct duet_read_field){
		.name = op->name,
		.scope = op->scope == CTF_PAYLOAD ? DUET_READ_PAYLOAD : DUET_READ_CONTEXT,
		.kind = kind_of(op),
	};
	if (op->code == OP_NUMBER || op->code == OP_LEB128) {
		f->base = op->type->base;
		f->size_bits = op->size_bits;
	}
}

static int describe_fields(struct read_class *c, const struct ctf_program *p)
{
	uint32_t n = count_fields(p), i = 0;
	struct duet_read_field *fields = calloc(n + (size_t)1, sizeof *fields);

	c->public.fields = fields;
	c->ops = calloc(n + (size_t)1, sizeof *c->ops);
	if (!fields || !c->ops)
		return -ENOMEM;
	c->public.n_fields = n;
	for (const struct ctf_op *op = next_field(p, p->ops); op && i < n;
	     op = next_field(p, after_field(p, op)), i++) {
		describe_field(&fields[i], op);
		c->ops[i] = op;
	}
	return 0;
}

static int describe_class(struct read_class *c, const struct ctf_event_class *e, const char *trace)
{
	c->ctf = e;
	c->public = (struct duet_read_class){ .name = e->name,
					      .id = e->id,
					      .loglevel = e->loglevel,
					      .trace = trace,
					      .error = e->error };
	if (!e->program && !e->error)
		c->public.error = "it is of a stream that the metadata do not describe";
	return e->program ? describe_fields(c, e->program) : 0;
}

/* Extends a list to @n pointers; those from @from on point to new, zeroed objects of @size
 * bytes. */
static int grow(void *list, uint32_t from, uint32_t n, size_t size)
{
	void **at = reallocarray(*(void ***)list, n + (size_t)1, sizeof *at);

	if (!at)
		return -ENOMEM;
	assert(from <= n);
	*(void ***)list = at;
	for (uint32_t i = from; i < n; i++) {
		at[i] = calloc(1, size);
		if (!at[i]) {
			while (i-- > from)
				free(at[i]);
			return -ENOMEM;
		}
	}
	return 0;
}

static int describe_classes(struct duet_read *r)
{
	uint32_t before = r->n_classes, n = trace_n_classes(r->trace);

	if (r->classes && n == before)
		return 0;
	if (grow(&r->classes, before, n, sizeof **r->classes))
		return -ENOMEM;
	r->n_classes = n;
	for (uint32_t i = 0; i < trace_n_sources(r->trace); i++) {
		const struct trace_source *s = trace_source(r->trace, i);

		for (const struct ctf_event_class *e = s->meta->events; e; e = e->next)
			if (e->number >= before &&
			    describe_class(r->classes[e->number], e, s->path))
				return -ENOMEM;
	}
	return 0;
}

/* Known streams are updated, too: their sizes and times change. */
static int describe_streams(struct duet_read *r)
{
	uint32_t n = trace_n_streams(r->trace);

	if (grow(&r->streams, r->n_streams, n, sizeof **r->streams))
		return -ENOMEM;
	r->n_streams = n;
	for (uint32_t i = 0; i < n; i++) {
		const struct trace_stream_info *s = trace_stream(r->trace, i);

		*r->streams[i] = (struct duet_read_stream){ .path = s->path,
							    .trace = s->source->path,
							    .n_packets = s->n_packets,
							    .size_bytes = s->size_bytes,
							    .begin_ns = s->begin_ns,
							    .end_ns = s->end_ns };
	}
	return 0;
}

int read_describe(struct duet_read *r)
{
	if (describe_classes(r) || describe_streams(r))
		return diag_fail(&r->why, -ENOMEM, "no memory to describe the trace");
	return 0;
}

int duet_read_open(struct duet_read **result, const char *const *paths, int n,
		   const struct duet_read_options *o, char *why)
{
	struct trace_options options = { .warn = on_damage };
	struct duet_read *r = calloc(1, sizeof *r);
	int err;

	*result = NULL;
	if (why)
		why[0] = 0;
	if (!r)
		return -ENOMEM;
	if (o && o->size >= offsetof(struct duet_read_options, follows)) {
		r->damage = o->damage;
		r->context = o->context;
		options.is_strict = o->is_strict;
		r->follows = options.follows = o->size >= sizeof *o && o->follows;
	}
	options.context = r;
	err = trace_open(&r->trace, paths, n, &options, &r->why);
	if (!err)
		err = read_describe(r);
	if (err) {
		if (why)
			memcpy(why, r->why.text, sizeof r->why.text);
		duet_read_close(r);
		return err;
	}
	r->known_ns = INT64_MIN;
	*result = r;
	return 0;
}

void duet_read_close(struct duet_read *r)
{
	if (!r)
		return;
	read_forget_texts(r);
	trace_close(r->trace);
	for (uint32_t i = 0; r->classes && !r->is_part && i < r->n_classes; i++) {
		free((void *)r->classes[i]->public.fields);
		free(r->classes[i]->ops);
		free(r->classes[i]);
	}
	for (uint32_t i = 0; r->streams && !r->is_part && i < r->n_streams; i++)
		free(r->streams[i]);
	if (!r->is_part) {
		free(r->classes);
		free(r->streams);
	}
	free(r);
}

int duet_read_part(const struct duet_read *r, uint32_t stream, struct duet_read **result)
{
	struct duet_read *part = malloc(sizeof *part);
	int err;

	*result = NULL;
	if (!part)
		return -ENOMEM;
	*part = (struct duet_read){ .classes = r->classes,
				    .n_classes = r->n_classes,
				    .streams = r->streams,
				    .n_streams = r->n_streams,
				    .is_part = true,
				    .damage = r->damage,
				    .context = r->context };
	err = r->is_part || r->follows
		      ? -EINVAL
		      : trace_part(r->trace, stream, on_damage, part, &part->trace);
	if (err)
		free(part);
	else
		*result = part;
	return err;
}

static int report(struct duet_read *r, int got, struct duet_read_item *item)
{
	assert(got <= TRACE_LOST);
	read_forget_texts(r);
	r->has_event = got == TRACE_EVENT;
	r->is_walking = false;
	if (got <= 0)
		return got;
	*item = (struct duet_read_item){
		.kind = (uint32_t)got,
		.stream = r->event.stream->number,
		.cpu = r->event.cpu,
		.time_ns = r->event.time_ns,
	};
	if (r->has_event) {
		item->class_number = trace_class_number(&r->event);
	} else {
		item->lost_events = r->event.lost_events;
		item->lost_packets = r->event.lost_packets;
	}
	return got;
}

int duet_read_next(struct duet_read *r, struct duet_read_item *item)
{
	return report(r, trace_next(r->trace, &r->event, &r->why), item);
}

int duet_read_previous(struct duet_read *r, struct duet_read_item *item)
{
	if (r->follows)
		return diag_fail(&r->why, -EINVAL, "a reader that follows can only move forward");
	return report(r, trace_previous(r->trace, &r->event, &r->why), item);
}

void duet_read_seek(struct duet_read *r, int64_t time_ns)
{
	if (r->follows)
		return;
	trace_seek(r->trace, time_ns);
	r->has_event = false;
}

const char *duet_read_why(const struct duet_read *r)
{
	return r->why.text;
}

uint64_t duet_read_n_damages(const struct duet_read *r)
{
	return trace_n_damages(r->trace);
}

uint32_t duet_read_n_streams(const struct duet_read *r)
{
	return r->n_streams;
}

uint32_t duet_read_n_classes(const struct duet_read *r)
{
	return r->n_classes;
}

const struct duet_read_stream *duet_read_stream_info(const struct duet_read *r, uint32_t stream)
{
	return stream < r->n_streams ? r->streams[stream] : NULL;
}

const struct duet_read_class *duet_read_class_info(const struct duet_read *r, uint32_t class_number)
{
	return class_number < r->n_classes ? &r->classes[class_number]->public : NULL;
}

int duet_read_find(const struct duet_read *r, uint32_t class_number, const char *name)
{
	const struct duet_read_class *c = duet_read_class_info(r, class_number);

	for (uint32_t i = c ? c->n_fields : 0; i-- > 0;)
		if (!strcmp(c->fields[i].name, name))
			return (int)i;
	return -ENOENT;
}
