/* SPDX-License-Identifier: MIT */
/*
 * kernel/perf.h - events of perf on one CPU, in one ring: opened, switched, read.
 *
 * The ring belongs to an event that counts nothing and tells of forks, names and ends; all others write there as well,
 * each sample with a number that says whose it is.  perf stamps with CLOCK_MONOTONIC.
 * perf writes the ring, so only what bounds our reading is checked.
 */
#ifndef KERNEL_PERF_H
#define KERNEL_PERF_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

enum {
	KERNEL_PERF_FRAMES_MAX = 127, /* of both stacks together */
	KERNEL_PERF_RECORD_MAX = UINT16_MAX,
};

/* PERF_RECORD_SAMPLE, as our sample_type makes it.  Behind the frames: u32 size, and a tracepoint's record. */
struct kernel_perf_sample {
	struct perf_event_header header;
	uint64_t id;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t address;
	uint64_t n_frames;
	uint64_t frames[];
};

struct kernel_perf_fork { /* PERF_RECORD_FORK, _EXIT */
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time_ns;
};

struct kernel_perf_comm { /* PERF_RECORD_COMM */
	struct perf_event_header header;
	uint32_t pid, tid;
};

struct kernel_perf_lost { /* PERF_RECORD_LOST */
	struct perf_event_header header;
	uint64_t id, n;
};

struct kernel_perf_event {
	int fd;
	uint64_t id;
};

struct kernel_perf_ring {
	int cpu;
	struct kernel_perf_event *events; /* the first: whose the ring is */
	int n_events;
	size_t data_bytes; /* a power of two */
	char *map; /* NULL: not mapped in this process */
	uint64_t at; /* read up to here */
};

/* kernel_perf_open - @size_bytes of ring, rounded down to a power of two.  0; -ENODEV: the CPU is off-line; or -errno. */
int kernel_perf_open(struct kernel_perf_ring *r, int cpu, size_t size_bytes);
void kernel_perf_close(struct kernel_perf_ring *r); /* of what another process mapped: set map to NULL first */

/*
 * kernel_perf_add - one event more, off; its number is the next one, from 1.
 *
 * @a: type, config and how often; what samples hold is set here.  @filter: of a tracepoint, in the kernel's words, or
 * NULL.  0 or -errno.
 */
int kernel_perf_add(struct kernel_perf_ring *r, const struct perf_event_attr *a, const char *filter);
/* kernel_perf_number - of the event with this id, from 1; 0: none. */
int kernel_perf_number(const struct kernel_perf_ring *r, uint64_t id);

/* kernel_perf_map - without a mapping perf records nothing, and it does not pass to a child.  0 or -errno. */
int kernel_perf_map(struct kernel_perf_ring *r);
/* kernel_perf_run - all of its events, or none.  0 or -errno. */
int kernel_perf_run(struct kernel_perf_ring *r, bool runs);

/* kernel_perf_end - how far perf has written; kernel_perf_done - what lies before `at` may be written over. */
uint64_t kernel_perf_end(const struct kernel_perf_ring *r);
void kernel_perf_done(struct kernel_perf_ring *r);

/* kernel_perf_record - the record at @at, in one piece, in @record of KERNEL_PERF_RECORD_MAX + 1 bytes, aligned for
 * any; NULL if there is none before @end. */
const struct perf_event_header *kernel_perf_record(const struct kernel_perf_ring *r, uint64_t at, uint64_t end,
						   uint8_t *record);

/* kernel_perf_raw - a tracepoint's record behind the @n_frames of @s; NULL: it has none.  *@n_frames is bounded. */
const uint8_t *kernel_perf_raw(const struct kernel_perf_sample *s, uint64_t *n_frames, size_t *size);

#endif
