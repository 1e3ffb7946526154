/* SPDX-License-Identifier: MIT */
/*
 * collect/chunks/age.h - how long ago trace chunks ended, whatever happens to the wall clock.
 *
 * A trace chunk says when it ended by the wall clock, which may be set: a step of a day must not make
 * all of them a day older, and remove them.  So the wall clock counts once, when this process sees
 * a trace chunk for the first time, mostly when it has just ended.  From then on it ages by
 * CLOCK_BOOTTIME, which goes on in suspend.
 */
#ifndef COLLECT_CHUNKS_AGE_H
#define COLLECT_CHUNKS_AGE_H

#include <stdbool.h>
#include <stdint.h>

struct trace_chunk;

/* A trace chunk that was seen: its number and stamp, and when it ended by CLOCK_BOOTTIME, which may be
 * before the machine started. */
struct chunk_age {
	uint32_t number;
	uint64_t end_ns;
	int64_t ended_ns;
};

/* Those of the last list; zeroes: none. */
struct chunk_ages {
	struct chunk_age *at;
	int n;
};

/*
 * chunk_ages_update - make @a the ages of the @n trace chunks at @p, in their order, by both clocks
 * read now.
 *
 * Returns false without memory: then @a is as it was, and nothing may be removed for its age.
 */
bool chunk_ages_update(struct chunk_ages *a, const struct trace_chunk *p, int n, uint64_t wall_ns,
		       uint64_t boot_ns);

#endif
