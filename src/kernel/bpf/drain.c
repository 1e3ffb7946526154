/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/drain.c - reads the rings that BPF programs fill and writes packets.
 *
 * A record's time is CLOCK_MONOTONIC, the only clock of BPF programs; clock/track.h converts it to
 * the session's. A pass first steps that conversion, then converts only records that are not
 * younger. A ring's bytes are given back before the packet with their events is written. If the
 * collector is killed in between, those events are lost, and its successor counts them.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "clock/clock.h"
#include "kernel/bpf/internal.h"
#include "kernel/watch/watch.h"

enum {
	ROOM = 2 * BPF_RECORD_MAX + KERNEL_CONTEXTS_BYTES_MAX, /* an event takes less */
	MISSES_EVERY = 50,				       /* drains, about a second */
	WAIT_TRIES = 2000,				       /* for a program that is writing */
	WAIT_LAST_TRIES = 500, /* a millisecond each: such a program may be preempted */
};
#define GAP_NS (1ull << 31) /* as in kernel/convert/page.c */

/* Losses with an unknown CPU are counted in the first CPU's stream. */
void bpf_count_lost(const struct kernel_bpf *b, struct bpf_cpu *c)
{
	uint64_t lost = load(&c->ring->lost);

	if (c == b->cpus)
		lost += b->misses + load(&b->control->lost);
	if (lost > c->ring->losses.counted) /* a successor may know of fewer misses at first */
		c->ring->losses.counted = lost;
}

/* Clears the ring from `consumed` to `taken`, and gives that part back. */
void bpf_give_back(const struct kernel_bpf *b, struct bpf_ring *ring)
{
	uint64_t size = b->plan.ring_size, from = ring->consumed & (size - 1),
		 to = ring->taken & (size - 1);

	if (ring->taken == ring->consumed)
		return;
	if (to <= from) { /* a record may continue beyond the end */
		memset(ring->data + from, 0, size + BPF_RING_SLACK - from);
		from = 0;
	}
	memset(ring->data + from, 0, to - from);
	/* [A] Cleared first: pairs with a program's reading `consumed` before it writes there,
	 * parts.c. */
	store_release(&ring->consumed, ring->taken);
}

void bpf_read_flush(struct bpf_reader *r, struct diag *d)
{
	struct bpf_ring *ring = r->cpu->ring;
	int err;

	if (r->gives_back) {
		ring->unwritten = r->packet.n_events;
		ring->unwritten_at = r->position;
		store_release(&ring->taken, r->position);
		bpf_give_back(r->bpf, ring);
		bpf_count_lost(r->bpf, r->cpu);
	}
	r->to->losses->here += r->packet.n_unknown;
	if (r->packet.n_events) {
		err = kernel_cpu_append(r->to, r->drain, &r->packet, d);
		r->err = r->err ? r->err : err;
	}
	if (r->gives_back)
		store_release(&ring->unwritten, 0);
	r->packet = (struct kernel_packet){ .events = r->bpf->out };
}

/* A record's session time. The word has the lower bits of a past time, by either clock. */
static uint64_t time_of(struct bpf_reader *r, uint64_t word)
{
	if (word & BPF_RING_STAMPED)
		return r->now_ns - ((r->now_ns - word) & BPF_TIME_MASK);
	return clock_track_ns(&r->bpf->control->follow, &r->cpu->line,
			      r->until - ((r->until - word) & BPF_TIME_MASK));
}

/* Keeps times from decreasing: the kernel's clock may step back by a nanosecond when it is
 * adjusted. */
static uint64_t not_before(const struct bpf_reader *r, uint64_t ns)
{
	uint64_t last_ns = r->packet.n_events ? r->packet.end_ns : r->to->last_ns;

	return ns > last_ns ? ns : last_ns;
}

/* Converts a copy: the record must stay intact until it is given back, because a successor may have
 * to read it. */
static void take(struct bpf_reader *r, const uint8_t *record, size_t size, uint64_t time_ns,
		 struct diag *d)
{
	uint8_t copy[BPF_RECORD_MAX];
	uint64_t ns = not_before(r, time_ns);
	struct kernel_packet *p = &r->packet;
	size_t n;

	if (p->n_events && (ns - p->end_ns >= GAP_NS || p->size > BPF_PACKET_SIZE - ROOM)) {
		bpf_read_flush(r, d);
		ns = not_before(r, time_ns);
	}
	assert(size <= BPF_RECORD_MAX && p->size + ROOM <= BPF_PACKET_SIZE);
	if (r->drain->watch)
		kernel_watch_record(r->drain->watch, (uint32_t)r->to->number, record, size, ns);
	n = kernel_class_convert(&r->drain->classes, p->events + p->size,
				 memcpy(copy, record, size), size, (uint32_t)ns);
	if (!n) {
		p->n_unknown++;
		return;
	}
	p->has_births |= r->drain->classes.was_birth;
	n = kernel_contexts_put(r->drain->contexts, p->events + p->size, n, ns);
	if (!p->n_events)
		p->begin_ns = ns;
	p->end_ns = ns;
	p->size += n;
	assert(p->size <= BPF_PACKET_SIZE);
	p->n_events++;
}

/* No program writes such a record. All data in the ring is skipped. */
static void skip_all(struct bpf_reader *r, struct diag *d)
{
	struct kernel_cpu *c = r->to;

	r->position = load(&r->cpu->ring->reserved);
	c->losses->here++; /* at least */
	if (r->drain->n_malformed++ == 0)
		diag_fail(d, -EBADMSG,
			  "the ring of BPF programs for cpu %d is malformed; the events in it are "
			  "lost",
			  c->number);
}

/* Reads one record. False if there is none, or if it is too young. */
bool bpf_read_step(struct bpf_reader *r, struct diag *d)
{
	const uint8_t *record = bpf_ring_at(r->bpf, r->cpu->ring, r->position);
	/* [B] The word first, then the record: pairs with bpf_publish(), parts.c. */
	uint64_t word = bpf_is_at_end(r, r->position) ? 0 : load_acquire((const uint64_t *)record),
		 ns;
	size_t size = bpf_word_size(word);

	if (!word)
		return false;
	if (size < 8 + KERNEL_COMMON_SIZE || size > BPF_RECORD_MAX) {
		skip_all(r, d);
		return false;
	}
	if (!(word & BPF_RING_STAMPED) && ((r->until - word) & BPF_TIME_MASK) > BPF_TIME_MASK / 2)
		return false;
	ns = time_of(r, word);
	if (ns >= r->from_ns)
		take(r, record + 8, size - 8, ns, d);
	r->position += size;
	return true;
}

/* Whether a program is writing the next record. */
static bool is_being_written(const struct bpf_reader *r)
{
	return load_acquire(&r->cpu->ring->reserved) != r->position &&
	       !load_acquire((uint64_t *)bpf_ring_at(r->bpf, r->cpu->ring, r->position));
}

/* Waits for the program, briefly unless this is the last drain. Returns whether it is done. */
bool bpf_wait_for_writer(const struct bpf_reader *r, enum kernel_drain_mode mode)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	for (int i = 0; i < WAIT_TRIES; i++)
		if (!is_being_written(r))
			return true;
	for (int i = 0; mode == KERNEL_DRAIN_LAST && i < WAIT_LAST_TRIES; i++) {
		if (!is_being_written(r))
			return true;
		nanosleep(&nap, NULL);
	}
	return !is_being_written(r);
}

static int drain_cpu(struct bpf_reader *r, enum kernel_drain_mode mode, struct diag *d)
{
	uint64_t begin;
	bool is_complete = true;

	begin = r->position = r->end = r->cpu->ring->consumed;
	r->packet = (struct kernel_packet){ .events = r->bpf->out };
	r->err = 0;
	do {
		while (r->position - begin < 2ull * r->bpf->plan.ring_size && bpf_read_step(r, d))
			;
	} while (is_being_written(r) && (mode == KERNEL_DRAIN_LAST || r->drain->until_ns) &&
		 (is_complete = bpf_wait_for_writer(r, mode)));
	r->drain->is_behind |= !is_complete;
	if (!is_complete && mode == KERNEL_DRAIN_LAST)
		r->cpu->ring->losses.here++; /* and perhaps records after it */
	bpf_read_flush(r, d);
	return r->err;
}

void bpf_count_misses(struct kernel_bpf *b)
{
	b->misses = 0;
	for (int i = 0; i < b->n_links; i++)
		b->misses += bpf_misses(&b->links[i]);
}

static int drain_cpus(struct bpf_reader *r, enum kernel_drain_mode mode, struct diag *d)
{
	int first = 0, err;

	for (int i = 0; i < r->bpf->n_cpus; i++) {
		r->cpu = &r->bpf->cpus[i];
		r->to = &r->cpu->cpu;
		err = drain_cpu(r, mode, d);
		first = first ? first : err;
	}
	return first;
}

int kernel_bpf_drain(struct kernel_bpf *b, struct kernel_drain *k, enum kernel_drain_mode mode,
		     struct diag *d)
{
	struct bpf_reader r = { .bpf = b, .drain = k, .gives_back = true };
	int first, err;

	if (!b)
		return 0;
	r.until = clock_track_step(&b->control->follow);
	r.now_ns = clock_now_ns(&k->clock);
	if (mode == KERNEL_DRAIN_LAST || b->n_drains++ % MISSES_EVERY == 0)
		bpf_count_misses(b);
	first = drain_cpus(&r, KERNEL_DRAIN_LIVE, d);
	if (mode != KERNEL_DRAIN_LAST)
		return first;
	/* A program that was about to record when all were stopped has recorded by now, with a time
	 * after the first `until`. */
	r.until = clock_track_step(&b->control->follow);
	err = drain_cpus(&r, mode, d);
	first = first ? first : err;
	for (int i = 0; i < b->n_cpus; i++) {
		err = kernel_cpu_report_lost(&b->cpus[i].cpu, k, d);
		first = first ? first : err;
	}
	return first;
}

void kernel_bpf_restart(struct kernel_bpf *b)
{
	for (int i = 0; b && i < b->n_cpus; i++) {
		struct bpf_ring *ring = b->cpus[i].ring;

		bpf_give_back(b, ring);
		if (ring->unwritten_at == ring->taken)
			ring->losses.here += ring->unwritten;
		ring->unwritten = 0;
		kernel_cpu_restart(&b->cpus[i].cpu);
		b->cpus[i].stamped_at = ring->consumed;
		b->cpus[i].stamped_ns = 0;
	}
}

uint64_t kernel_bpf_lost(const struct kernel_bpf *b)
{
	uint64_t lost = 0;

	for (int i = 0; b && i < b->n_cpus; i++)
		lost += kernel_cpu_lost(&b->cpus[i].cpu);
	return lost;
}

uint64_t kernel_bpf_missed(const struct kernel_bpf *b)
{
	return b ? b->misses : 0;
}
