/* SPDX-License-Identifier: MIT */
/*
 * trace/seek.c - moves a trace's cursor to a time or backward, and opens parts: see trace.h,
 * internal.h.
 *
 * Going backward, every stream is on the item before the cursor, and a linear search finds the
 * latest.  A second heap in the other order would be faster for many streams, but backward steps
 * are rare: a pager makes them.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

/* Other streams keep the events they decoded ahead. */
static void turn_from_rows(struct trace *t)
{
	assert(t->n_heap || !t->is_spent);
	if (t->is_spent)
		trace_advance(t);
	t->is_spent = false;
	t->mode = TRACE_FORWARD;
	if (t->n_heap)
		trace_unread(t->heap[0]);
}

void trace_turn_forward(struct trace *t)
{
	if (t->mode == TRACE_ROWS)
		return turn_from_rows(t);
	for (uint32_t i = 0; i < t->n_streams; i++) {
		struct stream *s = t->streams[i];

		if (t->mode == TRACE_START)
			stream_next(s);
		else if (t->mode == TRACE_BACKWARD && s != t->given)
			stream_forward(s);
		if (s->back) /* from now on it moves forward without updating its bookmarks */
			s->back->is_current = false;
	}
	if (t->mode != TRACE_FRESH)
		trace_build_heap(t);
	t->mode = TRACE_FORWARD;
	t->given = NULL;
	assert(t->n_heap <= t->n_streams);
}

void trace_seek(struct trace *t, int64_t time_ns)
{
	trace_leave_batch(t);
	for (uint32_t i = 0; i < t->n_streams; i++)
		stream_seek(t->streams[i], time_ns);
	trace_build_heap(t);
	t->mode = TRACE_FRESH;
	t->given = NULL;
}

bool trace_stream_is_of(const struct trace *t, uint32_t stream, uint32_t *class_id)
{
	const struct stream *s = t->streams[stream];

	*class_id = (uint32_t)s->indexed_class;
	return s->is_by_index && s->indexed_class <= UINT32_MAX;
}

bool trace_stream_knows_births(const struct trace *t, uint32_t stream)
{
	return t->streams[stream]->knows_births;
}

bool trace_stream_is_complete(const struct trace *t, uint32_t stream)
{
	const struct stream *s = t->streams[stream];

	return s->is_by_index && s->n_packets && s->last.sequence == s->n_packets - 1 &&
	       !s->sum_lost_events;
}

bool trace_stream_has_index(const struct trace *t, uint32_t stream)
{
	return t->streams[stream]->is_by_index;
}

void trace_skip_stream(struct trace *t, uint32_t stream, int64_t time_ns)
{
	assert(t->mode == TRACE_START);
	stream_skip_to(t->streams[stream], time_ns);
}

bool trace_places(const struct trace *t, uint64_t *places)
{
	assert(t->mode == TRACE_FORWARD);
	for (uint32_t i = 0; i < t->n_streams; i++) {
		const struct stream *s = t->streams[i];

		if (s->n_damages || s->lacks_begin || s->has_failed)
			return false;
		places[i] = stream_place(s);
	}
	return !t->n_damages;
}

bool trace_resume(struct trace *t, int64_t time_ns, const uint64_t *places)
{
	assert(t->mode == TRACE_START || t->mode == TRACE_FRESH);
	for (uint32_t i = 0; i < t->n_streams; i++)
		if (!stream_is_place(t->streams[i], places[i]))
			return false;
	for (uint32_t i = 0; i < t->n_streams; i++)
		stream_resume(t->streams[i], time_ns, places[i]);
	trace_build_heap(t);
	t->mode = TRACE_FRESH;
	return true;
}

/* Moves all streams to the item before the cursor.  The stream that gave the last item is there
 * already. */
static int turn_backward(struct trace *t)
{
	struct stream *given;

	trace_leave_batch(t);
	given = t->mode == TRACE_FORWARD && t->n_heap ? t->heap[0] : NULL;
	if (t->mode == TRACE_START)
		trace_turn_forward(t), given = NULL;
	t->mode = TRACE_BACKWARD;
	t->given = NULL;
	for (uint32_t i = 0; i < t->n_streams; i++)
		if (t->streams[i] != given && stream_previous(t->streams[i]))
			return -ENOMEM;
	return 0;
}

int trace_previous(struct trace *t, struct trace_event *e, struct diag *d)
{
	struct stream *last = NULL;
	int err = 0;

	if (t->follow)
		return diag_fail(d, -ENOTSUP, "a followed recording can only be read forward");
	if (t->mode != TRACE_BACKWARD)
		err = turn_backward(t);
	else if (t->given)
		err = stream_previous(t->given);
	if (err)
		return diag_fail(d, err, "no memory to read backward");
	assert(t->mode == TRACE_BACKWARD);
	for (uint32_t i = 0; i < t->n_streams; i++) {
		struct stream *s = t->streams[i];

		if (s->item != TRACE_END && (!last || trace_is_before(last, s)))
			last = s;
	}
	t->given = last;
	return last ? trace_describe_item(last, e) : TRACE_END;
}

void trace_hold(struct trace *t, bool holds)
{
	for (uint32_t i = 0; i < t->n_streams; i++) {
		if (holds) /* memory of the previous hold is not needed any more */
			stream_trim(t->streams[i]);
		t->streams[i]->holds = holds;
	}
}

/* A copy of @s at its beginning that shares the map; NULL without memory. */
static struct stream *copy_stream(const struct stream *s, const struct trace_options *o)
{
	struct stream *copy = malloc(sizeof *copy);
	struct stream_packet *packets = malloc((s->n_packets + (size_t)1) * sizeof *packets);
	struct compressed_file *packed = s->packed ? compressed_share(s->packed) : NULL;

	if (!copy || !packets || (s->packed && !packed)) {
		compressed_close(packed);
		free(packets);
		free(copy);
		return NULL;
	}
	if (s->n_packets)
		memcpy(packets, s->packets, s->n_packets * sizeof *packets);
	*copy = (struct stream){
		.info = s->info,
		.options = o,
		.bytes = packed ? compressed_bytes(packed) : s->bytes,
		.packed = packed,
		.is_sparse = s->is_sparse,
		.is_by_index = s->is_by_index,
		.knows_births = s->knows_births,
		.indexed_class = s->indexed_class,
		.size = s->size,
		.map_size = s->map_size,
		.indexed = s->indexed,
		.packets = packets,
		.n_packets = s->n_packets,
		.base_ns = s->base_ns,
		.freq = s->freq,
		.cpu = TRACE_CPU_UNKNOWN,
		.keep_bytes = s->keep_bytes,
		.is_part = true,
	};
	return copy;
}

static bool adopt_copy(struct trace *part, const struct stream *s)
{
	struct stream *copy = copy_stream(s, &part->options);

	if (!copy)
		return false;
	part->streams[part->n_streams++] = copy;
	return true;
}

/* A part without streams, and room for @n. */
static struct trace *open_part(const struct trace *t, uint32_t n)
{
	struct trace *part = calloc(1, sizeof *part);

	if (!part)
		return NULL;
	part->options = t->options;
	part->options.warn = NULL;
	part->sources = t->sources;
	part->n_sources = t->n_sources;
	part->n_classes = t->n_classes;
	part->is_part = true;
	part->streams = calloc(n + (size_t)1, sizeof *part->streams);
	part->heap = calloc(n + (size_t)1, sizeof *part->heap);
	if (part->streams && part->heap)
		return part;
	trace_close(part);
	return NULL;
}

int trace_part(const struct trace *t, uint32_t number,
	       void (*warn)(void *context, const char *text), void *context, struct trace **result)
{
	uint32_t first = number == TRACE_ALL_STREAMS ? 0 : number;
	uint32_t n = number == TRACE_ALL_STREAMS ? t->n_streams : 1;
	struct trace *part;

	*result = NULL;
	if (t->follow || (number != TRACE_ALL_STREAMS && number >= t->n_streams))
		return -EINVAL;
	part = open_part(t, n);
	if (!part)
		return -ENOMEM;
	part->options.warn = warn;
	part->options.context = context;
	while (part->n_streams < n)
		if (!adopt_copy(part, t->streams[first + part->n_streams])) {
			trace_close(part);
			return -ENOMEM;
		}
	*result = part;
	return 0;
}

int trace_births_of(const struct trace *t, const bool *wanted, struct trace **result)
{
	int err = trace_part_of(t, wanted, result);

	for (uint32_t i = 0; !err && i < (*result)->n_streams; i++)
		(*result)->streams[i]->has_births_alone = true;
	return err;
}

int trace_part_of(const struct trace *t, const bool *wanted, struct trace **result)
{
	struct trace *part;

	*result = NULL;
	if (t->follow)
		return -EINVAL;
	part = open_part(t, t->n_streams);
	if (!part)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_streams; i++)
		if (wanted[i] && !adopt_copy(part, t->streams[i])) {
			trace_close(part);
			return -ENOMEM;
		}
	*result = part;
	return 0;
}
