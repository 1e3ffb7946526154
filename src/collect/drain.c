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
#include "ctf/context.h"
#include "ctf/schema.h"

enum { LANES = 1024, STUCK_PASSES = 3 };
enum { DESCRIBED_NOT, DESCRIBED_NOW, DESCRIBED }; /* NOW: in the block being written */

/* ---------------------------------------------------------------- opening */

void drain_add_stream(struct text *t, uint32_t class_id, uint64_t contexts)
{
	text_addf(t,
		  "stream {\n\tid = %u;\n\tevent.header := struct event_header_large;\n"
		  "\tpacket.context := struct packet_context;\n"
		  "\tevent.context := struct {\n"
		  "\t\tinteger { size = 32; align = 8; signed = true; base = 10; } _vpid;\n"
		  "\t\tinteger { size = 32; align = 8; signed = true; base = 10; } _vtid;\n",
		  class_id);
	context_to_tsdl(t, contexts);
	text_addf(t, "\t};\n};\n\n");
}

/*
 * The stream class, with its first event class or the first packet: Babeltrace 2.0 aborts over one that
 * has a sequence in its context and no event.
 */
static void add_own_stream(struct drain *d, struct text *t)
{
	if (!d->is_stream_described)
		drain_add_stream(t, d->class_id, d->contexts);
}

static int describe_stream(struct drain *d, struct diag *diag)
{
	struct text t = { 0 };
	int err = 0;

	add_own_stream(d, &t);
	if (t.failed)
		err = diag_fail(diag, -ENOMEM, "no memory for the collector");
	else if (t.size)
		err = ctf_sink_describe(d->sink, t.bytes, t.size, diag);
	d->is_stream_described |= !err;
	text_fini(&t);
	return err;
}

/* So many chunks were closed, in the pool's life; and some given back unused. */
static uint64_t count_closed(const struct drain *d)
{
	return load(&d->pool->shared->order) - d->n_freed;
}

int drain_open(struct drain **drain, const struct drain_options *o, struct diag *diag)
{
	struct drain *d = calloc(1, sizeof *d);
	struct pool *pool = o->pool;
	int err = 0;

	*drain = NULL;
	if (!d)
		return diag_fail(diag, -ENOMEM, "no memory for the collector");
	d->pool = pool;
	d->sink = o->sink;
	d->class_id = o->class_id;
	d->contexts = o->contexts;
	snprintf(d->prefix, sizeof d->prefix, "%s%s", o->name, *o->name ? "_" : "");
	d->cpus = calloc(pool->n_cpus, sizeof *d->cpus);
	d->lanes = calloc(LANES, sizeof *d->lanes);
	d->marks = calloc(pool->n_chunks, sizeof *d->marks);
	d->seen = calloc(pool->n_chunks, sizeof *d->seen);
	d->is_described = calloc(ABI_SCHEMAS, sizeof *d->is_described);
	d->n_paced = count_closed(d);
	if (!d->cpus || !d->lanes || !d->marks || !d->seen || !d->is_described)
		err = diag_fail(diag, -ENOMEM, "no memory for the collector");
	if (err)
		drain_close(d);
	else
		*drain = d;
	return err;
}

/* What a collector before us did not finish: its chunks are partly in its trace, and go on in ours. */
void drain_resume(struct drain *d)
{
	struct seen *s = &d->seen[0];

	for (uint32_t i = 0; i < d->pool->n_cpus; i++)
		d->cpus[i].next = UINT64_MAX;
	for (uint32_t i = 0; i < d->pool->n_chunks; i++) {
		if (!drain_look_at(d, i, s))
			continue;
		d->marks[i].cut_ns = load(&pool_chunk_at(d->pool, i)->cut_ns);
		if (d->marks[i].cut_ns > s->begin_ns + s->since_ns) /* scribbled over */
			d->marks[i].cut_ns = s->begin_ns + s->since_ns;
		if (s->path == ABI_PATH_W && s->sequence < d->cpus[s->cpu].next)
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
	for (uint32_t i = 0; i < d->n_lanes; i++)
		close_output(&d->lanes[i]);
	drain_forget_copy(d);
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
	snprintf(name, sizeof name, "%s%s_%u", d->prefix, kind, number);
	err = ctf_stream_open(&o->stream, d->sink, name, diag);
	o->stream.class_id = d->class_id;
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
		if (!t.size)
			add_own_stream(d, &t);
		schema_to_tsdl(&t, schema, size, d->class_id, i + 1);
		d->is_described[i] = DESCRIBED_NOW;
	}
	if (t.failed)
		err = diag_fail(diag, -ENOMEM, "no memory to describe events");
	else if (t.size)
		err = ctf_sink_describe(d->sink, t.bytes, t.size, diag);
	d->is_stream_described |= t.size && !err;
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
	uint32_t n = 0, n_free = 0;

	d->n_closed = count_closed(d); /* before looking: what is closed meanwhile counts as new */
	d->is_calm = true;
	for (uint32_t i = 0; i < d->pool->n_chunks; i++) {
		if (drain_look_at(d, i, &d->seen[n]))
			d->is_calm &= !d->seen[n++].is_final;
		else
			n_free += ABI_STATE_OF(load(&d->pool->states[i])) == ABI_FREE;
	}
	d->free_bytes = (uint64_t)n_free * d->pool->chunk_size;
	qsort(d->seen, n, sizeof *d->seen, drain_compare);
	return n;
}

/* Whether there is nothing complete: nothing was when a pass looked last, and nothing was closed since. */
static bool is_calm(const struct drain *d)
{
	return d->is_calm && count_closed(d) == d->n_closed && !load(&d->pool->shared->exhausted);
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

/* The same, and notes how far the chunk is in the file: not to be repeated, even by a successor.  Should we
 * be killed in between, `pending` tells what may be there: collect/resume.c. */
static int write_once(struct drain *d, struct output *o, const struct seen *s, uint64_t lost,
		      struct diag *diag)
{
	struct abi_chunk *c = pool_chunk_at(d->pool, s->index);
	int err;

	store(&c->pending, s->position);
	err = drain_packet(d, o, s, lost, diag);
	if (!err) {
		d->marks[s->index].cut_ns = s->begin_ns + s->since_ns;
		store(&c->cut_ns, d->marks[s->index].cut_ns);
		store_release(&c->read, s->position);
	}
	store_release(&c->pending, 0);
	return err;
}

/* Fails harmlessly if the chunk is no longer in the state we saw: then the next pass does it. */
static void free_chunk(struct drain *d, const struct seen *s)
{
	uint64_t state = s->state, order = fetch_add(&d->pool->shared->order, 1);
	struct mark *m = &d->marks[s->index];

	d->n_freed++;
	if (!compare_exchange(&d->pool->states[s->index], &state, ABI_STATE(order, 0, ABI_FREE)))
		return;
	if (m->lane)
		d->lanes[m->lane - 1].chunk = 0;
	*m = (struct mark){ 0 };
}

uint64_t drain_slot_lost(const struct drain *d, uint32_t slot)
{
	const struct abi_slot *s = pool_slot(d->pool, slot);

	return load(&s->lost) - ABI_TOLD_OF(load(&s->told));
}

/* Whether others have waited for us long enough. */
static bool is_late(const struct drain *d)
{
	return d->until_ns != UINT64_MAX && clock_monotonic_ns() >= d->until_ns;
}

/* Chunks [d->at, end) of one CPU, sorted; up to the packet after which it is late. */
static int drain_cpu(struct drain *d, struct seen *end, struct diag *diag)
{
	struct seen *s = d->at;
	struct output *o = &d->cpus[s->cpu];
	int err = drain_ready(d, o, "cpu", s->cpu, diag);

	d->at = end;
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
		if (s->position > s->read && (s->is_final || d->partial)) {
			err = write_once(d, o, s, drain_slot_lost(d, s->cpu), diag);
			if (err)
				return err;
		}
		if (!s->is_final)
			break;
		free_chunk(d, s);
		o->next++;
		if (is_late(d)) {
			d->at = s + 1;
			break;
		}
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

static int drain_exclusive(struct drain *d, const struct seen *s, struct diag *diag)
{
	int err = 0;

	if (s->position > s->read && (s->is_final || d->partial)) {
		struct output *o = drain_lane_of(d, s);

		d->is_behind |= !o;
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

/* ---------------------------------------------------------------- passes */

/* Of what the pass has seen, until it is late. */
static int write_seen(struct drain *d, struct diag *diag)
{
	int err = 0;

	while (d->at < d->end && !err) {
		struct seen *s = d->at, *end = s;

		while (end < d->end && end->path == ABI_PATH_W && end->cpu == s->cpu)
			end++;
		if (s->path == ABI_PATH_W)
			err = drain_cpu(d, end, diag);
		else
			err = drain_exclusive(d, d->at++, diag);
		if (is_late(d))
			break;
	}
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

/* The pass is over. */
static void end_pass(struct drain *d, int err)
{
	d->at = d->end;
	d->unwritten = err || d->is_behind ? count_unwritten(d, d->seen, d->end) : 0;
	/* When nothing can be written nobody shall wait for us again and again. */
	if (!err || load(&d->pool->shared->exhausted) != ABI_POOL_GIVEN_UP)
		drain_tell_room(d);
}

int drain_begin(struct drain *d, bool partial, struct diag *diag)
{
	int err;

	d->at = d->end;
	if (!partial && is_calm(d))
		return 0;
	if (partial || load(&d->pool->shared->exhausted))
		drain_reclaim(d);
	d->is_behind = false;
	d->partial = partial;
	d->at = d->seen;
	d->end = d->seen + look_at_all(d);
	err = drain_describe(d, diag); /* after looking: (2) */
	if (err)
		end_pass(d, err);
	return err;
}

uint32_t drain_pace(struct drain *d, uint64_t now_ns)
{
	uint64_t n = count_closed(d), closed = n - d->n_paced;
	uint32_t ms;

	/* All of them are the most that can be closed between two passes; the rest is scribbled. */
	closed = closed < d->pool->n_chunks ? closed : d->pool->n_chunks;
	pace_saw(&d->pace, closed * d->pool->chunk_size, now_ns);
	d->n_paced = n;
	ms = pace_ms(&d->pace, d->free_bytes, d->pool->n_cpus);
	return d->pool->patience_us && ms > PACE_MS ? PACE_MS : ms; /* who waits for room waits for us */
}

void drain_expect(struct drain *d, uint64_t now_ns)
{
	pace_expect(&d->pace, now_ns);
}

int drain_write(struct drain *d, uint64_t until_ns, struct diag *diag)
{
	int err;

	if (d->at == d->end)
		return 0;
	d->until_ns = until_ns;
	err = write_seen(d, diag);
	if (err || d->at == d->end)
		end_pass(d, err);
	else if (load(&d->pool->shared->exhausted) != ABI_POOL_GIVEN_UP)
		drain_tell_room(d);
	return err ? err : d->at < d->end;
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
	err = describe_stream(d, diag);
	if (!err)
		err = drain_ready(d, o, "cpu", cpu, diag);
	if (err)
		return err;
	if (p.begin_ns < o->end_ns)
		p.begin_ns = p.end_ns = o->end_ns;
	p.sequence = o->stream.sequence;
	err = ctf_stream_append(&o->stream, &p, diag);
	if (!err)
		o->lost = lost; /* else it is told the next time */
	return err;
}

int drain_finish(struct drain *d, struct diag *diag)
{
	/* What a flight recorder holds is older than now, and comes first. */
	bool may_tell = !d->pool->flight_recorder || d->copies;
	int first = 0, err;

	for (uint32_t i = 0; may_tell && i < d->pool->n_cpus; i++) {
		err = tell_lost(d, i, first ? NULL : diag);
		first = first ? first : err;
	}
	return first;
}

uint64_t drain_lost_nowhere(struct drain *d)
{
	uint64_t lost = 0;

	for (uint32_t i = d->pool->n_cpus; i < d->pool->n_slots; i++)
		lost += drain_slot_lost(d, i);
	return lost;
}

uint64_t drain_oldest_ns(struct drain *d)
{
	uint64_t oldest_ns = UINT64_MAX;
	struct seen s;

	for (uint32_t i = 0; i < d->pool->n_chunks; i++)
		if (drain_look_at(d, i, &s) && s.begin_ns < oldest_ns)
			oldest_ns = s.begin_ns;
	return oldest_ns;
}

/* Who stamped an event before we looked, and gives his chunk back now, has it in the chunk already. */
uint64_t drain_held_ns(const struct drain *d)
{
	uint64_t oldest_ns = UINT64_MAX, ns;

	for (uint32_t i = 0; i < d->pool->n_slots; i++)
		for (int x = 0; x < ABI_X_SLOTS; x++) {
			uint64_t place = load_acquire(&pool_slot(d->pool, i)->x[x]);
			const struct abi_chunk *c = pool_chunk(d->pool, place);

			if (!c || !ABI_HOLDER_OF(place))
				continue;
			ns = load(&c->begin_ns) + ABI_SINCE_OF(load(&c->word));
			oldest_ns = ns < oldest_ns ? ns : oldest_ns;
		}
	return oldest_ns;
}

uint64_t drain_lost(const struct drain *d)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < d->pool->n_slots; i++)
		lost += load(&pool_slot(d->pool, i)->lost);
	return lost;
}
