/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/packet.c - one packet: bytes of a chunk, checked and cut, into a stream.
 *
 * Programs may overwrite a chunk while it is drained.  So the bytes are copied, the copy is checked
 * and the copy is written.  In the files always:
 *
 *   (1) a packet begins at or after the begin of the pools and the end of the packet before it in
 *       its stream, and ends by now
 *   (2) a packet holds whole events of described classes, in the order of time, none outside of it
 *   (3) losses and packet numbers of a stream only grow, as far as the time since allows
 *
 * The time in the commit word is not needed for that: a packet ends with its last event.
 *
 * With these Babeltrace 2.0, which gives up a whole recording at one impossible number, reads all
 * of it.  Values are not looked at: no value makes a reader end.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/ctf.h"
#include "clock/clock.h"
#include "collect/drain/internal.h"

enum { SHORTEST_CHUNK_NS = 256 }; /* to fill one of 4 KiB */
#define ASSUMED_NS (ABI_CTF_GAP_NS - 1)

/*
 * Short headers hold 27 bits of a time.  So events of the last 134 ms have their true times also in
 * a chunk whose begin was overwritten.
 */
void drain_bound_begin(const struct drain *d, struct drain_chunk *s, uint64_t now_ns)
{
	s->has_no_begin = d->bounds && (s->begin_ns < d->begin_ns || s->begin_ns > now_ns);
	if (!s->has_no_begin)
		return;
	s->begin_ns = now_ns > ASSUMED_NS ? now_ns - ASSUMED_NS : 0;
	if (s->begin_ns < d->begin_ns)
		s->begin_ns = d->begin_ns;
}

uint64_t drain_packet_begin(const struct drain *d, const struct drain_chunk *s)
{
	return s->read == sizeof(struct abi_chunk) ? s->begin_ns : d->marks[s->index].cut_ns;
}

/* The bytes in memory that no program can write to, and the events in them; NULL without memory. */
static const char *own_bytes(struct drain *d, const struct drain_chunk *s,
			     const struct drain_place *at, uint64_t begin_ns, uint64_t most_ns,
			     struct counted *n)
{
	const char *bytes = s->bytes + s->read;
	size_t size = s->position - s->read, each = d->pool->chunk_size;
	char *to;

	if (s->bytes != (const char *)pool_chunk_at(d->pool, s->index)) { /* a copy already */
		*n = counter_count(d->counter, bytes, size, begin_ns, most_ns);
		return bytes;
	}
	if (!d->scratch)
		d->scratch = malloc(d->n_at_once * each);
	if (!d->scratch)
		return NULL;
	to = d->scratch + at->part * each;
	*n = counter_copy(d->counter, to, bytes, size, at->next, begin_ns, most_ns);
	return to;
}

static uint64_t at_least(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

int drain_check_packet(struct drain *d, const struct drain_place *at, const struct drain_chunk *s,
		       uint64_t lost, struct drain_packet *k, struct diag *diag)
{
	const char *bytes;
	uint64_t now_ns = clock_now_ns(&d->pool->clock) + BOUNDS_AHEAD_NS, begin_ns, end_ns;
	size_t size = s->position - s->read;
	struct counted n = { 0 };

	assert(s->read >= sizeof(struct abi_chunk) && s->read <= s->position);
	assert(s->position <= d->pool->chunk_size && at->part < d->n_at_once);
	begin_ns = at_least(drain_packet_begin(d, s), at_least(d->begin_ns, at->end_ns));
	end_ns = s->begin_ns + s->since_ns;
	*k = (struct drain_packet){ .owner = ABI_OWNER_OF(s->state) };
	k->found.times = s->has_no_begin || s->since_ns > now_ns - s->begin_ns;
	bytes = own_bytes(d, s, at, begin_ns, now_ns, &n);
	if (!bytes)
		return diag_fail(diag, -ENOMEM, "no memory to write events");
	if (!d->bounds)
		n = (struct counted){ n.events, size, at_least(end_ns, begin_ns) };
	k->found.bytes = size - n.bytes;
	k->body = (struct iovec){ (void *)bytes, n.bytes };
	k->packet = (struct ctf_packet){ .begin_ns = begin_ns,
					 .end_ns = n.bytes ? n.last_ns : begin_ns,
					 .discarded = at_least(lost, at->lost),
					 .sequence = at->sequence,
					 .n_events = n.events,
					 .cpu = s->cpu,
					 .n_body = 1 };
	return 0;
}

int drain_put_packet(struct drain *d, struct output *o, struct drain_packet *k, struct diag *diag)
{
	int err = 0;

	assert(o->is_open);
	k->packet.body = &k->body; /* here: the caller may have moved it */
	if (k->body.iov_len)
		err = ctf_stream_append(&o->stream, &k->packet, diag);
	if (err)
		return err; /* it is checked and counted anew */
	if (k->found.times || k->found.bytes)
		bounds_note(d->bounds, k->owner, &k->found);
	if (k->body.iov_len) {
		o->end_ns = k->packet.end_ns;
		o->lost = k->packet.discarded;
	}
	return 0;
}

int drain_put_packets(struct drain *d, struct output *o, struct drain_packet *k, uint32_t n,
		      struct diag *diag)
{
	struct ctf_packet packets[CTF_PACKETS_MOST];
	int err;

	assert(o->is_open && n > 0 && n <= d->n_at_once);
	for (uint32_t i = 0; i < n; i++) {
		packets[i] = k[i].packet;
		packets[i].body = &k[i].body;
	}
	err = ctf_stream_append_all(&o->stream, packets, (int)n, diag);
	if (err)
		return err;
	o->end_ns = packets[n - 1].end_ns;
	o->lost = packets[n - 1].discarded;
	return 0;
}

void drain_skip(struct drain *d, struct output *o, const struct drain_chunk *s)
{
	const struct bounds_kinds one = { .counters = 1 };
	uint64_t now_ns = clock_now_ns(&d->pool->clock),
		 passed_ns = now_ns > d->begin_ns ? now_ns - d->begin_ns : 0;

	assert(s->sequence > o->next);
	if (s->sequence - o->next <= passed_ns / SHORTEST_CHUNK_NS)
		o->stream.sequence += s->sequence - o->next;
	else
		bounds_note(d->bounds, ABI_OWNER_OF(s->state), &one);
}
