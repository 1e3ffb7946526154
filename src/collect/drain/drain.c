/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/drain.c - passes over a pool: list chunks, write them, free them.
 *
 * The head of drain.h shows the call chain.  For the states of a chunk see abi/pool.h.
 */
#include "collect/drain/drain.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "clock/clock.h"
#include "collect/drain/internal.h"

enum { STUCK_PASSES = 3 };

/* ---------------------------------------------------------------- scanning */

/* Reads how far the chunk is written and the time of its last event; bounds both. */
static void read_word(const struct pool *pool, struct drain_chunk *s)
{
	/* [B] pairs with [A]: all bytes below it are written. */
	uint64_t word = load_acquire(&pool_chunk_at(pool, s->index)->word);

	s->since_ns = ABI_SINCE_OF(word);
	s->position = ABI_POS_OF(word);
	if (s->position < sizeof(struct abi_chunk) || s->position > pool->chunk_size)
		s->position = sizeof(struct abi_chunk);
}

bool drain_inspect(const struct pool *pool, uint32_t i, struct drain_chunk *s)
{
	struct abi_chunk *c = pool_chunk_at(pool, i);
	uint64_t read;

	s->state = load_acquire(&pool->states[i]); /* [D] pairs with [C], ring/pool.c */
	if (ABI_STATE_OF(s->state) != ABI_OWNED && ABI_STATE_OF(s->state) != ABI_FULL)
		return false;
	s->index = i;
	read_word(pool, s); /* before the header: the header is complete if the word is beyond it */
	read = load(&c->read);
	s->cpu = load(&c->cpu);
	s->path = load(&c->path);
	s->sequence = load(&c->sequence);
	s->begin_ns = load(&c->begin_ns);
	s->is_final = ABI_STATE_OF(s->state) == ABI_FULL;
	s->has_no_begin = false;
	s->bytes = (const char *)c;
	s->read = read < sizeof *c || read > s->position ? sizeof *c : (uint32_t)read;
	if (s->path != ABI_PATH_RSEQ || s->cpu >= pool->n_cpus)
		s->path = ABI_PATH_EXCLUSIVE;
	/* A chunk claimed but not yet installed has an incomplete header. */
	return s->position > sizeof *c || s->is_final;
}

int drain_compare(const void *a, const void *b)
{
	const struct drain_chunk *x = a, *y = b;

	if (x->path != y->path)
		return x->path == ABI_PATH_RSEQ ? -1 : 1;
	if (x->path == ABI_PATH_RSEQ && x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->path == ABI_PATH_RSEQ && x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static uint32_t scan_chunks(struct drain *d)
{
	uint32_t n = 0, n_free = 0;
	uint64_t now_ns;

	d->n_closed =
		drain_count_closed(d); /* before the scan: a chunk closed meanwhile counts as new */
	d->is_calm = true;
	for (uint32_t i = 0; i < d->pool->n_chunks; i++) {
		uint64_t kind = ABI_STATE_OF(load(&d->pool->states[i]));

		n_free += kind == ABI_FREE;
		if (kind == ABI_FREE || kind == ABI_BUSY)
			continue; /* most are */
		if (drain_inspect(d->pool, i, &d->seen[n]))
			d->is_calm &= !d->seen[n++].is_final;
	}
	d->free_bytes = (uint64_t)n_free * d->pool->chunk_size;
	now_ns = clock_now_ns(&d->pool->clock) + BOUNDS_AHEAD_NS;
	for (uint32_t i = 0; i < n; i++)
		drain_bound_begin(d, &d->seen[i], now_ns);
	qsort(d->seen, n, sizeof *d->seen, drain_compare);
	return n;
}

/* Whether no chunk is complete: the last scan found none, and none was closed since. */
static bool is_calm(const struct drain *d)
{
	return d->is_calm && drain_count_closed(d) == d->n_closed &&
	       !load(&d->pool->shared->exhausted);
}

/* ---------------------------------------------------------------- writing */

/* If we are killed before mark_written(), `pending` names the bytes that may be in the file: resume.c. */
static void mark_pending(struct drain *d, const struct drain_chunk *s, const struct drain_packet *k)
{
	struct abi_chunk *c = pool_chunk_at(d->pool, s->index);

	assert(s->position > s->read);
	store(&c->pending, s->read + (uint32_t)k->body.iov_len);
}

/* Marks how far the chunk is in the file, so that no successor repeats it. */
static void mark_written(struct drain *d, const struct drain_chunk *s, const struct drain_packet *k,
			 bool is_written)
{
	struct abi_chunk *c = pool_chunk_at(d->pool, s->index);

	if (is_written) {
		d->marks[s->index].cut_ns = k->packet.end_ns;
		store(&c->cut_ns, d->marks[s->index].cut_ns);
		store_release(&c->read, s->position);
	}
	store_release(&c->pending, 0);
}

/* Writes a chunk's new bytes. */
static int write_chunk(struct drain *d, struct output *o, const struct drain_chunk *s,
		       uint64_t lost, struct diag *diag)
{
	const struct drain_place at = drain_place_of(o);
	struct drain_packet k;
	int err = drain_check_packet(d, &at, s, lost, &k, diag);

	if (err)
		return err;
	mark_pending(d, s, &k);
	err = drain_put_packet(d, o, &k, diag);
	mark_written(d, s, &k, !err);
	return err;
}

/* Fails harmlessly if the chunk has left the state that we saw: the next pass frees it. */
static void free_chunk(struct drain *d, const struct drain_chunk *s)
{
	uint64_t state = s->state, order = fetch_add(&d->pool->shared->order, 1);
	struct mark *m = &d->marks[s->index];

	d->n_freed++;
	if (!compare_exchange(&d->pool->states[s->index], &state, ABI_STATE(order, 0, ABI_FREE)))
		return;
	if (m->exclusive_stream)
		d->exclusive_streams[m->exclusive_stream - 1].chunk = 0;
	*m = (struct mark){ 0 };
}

/* Whether the time slice is over. */
static bool is_slice_over(const struct drain *d)
{
	return d->until_ns != UINT64_MAX && monotonic_ns() >= d->until_ns;
}

/*
 * A write of @n packets began at @began_ns.  Connections and requests wait for a write, so on a slow disk,
 * where n_at_once packets would take longer than a slice, each is written by itself.
 */
static void note_speed(struct drain *d, uint64_t began_ns, uint32_t n)
{
	enum { LONGEST_NS = 10000000 };

	if (d->until_ns != UINT64_MAX)
		d->is_slow = (monotonic_ns() - began_ns) / n * d->n_at_once > LONGEST_NS;
}

struct output *drain_output_of(struct drain *d, struct output *cpu, const struct drain_chunk *s,
			       struct diag *diag)
{
	struct output *o;

	if (!d->marks[s->index].exclusive_stream && drain_packet_begin(d, s) >= cpu->end_ns)
		return cpu;
	o = drain_exclusive_stream_of(d, s);
	if (!o || drain_open_stream(d, o, "lane", (uint32_t)(o - d->exclusive_streams), diag))
		return cpu; /* events before its end are left out there, and counted */
	return o;
}

static int write_of_cpu(struct drain *d, struct output *cpu, const struct drain_chunk *s,
			struct diag *diag)
{
	struct output *o = drain_output_of(d, cpu, s, diag);

	return write_chunk(d, o, s, o == cpu ? drain_slot_lost(d, s->cpu) : 0, diag);
}

struct output *drain_exclusive_stream_of(struct drain *d, const struct drain_chunk *s)
{
	struct mark *m = &d->marks[s->index];
	uint32_t i;

	assert(m->exclusive_stream <= d->n_exclusive_streams);
	if (m->exclusive_stream)
		return &d->exclusive_streams[m->exclusive_stream - 1];
	for (i = 0; i < d->n_exclusive_streams; i++)
		if (!d->exclusive_streams[i].chunk && d->exclusive_streams[i].end_ns <= s->begin_ns)
			break;
	if (i == DRAIN_EXCLUSIVE_STREAMS)
		return NULL;
	if (i == d->n_exclusive_streams)
		d->n_exclusive_streams++;
	d->exclusive_streams[i].chunk = s->index + 1;
	m->exclusive_stream = i + 1;
	return &d->exclusive_streams[i];
}

static int write_exclusive(struct drain *d, const struct drain_chunk *s, struct diag *diag)
{
	int err = 0;

	if (s->position > s->read && (s->is_final || d->partial)) {
		struct output *o = drain_exclusive_stream_of(d, s);

		d->is_behind |= !o;
		if (!o)
			return 0; /* more open chunks than streams: it waits */
		err = drain_open_stream(d, o, "lane", (uint32_t)(o - d->exclusive_streams), diag);
		if (!err)
			err = write_chunk(d, o, s, 0, diag);
	}
	if (!err && s->is_final)
		free_chunk(d, s);
	return err;
}

/*
 * Whether a chunk's number was made up: a pool has no room for so many chunks in between.  It is
 * not known of the first chunk in a file: the chunks before it are in another trace.
 */
static bool is_number_forged(const struct drain *d, const struct output *o,
			     const struct drain_chunk *s)
{
	return o->stream.offset && s->sequence > o->next &&
	       s->sequence - o->next > d->pool->n_chunks;
}

/*
 * Its successor replaced it in the slot, so it is final (write.c, (4)).  The scan may have read it before
 * that, so read its word again.
 */
static void look_again(struct drain *d, struct drain_chunk *s, const struct drain_chunk *end)
{
	if (s->is_final || s + 1 >= end || s[1].sequence != s->sequence + 1)
		return;
	read_word(d->pool, s);
	s->is_final = true;
}

/* Whether the chunk can be one of several in a write: whole, and not one for another stream. */
static bool is_plain(const struct drain *d, const struct drain_chunk *s,
		     const struct drain_place *at)
{
	return s->is_final && s->position > s->read && !d->marks[s->index].exclusive_stream &&
	       drain_packet_begin(d, s) >= at->end_ns;
}

/* The bytes that are copied after those of @s; NULL: it is not certain that there are enough. */
static const char *next_bytes(const struct drain_chunk *s, const struct drain_chunk *end)
{
	if (s + 1 >= end || !s[1].is_final || s[1].position - s[1].read < COUNTER_AHEAD_MOST)
		return NULL;
	return s[1].bytes + s[1].read;
}

/*
 * The packets of the next write: up to a multiple in the file of what a write can hold, as a folio of the
 * file never lies across one.
 */
static uint32_t count_at_once(const struct drain *d, const struct output *o)
{
	uint64_t each = d->pool->chunk_size, rest = o->stream.offset & (d->n_at_once * each - 1);

	if (d->is_slow)
		return 0;
	return rest & (each - 1) ? d->n_at_once : d->n_at_once - (uint32_t)(rest / each);
}

/*
 * Checks chunks from @s on that one write can put into the stream of their CPU, up to one in which
 * something is wrong.  Returns their number.
 */
static uint32_t gather(struct drain *d, const struct output *o, struct drain_chunk *s,
		       struct drain_chunk *end, struct drain_packet *k)
{
	struct drain_place at = drain_place_of(o);
	uint32_t most = count_at_once(d, o);

	for (; s < end && at.part < most && s->sequence == o->next + at.part; s++, k++) {
		look_again(d, s, end);
		at.next = next_bytes(s, end);
		if (!is_plain(d, s, &at) ||
		    drain_check_packet(d, &at, s, drain_slot_lost(d, s->cpu), k, NULL) ||
		    k->found.times || k->found.bytes || !k->body.iov_len)
			break;
		at = (struct drain_place){ k->packet.end_ns, k->packet.discarded, at.sequence + 1,
					   at.part + 1, NULL };
	}
	return at.part;
}

/*
 * Writes chunks from @s on by one write, and frees them.  Returns their number; 0: they are to be written
 * one by one, as none is plain, or the disk has no room for all.
 */
static uint32_t write_several(struct drain *d, struct output *o, struct drain_chunk *s,
			      struct drain_chunk *end)
{
	struct drain_packet k[CTF_PACKETS_MOST];
	uint32_t n = gather(d, o, s, end, k);
	bool is_written;

	for (uint32_t i = 0; i < n; i++)
		mark_pending(d, &s[i], &k[i]);
	is_written = n && !drain_put_packets(d, o, k, n, NULL);
	for (uint32_t i = 0; i < n; i++) {
		mark_written(d, &s[i], &k[i], is_written);
		if (is_written)
			free_chunk(d, &s[i]);
	}
	return is_written ? n : 0;
}

/*
 * Writes chunks [d->at, end) of one CPU, in order; stops after the write that exceeds the slice.
 */
static int write_cpu(struct drain *d, struct drain_chunk *end, struct diag *diag)
{
	struct drain_chunk *s = d->at;
	struct output *o = &d->cpus[s->cpu];
	int err = drain_open_stream(d, o, "cpu", s->cpu, diag);

	assert(d->at < end && end <= d->end);
	d->at = end;
	if (err)
		return err;
	/*
	 * It was closed late, after its successor had shown that it was final: all of it is
	 * written.
	 */
	while (s < end && s->sequence < o->next && s->position == s->read)
		free_chunk(d, s++);
	if (s == end)
		return 0;
	if (is_number_forged(d, o, s)) { /* and so are those behind it */
		for (; s < end && !err; s++)
			err = write_exclusive(d, s, diag);
		return err;
	}
	/*
	 * A scan may see chunk n + 1 and miss n, which was claimed behind the scan.  So wait for n.
	 * If n does not appear it does not exist (a corrupted page): continue, and report the gap
	 * as a lost packet.
	 */
	if (s->sequence > o->next && ++o->stuck < STUCK_PASSES)
		return 0;
	if (s->sequence > o->next)
		drain_skip(d, o, s);
	o->next = s->sequence;
	o->stuck = 0;
	while (s < end && s->sequence == o->next) {
		uint64_t began_ns = d->until_ns == UINT64_MAX ? 0 : monotonic_ns();
		uint32_t n = write_several(d, o, s, end);

		if (!n) {
			look_again(d, s, end);
			if (s->position > s->read && (s->is_final || d->partial)) {
				err = write_of_cpu(d, o, s, diag);
				if (err)
					return err;
			}
			if (!s->is_final)
				break;
			free_chunk(d, s);
			n = 1;
		}
		s += n;
		o->next += n;
		note_speed(d, began_ns, n);
		if (is_slice_over(d)) {
			d->at = s;
			break;
		}
	}
	return 0;
}

/* ---------------------------------------------------------------- passes */

/* Writes the chunks that the scan found, until the slice is over. */
static int write_scanned(struct drain *d, struct diag *diag)
{
	int err = 0;

	while (d->at < d->end && !err) {
		struct drain_chunk *s = d->at, *end = s;

		while (end < d->end && end->path == ABI_PATH_RSEQ && end->cpu == s->cpu)
			end++;
		if (s->path == ABI_PATH_RSEQ)
			err = write_cpu(d, end, diag);
		else
			err = write_exclusive(d, d->at++, diag);
		if (is_slice_over(d))
			break;
	}
	return err;
}

/* Bytes that the scan found and that are not in the file. */
static uint64_t count_unwritten(const struct drain *d, const struct drain_chunk *s,
				const struct drain_chunk *end)
{
	uint64_t n = 0;

	for (; s < end; s++) {
		uint64_t read = load(&pool_chunk_at(d->pool, s->index)->read);

		read = read < s->read ? s->read : read;
		n += read < s->position ? s->position - read : 0;
	}
	return n;
}

static uint64_t count_events(const struct drain *d, const struct drain_chunk *s)
{
	uint64_t read = s->read;

	if (!d->copies) {
		uint64_t now = load(&pool_chunk_at(d->pool, s->index)->read);

		read = now > read ? now : read;
	}
	return read < s->position ? counter_count(d->counter, s->bytes + read, s->position - read,
						  0, UINT64_MAX)
					    .events
				  : 0;
}

void drain_drop_rest(struct drain *d)
{
	const struct drain_chunk *s = d->seen, *end = d->end;

	if (!d->unwritten)
		return;
	if (d->copies) {
		s += d->n_written;
		end = d->seen + d->n_copied;
	}
	for (; s < end; s++)
		d->dropped += count_events(d, s);
	d->unwritten = 0;
}

static void end_pass(struct drain *d, int err)
{
	assert(d->at <= d->end);
	d->at = d->end;
	d->unwritten = err || d->is_behind ? count_unwritten(d, d->seen, d->end) : 0;
	/* After a write error, do not make writers wait for space again and again. */
	if (!err || load(&d->pool->shared->exhausted) != ABI_POOL_GIVEN_UP)
		drain_clear_exhausted(d);
}

int drain_scan(struct drain *d, bool partial, struct diag *diag)
{
	int err;

	d->at = d->end;
	drain_look(d); /* before the scan: events that it does not find are not older */
	if (!partial && is_calm(d))
		return 0;
	if (partial || load(&d->pool->shared->exhausted))
		drain_reclaim(d);
	d->is_behind = false;
	d->partial = partial;
	d->at = d->seen;
	d->end = d->seen + scan_chunks(d);
	err = drain_describe(d, diag); /* after the scan: (2) */
	if (err)
		end_pass(d, err);
	return err;
}

uint32_t drain_poll_interval(struct drain *d, uint64_t now_ns)
{
	uint64_t n = drain_count_closed(d), closed = n - d->n_polled;
	uint32_t ms;

	/*
	 * The pool's chunks are the most that can be closed between two passes; a larger number is
	 * corruption.
	 */
	closed = closed < d->pool->n_chunks ? closed : d->pool->n_chunks;
	poll_interval_observe(&d->poll_interval, closed * d->pool->chunk_size, now_ns);
	d->n_polled = n;
	ms = poll_interval_ms(&d->poll_interval, d->free_bytes, d->pool->n_cpus);
	return d->pool->block_timeout_us && ms > POLL_MS ? POLL_MS
							 : ms; /* a blocking writer waits for
								* this drain */
}

void drain_expect(struct drain *d, uint64_t now_ns)
{
	poll_interval_expect(&d->poll_interval, now_ns);
}

int drain_write(struct drain *d, uint64_t until_ns, struct diag *diag)
{
	int err;

	assert(d->at <= d->end);
	if (d->at == d->end)
		return 0;
	d->until_ns = until_ns;
	err = write_scanned(d, diag);
	if (err || d->at == d->end)
		end_pass(d, err);
	else if (load(&d->pool->shared->exhausted) != ABI_POOL_GIVEN_UP)
		drain_clear_exhausted(d);
	return err ? err : d->at < d->end;
}

uint64_t drain_oldest_ns(struct drain *d)
{
	uint64_t oldest_ns = UINT64_MAX;
	struct drain_chunk s;

	for (uint32_t i = 0; i < d->pool->n_chunks; i++)
		if (drain_inspect(d->pool, i, &s) && s.begin_ns < oldest_ns)
			oldest_ns = s.begin_ns;
	return oldest_ns;
}

/* An event stamped before this scan, in a chunk released since, is already in the chunk. */
uint64_t drain_held_ns(const struct drain *d)
{
	uint64_t oldest_ns = UINT64_MAX, ns;

	for (uint32_t i = 0; i < d->pool->n_slots; i++)
		for (int x = 0; x < ABI_EXCLUSIVE_PLACES; x++) {
			uint64_t place = load_acquire(&pool_slot(d->pool, i)->exclusive[x]);
			const struct abi_chunk *c = pool_chunk(d->pool, place);

			if (!c || !ABI_HOLDER_OF(place))
				continue;
			ns = load(&c->begin_ns) + ABI_SINCE_OF(load(&c->word));
			oldest_ns = ns < oldest_ns ? ns : oldest_ns;
		}
	return oldest_ns;
}
