/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/interval.h - how long a collector may sleep between passes over a pool.
 *
 * Each pass costs a wakeup with cold caches.  Each pass too late loses events.  Programs do not
 * report that they have written: that would be a system call in the path of an event.  So the
 * collector sleeps
 *
 *   (1) no longer than all CPUs need to fill the free space, each at the rate of a program that
 *       records every malloc and free; but for this reason alone never less than POLL_MS
 *   (2) no longer than one batch takes at the observed rate.  A batch is memory that stays in
 *       caches, and at most a quarter of the free space.  The observed rate halves in a second
 *   (3) as if much had been observed when a program joins, because it may be about to write; half as
 *       much after each time that programs joined and little was observed.  A crowd of short programs
 *       would else keep the rate high
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
	COARSE_MS = 10, /* between two looks at a coarse pool: the error of its times */
};

struct poll_interval {
	uint64_t bytes_s; /* the rate in (2) */
	uint64_t at_ns;	  /* time of that rate */
	uint32_t n_vain;  /* the times in (3) */
	uint64_t vain_ns; /* when the last one was counted */
	uint64_t written; /* bytes since then */
};

/* poll_interval_expect - a program joined that may begin to write: (3). */
void poll_interval_expect(struct poll_interval *p, uint64_t now_ns);
/* poll_interval_observe - @bytes were written since the last call. */
void poll_interval_observe(struct poll_interval *p, uint64_t bytes, uint64_t now_ns);
/* poll_interval_ms - milliseconds until the next pass, with @free_bytes left for @n_cpus. */
uint32_t poll_interval_ms(const struct poll_interval *p, uint64_t free_bytes, uint32_t n_cpus);

#endif
