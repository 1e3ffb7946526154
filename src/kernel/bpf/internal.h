/* SPDX-License-Identifier: MIT */
/* kernel/bpf/internal.h - shared by kernel/bpf/bpf.c, kernel/bpf/drain.c and
 * kernel/bpf/overwrite.c. */
#ifndef KERNEL_BPF_INTERNAL_H
#define KERNEL_BPF_INTERNAL_H

#include <pthread.h>
#include <stddef.h>

#include "base/atomic.h"
#include "bpf/sys.h"
#include "kernel/bpf/bpf.h"
#include "kernel/bpf/assemble.h"
#include "kernel/bpf/shared_ring.h"
#include "kernel/convert/page.h"

/* sys_enter, sys_exit, fork, free, two of signals, the scheduler's four, and five of lives. */
enum { BPF_LINKS_MAX = 16, BPF_PACKET_SIZE = 65536 };

struct bpf_cpu {
	struct bpf_ring *ring;
	struct kernel_cpu cpu; /* its stream, and losses */
	struct clock_line line;
	uint64_t stamped_at; /* kernel/bpf/overwrite.c: records before it have session time .. */
	uint64_t stamped_ns; /* .. and the last of them has this one */
};

struct kernel_bpf {
	struct bpf_plan plan;
	struct btf btf; /* until recording starts */
	struct bpf_control *control;
	uint8_t *rings;
	size_t ring_stride, rings_size;
	struct bpf_cpu *cpus;
	int n_cpus;
	pthread_mutex_t lock; /* two threads may attach programs: of n_links, links and plan.bit */
	struct bpf_link links[BPF_LINKS_MAX];
	int n_links;
	int n_following;   /* of them, the first, record nothing */
	bool keeps_newest; /* for a flight recorder */
	uint32_t n_drains;
	uint64_t misses; /* of all programs, at the last count */
	uint8_t *out;	 /* BPF_PACKET_SIZE bytes */
};

#define BPF_TIME_MASK ((1ull << BPF_RING_TIME_BITS) - 1)

/* The reader of one CPU's ring. */
struct bpf_reader {
	struct kernel_bpf *bpf;
	struct bpf_cpu *cpu;
	struct kernel_cpu *to;
	struct kernel_drain *drain;
	bool gives_back;  /* else the ring stays as it is */
	uint64_t from_ns; /* older records are skipped */
	uint64_t until;	  /* CLOCK_MONOTONIC; younger records wait */
	uint64_t now_ns;  /* session time, about now */
	uint64_t position;
	uint64_t end; /* `reserved` when it was last read: reading on would find a full ring's
		       * oldest record again */
	struct kernel_packet packet;
	int err; /* the first */
};

/* Whether all reserved records have been read. */
static inline bool bpf_is_at_end(struct bpf_reader *r, uint64_t position)
{
	if (position == r->end)
		r->end = load_acquire(&r->cpu->ring->reserved);
	return position == r->end;
}

static inline uint8_t *bpf_ring_at(const struct kernel_bpf *b, struct bpf_ring *ring,
				   uint64_t position)
{
	return ring->data + (position & (b->plan.ring_size - 1));
}

static inline size_t bpf_word_size(uint64_t word)
{
	return (size_t)(word >> BPF_RING_TIME_BITS & BPF_RING_UNITS_MAX) * BPF_RING_UNIT;
}

/* bpf_read_step - read one record. False if there is none, or it is too young. bpf_read_flush -
 * write the events read so far. */
bool bpf_read_step(struct bpf_reader *r, struct diag *d);
void bpf_read_flush(struct bpf_reader *r, struct diag *d);

/* bpf_count_misses - read how many runs of programs the kernel skipped. */
void bpf_count_misses(struct kernel_bpf *b);
/* bpf_count_lost - update the known losses of this CPU. */
void bpf_count_lost(const struct kernel_bpf *b, struct bpf_cpu *c);
/* bpf_give_back - clear the ring from `consumed` to `taken`. */
void bpf_give_back(const struct kernel_bpf *b, struct bpf_ring *ring);
/* bpf_wait_for_writer - wait for a program that writes at @position, briefly unless this is the
 * last drain. Returns whether it is done. */
bool bpf_wait_for_writer(const struct bpf_reader *r, enum kernel_drain_mode mode);

#endif
