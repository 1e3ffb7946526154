/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/overwrite.c - the BPF rings of a flight recorder: they hold the newest records, which
 * a snapshot copies.
 *
 * Programs refuse events when a ring is full. They cannot make room themselves: the space for a new
 * record must have been cleared, and a program may be interrupted by another one at any
 * instruction. So the collector drops the oldest records several times a second if a ring is more
 * than three quarters full. If it is late, the newest events are lost, and counted.
 *
 * Meanwhile it stamps new records: it replaces a record's time in place by session time, while
 * the knots for that time are known (clock/track.h). A bit in the word shows which time it has, so
 * the successor of a killed collector can continue anywhere.
 */
#include "base/atomic.h"
#include "clock/clock.h"
#include "kernel/bpf/internal.h"
#include "kernel/watch/watch.h"

enum { BLOCK_BYTES = 65536 };

static uint64_t word_at(const struct bpf_reader *r, uint64_t position)
{
	return load_acquire((const uint64_t *)bpf_ring_at(r->bpf, r->cpu->ring, position));
}

/* Stamps the record at r->cpu->stamped_at. False if there is none, or it is too young or
 * malformed. */
static bool stamp_next(struct bpf_reader *r)
{
	struct bpf_cpu *c = r->cpu;
	uint8_t *record = bpf_ring_at(r->bpf, c->ring, c->stamped_at);
	uint64_t word = bpf_is_at_end(r, c->stamped_at) ? 0 : word_at(r, c->stamped_at);
	uint64_t age_ns = (r->until - word) & BPF_TIME_MASK, ns;
	size_t size = bpf_word_size(word);

	if (size < 8 + KERNEL_COMMON_SIZE || size > BPF_RECORD_MAX)
		return false;
	if (!(word & BPF_RING_STAMPED)) {
		if (age_ns > BPF_TIME_MASK / 2)
			return false;
		ns = clock_track_ns(&r->bpf->control->follow, &c->line, r->until - age_ns);
		c->stamped_ns = ns > c->stamped_ns ? ns : c->stamped_ns;
		store((uint64_t *)record,
		      (word & ~BPF_TIME_MASK) | (c->stamped_ns & BPF_TIME_MASK) | BPF_RING_STAMPED);
		if (r->drain->watch)
			kernel_watch_record(r->drain->watch, (uint32_t)c->cpu.number, record + 8,
					    size - 8, c->stamped_ns);
	}
	c->stamped_at += size;
	return true;
}

/* Drops the oldest records. If the collector dies before it counts them, its successor does. */
static void make_room(struct bpf_reader *r)
{
	struct bpf_ring *ring = r->cpu->ring;
	uint64_t most = r->bpf->plan.ring_size / 4 * 3, end = load(&ring->reserved),
		 position = ring->consumed, n = 0;

	for (; end - position > most && position < r->cpu->stamped_at; n++)
		position += bpf_word_size(word_at(r, position));
	if (!n)
		return;
	ring->unwritten = n;
	ring->unwritten_at = position;
	store_release(&ring->taken, position);
	bpf_give_back(r->bpf, ring);
	ring->losses.here += n;
	store_release(&ring->unwritten, 0);
}

void kernel_bpf_keep(struct kernel_bpf *b, struct kernel_drain *k)
{
	struct bpf_reader r = { .bpf = b, .drain = k };

	if (!b)
		return;
	r.until = clock_track_step(&b->control->follow);
	for (int i = 0; i < b->n_cpus; i++) {
		r.cpu = &b->cpus[i];
		r.end = r.cpu->stamped_at;
		while (stamp_next(&r))
			;
		make_room(&r);
	}
}

static struct bpf_reader reader_of(struct kernel_bpf *b, int i, struct kernel_drain *k)
{
	return (struct bpf_reader){ .bpf = b,
				    .cpu = &b->cpus[i],
				    .drain = k,
				    .position = b->cpus[i].ring->consumed,
				    .end = b->cpus[i].stamped_at,
				    .now_ns = clock_now_ns(&k->clock),
				    .packet = { .events = b->out } };
}

static uint64_t ns_of(const struct bpf_reader *r, uint64_t word)
{
	return r->now_ns - ((r->now_ns - word) & BPF_TIME_MASK);
}

void kernel_bpf_each_kept(struct kernel_bpf *b, struct kernel_drain *k,
			  void (*each)(void *arg, uint64_t begin_ns, uint64_t end_ns, size_t bytes),
			  void *arg)
{
	for (int i = 0; b && i < b->n_cpus; i++) {
		struct bpf_reader r = reader_of(b, i, k);
		uint64_t begin = r.position, begin_ns = 0, end_ns = 0;

		while (r.position < r.cpu->stamped_at) {
			uint64_t word = word_at(&r, r.position);

			end_ns = ns_of(&r, word);
			begin_ns = r.position == begin ? end_ns : begin_ns;
			r.position += bpf_word_size(word);
			if (r.position - begin >= BLOCK_BYTES || r.position >= r.cpu->stamped_at) {
				each(arg, begin_ns, end_ns, r.position - begin);
				begin = r.position;
			}
		}
	}
}

int kernel_bpf_n_cpus(const struct kernel_bpf *b)
{
	return b ? b->n_cpus : 0;
}

int kernel_bpf_write_kept(struct kernel_bpf *b, int i, struct kernel_drain *k, uint64_t from_ns,
			  uint64_t *lost, struct diag *d)
{
	struct bpf_reader r = reader_of(b, i, k);
	struct kernel_losses losses = { .counted = load(&r.cpu->ring->lost) };
	struct kernel_cpu to = { .number = r.cpu->cpu.number,
				 .prefix = r.cpu->cpu.prefix,
				 .pipe = -1,
				 .stats = -1,
				 .losses = &losses,
				 .stream = { .fd = -1, .index = -1 } };
	int err;

	r.to = &to;
	r.from_ns = from_ns;
	while (r.position < r.cpu->stamped_at && bpf_read_step(&r, d))
		;
	bpf_read_flush(&r, d);
	err = r.err ? r.err : kernel_cpu_report_lost(&to, k, d);
	*lost += kernel_cpu_lost(&to);
	kernel_cpu_close(&to);
	return err;
}
