/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/stream_files.c - open and close a drain and its stream files, and describe its
 * stream class and event classes in the metadata.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collect/drain/internal.h"
#include "ctf/write/public.h"

enum { DESCRIBED_NOT, DESCRIBED_NOW, DESCRIBED }; /* NOW: in the block being written */

/* ---------------------------------------------------------------- opening */

/* struct abi_ctf_ids.  Babeltrace 1 ends at an aligned integer of 24 bits, so none is said to be. */
static const char ids_tsdl[] =
	"\t\tinteger { size = 24; align = 1; signed = true; base = 10; } _vpid;\n"
	"\t\tinteger { size = 24; align = 1; signed = true; base = 10; } _vtid;\n";

void drain_add_stream(struct text *t, uint32_t class_id, uint64_t contexts, bool has_ids)
{
	text_addf(t,
		  "stream {\n\tid = %u;\n\tevent.header := struct event_header_compact;\n"
		  "\tpacket.context := struct packet_context;\n",
		  class_id);
	if (has_ids || contexts) {
		text_addf(t, "\tevent.context := struct {\n%s", has_ids ? ids_tsdl : "");
		context_to_tsdl(t, contexts);
		text_addf(t, "\t} align(8);\n");
	}
	text_addf(t, "};\n\n");
}

static void add_own_stream(struct drain *d, struct text *t)
{
	if (!d->is_stream_described)
		drain_add_stream(t, d->class_id, d->contexts, d->pool->context_bytes);
}

int drain_describe_stream(struct drain *d, struct diag *diag)
{
	struct text t = { 0 };
	int err = 0;

	add_own_stream(d, &t);
	if (t.failed)
		err = diag_fail(diag, -ENOMEM, "no memory for the collector");
	else if (t.size)
		err = ctf_writer_describe(d->sink, t.bytes, t.size, diag);
	d->is_stream_described |= !err;
	text_fini(&t);
	return err;
}

uint64_t drain_count_closed(const struct drain *d)
{
	return load(&d->pool->shared->order) - d->n_freed;
}

/* More at once gains nothing: docs/design/figures/collector.md. */
static uint32_t packets_at_once(uint32_t chunk_size)
{
	enum { AT_ONCE_BYTES = 1 << 18 };
	uint32_t n = AT_ONCE_BYTES / chunk_size;

	return n < 1 ? 1 : n > CTF_PACKETS_MOST ? CTF_PACKETS_MOST : n;
}

int drain_open(struct drain **drain, const struct drain_options *o, struct diag *diag)
{
	struct drain *d = calloc(1, sizeof *d);
	struct pool *pool = o->pool;
	int err = 0;

	assert(o->class_id < ABI_CHANNELS);
	*drain = NULL;
	if (!d)
		return diag_fail(diag, -ENOMEM, "no memory for the collector");
	d->pool = pool;
	d->n_at_once = packets_at_once((uint32_t)pool->chunk_size);
	d->sink = o->sink;
	d->class_id = o->class_id;
	d->contexts = o->contexts;
	d->bounds = o->bounds;
	d->begin_ns = o->bounds ? o->bounds->begin_ns : 0;
	snprintf(d->prefix, sizeof d->prefix, "%s%s", o->name, *o->name ? "_" : "");
	d->cpus = calloc(pool->n_cpus, sizeof *d->cpus);
	d->exclusive_streams = calloc(DRAIN_EXCLUSIVE_STREAMS, sizeof *d->exclusive_streams);
	d->counter = counter_open(o->contexts, pool->context_bytes);
	d->marks = calloc(pool->n_chunks, sizeof *d->marks);
	d->seen = calloc(pool->n_chunks, sizeof *d->seen);
	d->is_described = calloc(ABI_SCHEMAS, sizeof *d->is_described);
	d->n_polled = drain_count_closed(d);
	drain_publish_drift(d); /* before a program gives up its clock */
	if (!d->cpus || !d->exclusive_streams || !d->counter || !d->marks || !d->seen ||
	    !d->is_described)
		err = diag_fail(diag, -ENOMEM, "no memory for the collector");
	if (err)
		drain_close(d);
	else
		*drain = d;
	return err;
}

/* Takes over chunks that an earlier collector wrote in part: the rest goes into our trace. */
void drain_resume(struct drain *d)
{
	struct drain_chunk *s = &d->seen[0];

	for (uint32_t i = 0; i < d->pool->n_cpus; i++)
		d->cpus[i].next = UINT64_MAX;
	for (uint32_t i = 0; i < d->pool->n_chunks; i++) {
		if (!drain_inspect(d->pool, i, s))
			continue;
		d->marks[i].cut_ns = load(&pool_chunk_at(d->pool, i)->cut_ns);
		if (d->marks[i].cut_ns > s->begin_ns + s->since_ns) /* corrupted */
			d->marks[i].cut_ns = s->begin_ns + s->since_ns;
		if (s->path == ABI_PATH_RSEQ && s->sequence < d->cpus[s->cpu].next)
			d->cpus[s->cpu].next = s->sequence;
	}
	for (uint32_t i = 0; i < d->pool->n_cpus; i++)
		if (d->cpus[i].next == UINT64_MAX)
			d->cpus[i].next = 0;
}

static void close_output(struct output *o)
{
	if (o->is_open)
		ctf_stream_close(&o->stream);
	o->is_open = false;
}

void drain_close(struct drain *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; d->cpus && i < d->pool->n_cpus; i++)
		close_output(&d->cpus[i]);
	for (uint32_t i = 0; i < d->n_exclusive_streams; i++)
		close_output(&d->exclusive_streams[i]);
	drain_forget_copy(d);
	free(d->cpus);
	free(d->exclusive_streams);
	counter_close(d->counter);
	free(d->marks);
	free(d->scratch);
	free(d->seen);
	free(d->is_described);
	free(d);
}

int drain_open_stream(struct drain *d, struct output *o, const char *kind, uint32_t number,
		      struct diag *diag)
{
	char name[64];
	int err;

	if (o->is_open)
		return 0;
	snprintf(name, sizeof name, "%s%s_%u", d->prefix, kind, number);
	err = ctf_stream_open(&o->stream, d->sink, name, diag);
	o->stream.class_id = d->class_id;
	if (d->pool->flight_recorder)
		o->stream.begin_ns = 0; /* older events may have been overwritten */
	o->is_open = !err;
	return err;
}

/* ---------------------------------------------------------------- classes */

int drain_describe(struct drain *d, struct diag *diag)
{
	uint32_t n = load(&d->pool->shared->n_schemas);
	char schema[ABI_SCHEMA_MAX_BYTES];
	struct text t = { 0 };
	int err = 0;

	n = n < ABI_SCHEMAS ? n : ABI_SCHEMAS;
	for (uint32_t i = d->n_described; i < n; i++) {
		uint32_t size = load_acquire(&d->pool->schemas[i].size); /* pairs with [S] */
		uint32_t at = load(&d->pool->schemas[i].offset);

		if (d->is_described[i] || !size)
			continue; /* size 0: registered but not used yet, perhaps never */
		if (size > sizeof schema || at > ABI_SCHEMA_TEXT_BYTES ||
		    size > ABI_SCHEMA_TEXT_BYTES - at)
			size = at = 0;
		memcpy(schema, d->pool->text + at, size);
		if (!t.size)
			add_own_stream(d, &t);
		schema_to_tsdl(&t, schema, size, d->class_id, i + 1);
		err = counter_describe(d->counter, i + 1, schema, size);
		if (err)
			break;
		d->is_described[i] = DESCRIBED_NOW;
	}
	if (t.failed || err)
		err = diag_fail(diag, -ENOMEM, "no memory to describe events");
	else if (t.size)
		err = ctf_writer_describe(d->sink, t.bytes, t.size, diag);
	d->is_stream_described |= t.size && !err;
	text_fini(&t);
	for (uint32_t i = d->n_described; i < n; i++)
		if (d->is_described[i] == DESCRIBED_NOW)
			d->is_described[i] = err ? DESCRIBED_NOT : DESCRIBED;
	while (d->n_described < n && d->is_described[d->n_described])
		d->n_described++;
	return err;
}
