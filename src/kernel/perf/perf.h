/* SPDX-License-Identifier: MIT */
/*
 * kernel/perf/perf.h - the perf events of one CPU, which share one ring.
 *
 * The ring belongs to an event that counts nothing and reports forks, names and ends. All other
 * events write to the same ring; each sample has a number that identifies its event. perf's
 * timestamps are CLOCK_MONOTONIC. Some events may be counters; samples of others have their values.
 * The ring's contents are not trusted: each length is checked before use.
 */
#ifndef KERNEL_PERF_PERF_H
#define KERNEL_PERF_PERF_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "kernel/convert/class.h"

enum {
	KERNEL_PERF_FRAMES_MAX = 127, /* of both stacks together */
	KERNEL_PERF_RECORD_MAX = UINT16_MAX,
};

/* PERF_RECORD_SAMPLE with our sample_type; kernel_perf_parts() finds the rest behind it. */
struct kernel_perf_sample {
	struct perf_event_header header;
	uint64_t id;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t address;
};

struct kernel_perf_value { /* a count, and the id of the event that counted */
	uint64_t value, id;
};

struct kernel_perf_parts {
	const uint64_t *values; /* of the ring's counters */
	const uint64_t *frames; /* innermost first, after markers for kernel and user */
	uint64_t n_frames;
	const uint8_t *raw; /* a tracepoint's record; NULL: none */
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

/* PERF_RECORD_MMAP2. After it the file's name, NUL-terminated and padded to a multiple of 8 bytes,
 * and u64 time_ns. */
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
	int source; /* its owner's number for it: the event's number minus 1, or the @source of
		     * the attachment */
	uint64_t sample_type;
	bool has_id; /* its samples end with a kernel_perf_value */
};

struct kernel_perf_ring {
	int cpu;
	struct kernel_perf_event *events; /* the first one owns the ring */
	int n_events;
	int n_counters; /* those after the first */
	bool runs;
	size_t data_bytes; /* a power of two */
	char *map;	   /* NULL: not mapped in this process */
	uint64_t at;	   /* read up to here */
};

/* kernel_perf_open - @size_bytes of ring, rounded down to a power of two. 0; -ENODEV: the CPU is
 * off-line; or -errno. */
int kernel_perf_open(struct kernel_perf_ring *r, int cpu, size_t size_bytes);
/* kernel_perf_open_own - for attached threads, without the right to see other users' threads. 0 or
 * -errno. */
int kernel_perf_open_own(struct kernel_perf_ring *r, int cpu, size_t size_bytes);
void kernel_perf_close(
	struct kernel_perf_ring *r); /* if another process made the mapping, set map to NULL
				      * first */

/* kernel_perf_count - add a counter; samples of other events have its value; type and config of @a.
 * Add all of them, at most 16, before those events. It gets a number like an event. 0 or -errno. */
int kernel_perf_count(struct kernel_perf_ring *r, const struct perf_event_attr *a);

/*
 * kernel_perf_add - add an event, disabled; its number is the next one, from 1.
 *
 * @a: type, config and period. @extras: parts of the samples, KERNEL_PERF_*.
 * @filter: of a tracepoint, in the kernel's syntax, or NULL. 0 or -errno.
 */
int kernel_perf_add(struct kernel_perf_ring *r, const struct perf_event_attr *a, uint32_t extras,
		    const char *filter);
/*
 * kernel_perf_attach - add an event like kernel_perf_add() for thread @tid on this CPU, and for the
 * threads it makes from now on. Kernel mode is included only if that is allowed. The event's number
 * yields its @source. 0 or -errno.
 *
 * kernel_perf_attach_switches - its names, mappings and end and, with @has_switches, when it runs:
 * no samples.
 */
int kernel_perf_attach(struct kernel_perf_ring *r, pid_t tid, const struct perf_event_attr *a,
		       uint32_t extras, int source);
int kernel_perf_attach_switches(struct kernel_perf_ring *r, pid_t tid, bool has_switches);

/*
 * kernel_perf_number - the number of the event of @s, from 1; 0: none.
 *
 * If several recorders use the same software event, the kernel prepares one sample for all of them:
 * id, time and stack are the first one's (do_perf_sw_event(), 6.18). *@is_shared: it is such a
 * sample.
 */
int kernel_perf_number(const struct kernel_perf_ring *r, const struct kernel_perf_sample *s,
		       bool *is_shared);

/* kernel_perf_map - map the ring. Without a mapping perf records nothing; a child does not inherit
 * it. 0 or -errno. */
int kernel_perf_map(struct kernel_perf_ring *r);
/* kernel_perf_run - enable or disable all of its events. 0 or -errno. */
int kernel_perf_run(struct kernel_perf_ring *r, bool runs);

/* kernel_perf_end - the end of the data that perf has written. kernel_perf_done - lets perf
 * overwrite the data before `at`. */
uint64_t kernel_perf_end(const struct kernel_perf_ring *r);
void kernel_perf_done(struct kernel_perf_ring *r);

/* kernel_perf_record - copy the record at @at into @record, which has KERNEL_PERF_RECORD_MAX + 1
 * bytes, aligned for any type. NULL if there is none before @end, or if it is malformed. */
const struct perf_event_header *kernel_perf_record(const struct kernel_perf_ring *r, uint64_t at,
						   uint64_t end, uint8_t *record);

/* kernel_perf_parts - find the parts after @s, a sample of the event @number. False: it is
 * truncated. */
bool kernel_perf_parts(const struct kernel_perf_ring *r, int number,
		       const struct kernel_perf_sample *s, struct kernel_perf_parts *p);

#endif
