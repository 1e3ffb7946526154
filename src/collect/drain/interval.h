/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/interval.h - how long a collector may leave a pool alone.
 *
 * Each look costs: the processor wakes for it, and its caches are cold.  What is waited for too
 *long is lost.  No program says when it has written something: that would be a system call on the
 *way of an event.  So the collector sleeps
 *
 *   (1) no longer than all CPUs need to fill what is free, each at the rate of a program that
 *records every malloc and free; but not less than POLL_MS for that alone (2) no longer than a batch
 *takes at the rate that was seen: a batch is memory that stays in caches, and a quarter of what is
 *free at most.  A second later what was seen counts half (3) as if much had been seen when a
 *program joins: it may be about to begin
 *
 * Design: docs/design/collector.md.
 */
#ifndef COLLECT_DRAIN_INTERVAL_H
#define COLLECT_DRAIN_INTERVAL_H

#include <stdint.h>

enum {
	POLL_LEAST_MS = 2,
	POLL_MS = 20, /* where (1) does not know better */
	POLL_MOST_MS = 200,
};

struct poll_interval {
	uint64_t bytes_s; /* the rate of (2) */
	uint64_t at_ns;	  /* when it was that */
};

/* poll_interval_expect - somebody may begin to write: (3). */
void poll_interval_expect(struct poll_interval *p, uint64_t now_ns);
/* poll_interval_observe - @bytes were written since the last call. */
void poll_interval_observe(struct poll_interval *p, uint64_t bytes, uint64_t now_ns);
/* poll_interval_ms - until the next look, if @free_bytes are left for @n_cpus. */
uint32_t poll_interval_ms(const struct poll_interval *p, uint64_t free_bytes, uint32_t n_cpus);

#endif
