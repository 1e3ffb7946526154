/* SPDX-License-Identifier: MIT */
/*
 * kernel/perf/perf.h - events of perf on one CPU, in one ring: opened, switched, read.
 *
 * The ring belongs to an event that counts nothing and tells of forks, names and ends; all others
 * write there as well, each sample with a number that says whose it is.  perf stamps with
 * CLOCK_MONOTONIC.  Some may be counters, whose values other events' samples have.  What the ring
 * holds is believed in nothing: each length is bounded before use.
 */
#ifndef KERNEL_PERF_PERF_H
#define KERNEL_PERF_PERF_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"

enum {
	KERNEL_PERF_FRAMES_MAX = 127, /* of both stacks together */
	KERNEL_PERF_RECORD_MAX = UINT16_MAX,
};

/* What the samples of an event have, besides who, when and where. */
enum {
	KERNEL_PERF_KERNEL_STACK = 1,
	KERNEL_PERF_USER_STACK = 2,
	KERNEL_PERF_STACKS = KERNEL_PERF_KERNEL_STACK | KERNEL_PERF_USER_STACK,
	KERNEL_PERF_VALUE = 4, /* << i: the value of the i-th counter */
};

/* PERF_RECORD_SAMPLE, as our sample_type makes it; behind it what kernel_perf_parts() finds. */
struct kernel_perf_sample {
	struct perf_event_header header;
	uint64_t id;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t address;
};

struct kernel_perf_value { /* what was counted, and by which event indeed */
	uint64_t value, id;
};

struct kernel_perf_parts {
	const uint64_t *values; /* of the ring's counters */
	const uint64_t *frames; /* innermost first, behind markers that say whose they are */
	uint64_t n_frames;
	const uint8_t *raw; /* a tracepoint's record; NULL: there is none */
	size_t raw_size;
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

/* PERF_RECORD_MMAP2.  Behind it the file's name, with its NUL and up to a multiple of 8 bytes, and
 * u64 time_ns. */
struct kernel_perf_mapping {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t begin, size, offset; /* bytes */
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t rights, flags;
	char path[];
};

struct kernel_perf_lost { /* PERF_RECORD_LOST */
	struct perf_event_header header;
	uint64_t id, n;
};

struct kernel_perf_event {
	int fd;
	uint64_t id;
	int source; /* what it is, as its owner counts: the number less 1, or as it was attached */
	uint64_t sample_type;
	bool has_id; /* a kernel_perf_value behind its samples */
};

struct kernel_perf_ring {
	int cpu;
	struct kernel_perf_event *events; /* the first: whose the ring is */
	int n_events;
	int n_counters; /* those behind the first */
	bool runs;
	size_t data_bytes; /* a power of two */
	char *map;	   /* NULL: not mapped in this process */
	uint64_t at;	   /* read up to here */
};

/* kernel_perf_open - @size_bytes of ring, rounded down to a power of two.  0; -ENODEV: the CPU is
 * off-line; or -errno. */
int kernel_perf_open(struct kernel_perf_ring *r, int cpu, size_t size_bytes);
/* kernel_perf_open_own - for threads that are attached, for who may not see those of others.  0 or
 * -errno. */
int kernel_perf_open_own(struct kernel_perf_ring *r, int cpu, size_t size_bytes);
void kernel_perf_close(
	struct kernel_perf_ring *r); /* of what another process mapped: set map to NULL first */

/* kernel_perf_count - a counter whose value others' samples have; type and config of @a.  Before
 * any of those, at most
 * 16.  It has a number as they have.  0 or -errno. */
int kernel_perf_count(struct kernel_perf_ring *r, const struct perf_event_attr *a);

/*
 * kernel_perf_add - one event more, off; its number is the next one, from 1.
 *
 * @a: type, config and how often.  @extras: what samples hold, KERNEL_PERF_*.  @filter: of a
 * tracepoint, in the kernel's words, or NULL.  0 or -errno.
 */
int kernel_perf_add(struct kernel_perf_ring *r, const struct perf_event_attr *a, uint32_t extras,
		    const char *filter);
/*
 * kernel_perf_attach - an event as kernel_perf_add() adds it, of thread @tid on this CPU and of
 * what it makes from now on; of the kernel's part only what is allowed.  Its @source is told by its
 * number.  0 or -errno.
 *
 * kernel_perf_attach_switches - its names, mappings and end and, with @has_switches, when it runs:
 * no samples.
 */
int kernel_perf_attach(struct kernel_perf_ring *r, pid_t tid, const struct perf_event_attr *a,
		       uint32_t extras, int source);
int kernel_perf_attach_switches(struct kernel_perf_ring *r, pid_t tid, bool has_switches);

/*
 * kernel_perf_number - of the event that @s is of, from 1; 0: none.
 *
 * When several recorders count the same with a software event, the kernel prepares one sample for
 * all of them: id, time and stack are the first one's (do_perf_sw_event(), 6.18).  *@is_shared: it
 * is such a sample.
 */
int kernel_perf_number(const struct kernel_perf_ring *r, const struct kernel_perf_sample *s,
		       bool *is_shared);

/* kernel_perf_map - without a mapping perf records nothing, and it does not pass to a child.  0 or
 * -errno. */
int kernel_perf_map(struct kernel_perf_ring *r);
/* kernel_perf_run - all of its events, or none.  0 or -errno. */
int kernel_perf_run(struct kernel_perf_ring *r, bool runs);

/* kernel_perf_end - how far perf has written; kernel_perf_done - what lies before `at` may be
 * written over. */
uint64_t kernel_perf_end(const struct kernel_perf_ring *r);
void kernel_perf_done(struct kernel_perf_ring *r);

/* kernel_perf_record - the record at @at, in one piece, in @record of KERNEL_PERF_RECORD_MAX + 1
 * bytes, aligned for any; NULL if there is none before @end, or what is there makes no sense. */
const struct perf_event_header *kernel_perf_record(const struct kernel_perf_ring *r, uint64_t at,
						   uint64_t end, uint8_t *record);

/* kernel_perf_parts - what lies behind @s, of the event @number, inside the sample; false: it is
 * not whole. */
bool kernel_perf_parts(const struct kernel_perf_ring *r, int number,
		       const struct kernel_perf_sample *s, struct kernel_perf_parts *p);

#endif
