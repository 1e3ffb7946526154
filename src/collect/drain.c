/* SPDX-License-Identifier: MIT */
/* collect/drain.c - see drain.h; for the life of a chunk, abi/pool.h. */
#include "collect/drain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/ctf.h"
#include "base/text.h"
#include "clock/clock.h"
#include "collect/drain_internal.h"
#include "ctf/schema.h"

enum { LANES = 1024, STUCK_PASSES = 3, PROCNAME = 17, NAMES_BYTES = 64 << 10 };
enum { DESCRIBED_NOT, DESCRIBED_NOW, DESCRIBED }; /* NOW: in the block being written */

/* ---------------------------------------------------------------- opening */

static const char stream_tsdl[] =
	"struct event_header_large {\n"
	"\tenum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;\n"
	"\tvariant <id> {\n"
	"\t\tstruct {\n\t\t\tuint32_clock_monotonic_t timestamp;\n\t\t} compact;\n"
	"\t\tstruct {\n\t\t\tuint32_t id;\n\t\t\tuint64_clock_monotonic_t timestamp;\n"
	"\t\t} extended;\n\t} v;\n} align(8);\n\n"
	"stream {\n\tid = 0;\n\tevent.header := struct event_header_large;\n"
	"\tpacket.context := struct packet_context;\n"
	"\tevent.context := struct {\n"
	"\t\tinteger { size = 32; align = 8; signed = true; base = 10; } _vpid;\n"
	"\t\tinteger { size = 32; align = 8; signed = true; base = 10; } _vtid;\n\t};\n};\n\n"
	/* Program names, once for each that joins: the collector's own class. */
	"event {\n\tname = \"lttng_ust_statedump:procname\";\n\tid = 0;\n\tstream_id = 0;\n"
	"\tloglevel = 13;\n\tfields := struct {\n"
	"\t\tinteger { size = 8; align = 8; signed = false; encoding = UTF8; } _procname[17];\n"
	"\t};\n};\n\n";

int drain_open(struct drain **drain, struct pool *pool, const char *path,
	       uint64_t clock_offset_ns, struct diag *diag)
{
	struct drain *d = calloc(1, sizeof *d);
	struct ctf_sink_options o = { .path = path,
				      .domain = "ust",
				      .clock = &pool->clock,
				      .clock_offset_ns = clock_offset_ns };
	int err;

	*drain = NULL;
	if (!d)
		return diag_fail(diag, -ENOMEM, "no memory for the collector");
	d->pool = pool;
	d->sink = (struct ctf_sink){ .dir = -1, .index_dir = -1, .metadata = -1 };
	d->cpus = calloc(pool->n_cpus, sizeof *d->cpus);
	d->lanes = calloc(LANES, sizeof *d->lanes);
	d->marks = calloc(pool->n_chunks, sizeof *d->marks);
	d->seen = calloc(pool->n_chunks, sizeof *d->seen);
	d->is_described = calloc(ABI_SCHEMAS, sizeof *d->is_described);
	if (!d->cpus || !d->lanes || !d->marks || !d->seen || !d->is_described)
		err = diag_fail(diag, -ENOMEM, "no memory for the collector");
	else
		err = ctf_sink_open(&d->sink, &o, diag);
	if (!err)
		err = ctf_sink_describe(&d->sink, stream_tsdl, strlen(stream_tsdl), diag);
	if (err)
		drain_close(d);
	else
		*drain = d;
	return err;
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
	for (uint32_t i = 0; i < d->n_lanes; i++)
		close_output(&d->lanes[i]);
	close_output(&d->state);
	ctf_sink_close(&d->sink);
	drain_forget_copy(d);
	text_fini(&d->names);
	free(d->cpus);
	free(d->lanes);
	free(d->marks);
	free(d->seen);
	free(d->is_described);
	free(d);
}

int drain_ready(struct drain *d, struct output *o, const char *kind, uint32_t number,
			struct diag *diag)
{
	char name[64];
	int err;

	if (o->is_open)
		return 0;
	snprintf(name, sizeof name, "%s_%u", kind, number);
	err = ctf_stream_open(&o->stream, &d->sink, name, diag);
	o->is_open = !err;
	return err;
}

/* ---------------------------------------------------------------- classes */

/* Describes the classes registered since, in one write.  What could not be written is tried again. */
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
			continue; /* size 0: not used by anybody yet, perhaps never */
		if (size > sizeof schema || at > ABI_SCHEMA_TEXT_BYTES ||
		    size > ABI_SCHEMA_TEXT_BYTES - at)
			size = at = 0;
		memcpy(schema, d->pool->text + at, size);
		schema_to_tsdl(&t, schema, size, i + 1);
		d->is_described[i] = DESCRIBED_NOW;
	}
	if (t.failed)
		err = diag_fail(diag, -ENOMEM, "no memory to describe events");
	else if (t.size)
		err = ctf_sink_describe(&d->sink, t.bytes, t.size, diag);
	text_fini(&t);
	for (uint32_t i = d->n_described; i < n; i++)
		if (d->is_described[i] == DESCRIBED_NOW)
			d->is_described[i] = err ? DESCRIBED_NOT : DESCRIBED;
	while (d->n_described < n && d->is_described[d->n_described])
		d->n_described++;
	return err;
}

/* ---------------------------------------------------------------- looking */

/* How far the chunk is written, and when: bounded. */
static void look_at_word(const struct drain *d, struct seen *s)
{
	/* [B] pairs with [A]: all below it is written. */
	uint64_t word = load_acquire(&pool_chunk_at(d->pool, s->index)->word);

	s->since_ns = ABI_SINCE_OF(word);
	s->position = ABI_POS_OF(word);
	if (s->position < sizeof(struct abi_chunk) || s->position > d->pool->chunk_size)
		s->position = sizeof(struct abi_chunk);
}

/* Copies and bounds what chunk @i says of itself.  False if there is nothing to read. */
bool drain_look_at(struct drain *d, uint32_t i, struct seen *s)
{
	struct abi_chunk *c = pool_chunk_at(d->pool, i);
	uint64_t read;

	s->state = load_acquire(&d->pool->states[i]); /* [D] pairs with [C], ring/pool.c */
	if (ABI_STATE_OF(s->state) != ABI_OWNED && ABI_STATE_OF(s->state) != ABI_FULL)
		return false;
	s->index = i;
	look_at_word(d, s); /* before the header, which is whole when the word is beyond it */
	read = load(&c->read);
	s->cpu = load(&c->cpu);
	s->path = load(&c->path);
	s->sequence = load(&c->sequence);
	s->begin_ns = load(&c->begin_ns);
	s->is_final = ABI_STATE_OF(s->state) == ABI_FULL;
	s->bytes = (const char *)c;
	s->read = read < sizeof *c || read > s->position ? sizeof *c : (uint32_t)read;
	if (s->path != ABI_PATH_W || s->cpu >= d->pool->n_cpus)
		s->path = ABI_PATH_X;
	/* Claimed and not yet installed: its header is not complete. */
	return s->position > sizeof *c || s->is_final;
}

/* CPU chunks by CPU and number, then the others by time. */
int drain_compare(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->path != y->path)
		return x->path == ABI_PATH_W ? -1 : 1;
	if (x->path == ABI_PATH_W && x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->path == ABI_PATH_W && x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static uint32_t look_at_all(struct drain *d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->pool->n_chunks; i++)
		n += drain_look_at(d, i, &d->seen[n]);
	qsort(d->seen, n, sizeof *d->seen, drain_compare);
	return n;
}

/* ---------------------------------------------------------------- writing */

int drain_packet(struct drain *d, struct output *o, const struct seen *s, uint64_t lost,
			struct diag *diag)
{
	struct mark *m = &d->marks[s->index];
	struct iovec body = { (void *)(s->bytes + s->read), s->position - s->read };
	struct ctf_packet p = {
		.begin_ns = s->read == sizeof(struct abi_chunk) ? s->begin_ns : m->cut_ns,
		.end_ns = s->begin_ns + s->since_ns,
		.discarded = lost,
		.sequence = o->stream.sequence,
		.cpu = s->cpu,
		.n_body = 1,
		.body = &body,
	};
	int err;

	/* Always so for honest programs; a reader must not see time run backwards for the others. */
	if (p.begin_ns < o->end_ns)
		p.begin_ns = o->end_ns;
	if (p.end_ns < p.begin_ns)
		p.end_ns = p.begin_ns;
	err = ctf_stream_append(&o->stream, &p, diag);
	if (err)
		return err;
	o->end_ns = p.end_ns;
	o->lost = lost;
	return 0;
}

/* The same, and notes how far the chunk is in the file: not to be repeated, even by a successor. */
static int write_once(struct drain *d, struct output *o, const struct seen *s, uint64_t lost,
		      struct diag *diag)
{
	int err = drain_packet(d, o, s, lost, diag);

	if (err)
		return err;
	d->marks[s->index].cut_ns = s->begin_ns + s->since_ns;
	store(&pool_chunk_at(d->pool, s->index)->read, s->position);
	return 0;
}

/* Fails harmlessly if the chunk is no longer in the state we saw: then the next pass does it. */
static void free_chunk(struct drain *d, const struct seen *s)
{
	uint64_t state = s->state, order = fetch_add(&d->pool->shared->order, 1);
	struct mark *m = &d->marks[s->index];

	if (!compare_exchange(&d->pool->states[s->index], &state, ABI_STATE(order, 0, ABI_FREE)))
		return;
	if (m->lane)
		d->lanes[m->lane - 1].chunk = 0;
	*m = (struct mark){ 0 };
}

uint64_t drain_slot_lost(const struct drain *d, uint32_t slot)
{
	return load(&pool_slot(d->pool, slot)->lost);
}

/* Chunks [s, end) of one CPU, sorted. */
static int drain_cpu(struct drain *d, struct seen *s, struct seen *end, bool partial,
		     struct diag *diag)
{
	struct output *o = &d->cpus[s->cpu];
	int err = drain_ready(d, o, "cpu", s->cpu, diag);

	if (err)
		return err;
	/* It was closed late, after its successor told us that it was final: all of it is written. */
	while (s < end && s->sequence < o->next && s->position == s->read)
		free_chunk(d, s++);
	if (s == end)
		return 0;
	/*
	 * A scan may see chunk n + 1 and miss n, claimed behind its back: wait for n.  If n does
	 * not come it is not there (a page scribbled over): go on, the gap is a lost packet.
	 */
	if (s->sequence > o->next && ++o->stuck < STUCK_PASSES)
		return 0;
	if (s->sequence > o->next)
		o->stream.sequence += s->sequence - o->next;
	o->next = s->sequence;
	o->stuck = 0;
	for (; s < end && s->sequence == o->next; s++) {
		/* A successor replaced it in the slot: it is final (write.c, (4)).  It was looked at
		 * before the successor was, perhaps, and went on: look again. */
		if (!s->is_final && s + 1 < end && s[1].sequence == s->sequence + 1) {
			look_at_word(d, s);
			s->is_final = true;
		}
		if (s->position > s->read && (s->is_final || partial)) {
			err = write_once(d, o, s, drain_slot_lost(d, s->cpu), diag);
			if (err)
				return err;
		}
		if (!s->is_final)
			break;
		free_chunk(d, s);
		o->next++;
	}
	return 0;
}

/* The chunk's lane, found for it if it has none: free, and ended before the chunk begins. */
struct output *drain_lane_of(struct drain *d, const struct seen *s)
{
	struct mark *m = &d->marks[s->index];
	uint32_t i;

	if (m->lane)
		return &d->lanes[m->lane - 1];
	for (i = 0; i < d->n_lanes; i++)
		if (!d->lanes[i].chunk && d->lanes[i].end_ns <= s->begin_ns)
			break;
	if (i == LANES)
		return NULL;
	if (i == d->n_lanes)
		d->n_lanes++;
	d->lanes[i].chunk = s->index + 1;
	m->lane = i + 1;
	return &d->lanes[i];
}

static int drain_exclusive(struct drain *d, const struct seen *s, bool partial,
			   struct diag *diag)
{
	int err = 0;

	if (s->position > s->read && (s->is_final || partial)) {
		struct output *o = drain_lane_of(d, s);

		if (!o)
			return 0; /* more open chunks than lanes: it waits */
		err = drain_ready(d, o, "lane", (uint32_t)(o - d->lanes), diag);
		if (!err)
			err = write_once(d, o, s, 0, diag);
	}
	if (!err && s->is_final)
		free_chunk(d, s);
	return err;
}

/* ---------------------------------------------------------------- names */

struct name_event {
	struct abi_ctf_event_extended header;
	uint32_t vpid, vtid;
	char procname[PROCNAME];
} __attribute__((packed));

static void add_name(struct drain *d, const struct name_event *e)
{
	if (!d->names.size)
		d->names_begin_ns = e->header.time;
	d->names_end_ns = e->header.time;
	text_add(&d->names, (const char *)e, sizeof *e);
}

/*
 * A flight recorder keeps the names until it ends, perhaps for weeks: those of the dead go when the pool holds
 * nothing as old as their joining, that is, now and then, when as many came again.
 */
static void forget_names_of_the_dead(struct drain *d)
{
	struct text all = d->names;
	uint64_t oldest_ns = UINT64_MAX;
	struct name_event e;

	for (uint32_t i = 0; i < d->pool->n_chunks; i++)
		if (drain_look_at(d, i, &d->seen[0]) && d->seen[0].begin_ns < oldest_ns)
			oldest_ns = d->seen[0].begin_ns;
	d->names = (struct text){ 0 };
	for (size_t at = 0; at < all.size; at += sizeof e) {
		memcpy(&e, all.bytes + at, sizeof e);
		if (e.header.time >= oldest_ns || !drain_is_dead(e.vpid))
			add_name(d, &e);
	}
	text_fini(&all);
	d->names_enough = 2 * d->names.size;
}

void drain_process(struct drain *d, uint64_t at_ns, uint32_t vpid, const char *program)
{
	struct name_event e = {
		.header = { ABI_CTF_EXTENDED, 0, at_ns },
		.vpid = vpid,
		.vtid = vpid,
	};

	snprintf(e.procname, sizeof e.procname, "%s", program);
	for (char *p = e.procname; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = '_';
	if (d->pool->flight_recorder && d->names.size > NAMES_BYTES && d->names.size > d->names_enough)
		forget_names_of_the_dead(d);
	add_name(d, &e);
}

void drain_names(struct drain *d, const struct drain *other, uint64_t from_ns)
{
	struct name_event e;

	for (size_t at = 0; at < other->names.size; at += sizeof e) {
		memcpy(&e, other->names.bytes + at, sizeof e);
		if (e.header.time < from_ns)
			e.header.time = from_ns;
		add_name(d, &e);
	}
}

int drain_write_names(struct drain *d, uint64_t lost, struct diag *diag)
{
	struct iovec body = { d->names.bytes, d->names.size };
	struct ctf_packet p = { .begin_ns = d->names_begin_ns,
				.end_ns = d->names_end_ns,
				.discarded = lost,
				.cpu = ABI_CPU_UNKNOWN,
				.n_body = d->names.size ? 1 : 0,
				.body = &body };
	int err;

	if (!d->names.size && lost == d->state.lost)
		return 0;
	err = drain_ready(d, &d->state, "state", 0, diag);
	if (err)
		return err;
	if (!d->names.size)
		p.begin_ns = p.end_ns = clock_now_ns(&d->pool->clock);
	p.sequence = d->state.stream.sequence;
	err = ctf_stream_append(&d->state.stream, &p, diag);
	if (!err)
		d->names.size = 0;
	d->state.lost = lost;
	return err;
}

/* ---------------------------------------------------------------- passes */

static uint32_t percent_used(const struct drain *d)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < d->pool->n_chunks; i++)
		used += ABI_STATE_OF(load(&d->pool->states[i])) != ABI_FREE;
	return (uint32_t)((uint64_t)used * 100 / d->pool->n_chunks);
}

static int write_seen(struct drain *d, uint32_t n, bool partial, struct diag *diag)
{
	struct seen *s = d->seen, *end = d->seen + n;
	int err = 0;

	while (s < end && !err && s->path == ABI_PATH_W) {
		struct seen *first = s;

		while (s < end && s->path == ABI_PATH_W && s->cpu == first->cpu)
			s++;
		err = drain_cpu(d, first, s, partial, diag);
	}
	for (; s < end && !err; s++)
		err = drain_exclusive(d, s, partial, diag);
	return err;
}

/* Bytes of events that were seen and are not in the file. */
static uint64_t count_unwritten(const struct drain *d, const struct seen *s, const struct seen *end)
{
	uint64_t n = 0;

	for (; s < end; s++) {
		uint64_t read = load(&pool_chunk_at(d->pool, s->index)->read);

		read = read < s->read ? s->read : read;
		n += read < s->position ? s->position - read : 0;
	}
	return n;
}

int drain_pass(struct drain *d, bool partial, struct diag *diag)
{
	uint32_t used, n;
	int err;

	if (partial || load(&d->pool->shared->exhausted))
		drain_reclaim(d);
	used = percent_used(d);
	n = look_at_all(d);
	err = drain_describe(d, diag); /* after looking: (2) */
	if (!err)
		err = drain_write_names(d, d->state.lost, diag);
	if (!err)
		err = write_seen(d, n, partial, diag);
	d->unwritten = err ? count_unwritten(d, d->seen, d->seen + n) : 0;
	store(&d->pool->shared->exhausted, 0);
	return err ? err : (int)used;
}

/* An empty packet that tells of losses after the last full one. */
static int tell_lost(struct drain *d, uint32_t cpu, struct diag *diag)
{
	struct output *o = &d->cpus[cpu];
	uint64_t now_ns = clock_now_ns(&d->pool->clock), lost = drain_slot_lost(d, cpu);
	struct ctf_packet p = { .begin_ns = now_ns, .end_ns = now_ns, .discarded = lost, .cpu = cpu };
	int err;

	if (lost == o->lost)
		return 0;
	err = drain_ready(d, o, "cpu", cpu, diag);
	if (err)
		return err;
	if (p.begin_ns < o->end_ns)
		p.begin_ns = p.end_ns = o->end_ns;
	p.sequence = o->stream.sequence;
	o->lost = lost;
	return ctf_stream_append(&o->stream, &p, diag);
}

int drain_finish(struct drain *d, uint64_t lost_outside, struct diag *diag)
{
	uint64_t lost = lost_outside;
	int first = 0, err;

	for (uint32_t i = 0; i < d->pool->n_cpus; i++) {
		err = tell_lost(d, i, first ? NULL : diag);
		first = first ? first : err;
	}
	for (uint32_t i = d->pool->n_cpus; i < d->pool->n_slots; i++)
		lost += drain_slot_lost(d, i);
	err = drain_write_names(d, lost, first ? NULL : diag);
	return first ? first : err;
}

uint64_t drain_bytes(const struct drain *d)
{
	return d->sink.bytes;
}

uint64_t drain_unwritten(const struct drain *d)
{
	return d->unwritten;
}

uint64_t drain_lost(const struct drain *d)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < d->pool->n_slots; i++)
		lost += drain_slot_lost(d, i);
	return lost;
}
