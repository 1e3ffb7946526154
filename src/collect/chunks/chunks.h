/* SPDX-License-Identifier: MIT */
/*
 * collect/chunks/chunks.h - a recording in pieces: names on disk, and what is asked of them.
 *
 *	PATH/piece-000001/          ust, kernel, .duet: a recording of its own
 *	PATH/piece-000001/.duet/finished
 *	PATH/piece-000002/          the same; without that file it is being written
 *	PATH/.piece-000001          being removed
 *
 * Numbers only grow.  All of a piece but the last one is finished.  Who sees the file `finished`
 *sees a piece to which no event is added any more: it may be copied, packed or removed.
 */
#ifndef COLLECT_CHUNKS_CHUNKS_H
#define COLLECT_CHUNKS_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

/* What is asked for on the command line; zeros: nothing of it. */
struct trace_chunks_options {
	bool rotate; /* the recording is in pieces; without a limit only when somebody asks */
	uint64_t rotate_bytes,
		rotate_ns;	      /* a new piece when the last has so much, or so long a time */
	uint64_t keep_bytes, keep_ns; /* finished pieces beyond are removed, the oldest first */
	uint32_t keep_count;
	bool remove_all;	/* they are removed as soon as they may be */
	int pack_level;		/* finished pieces are compressed: 1 .. 19 */
	bool sync_trace_chunks; /* finished pieces are forced onto the disk */
	uint64_t sync_ns;	/* and the one being written, each time so much time has passed */
	const uint32_t *n_arrived; /* pieces up to this number are where they are sent; NULL: they
				      are not sent */
};

/* trace_chunks_path - of number @n.  0 or -ENAMETOOLONG. */
int trace_chunks_path(char *to, size_t size, const char *path, uint32_t n, struct diag *d);
/* trace_chunks_number - the number a name tells, or 0. */
uint32_t trace_chunks_number(const char *name);

/* trace_chunks_finish - write `finished`: from @begin_ns to @end_ns since the Epoch.  0 or -errno.
 */
int trace_chunks_finish(const char *path, uint32_t n, uint64_t begin_ns, uint64_t end_ns,
			struct diag *d);
bool trace_chunks_is_finished(const char *path, uint32_t n);

/* One as it lies there. */
struct trace_chunk {
	uint32_t number;
	uint64_t end_ns; /* since the Epoch */
	uint64_t bytes;	 /* of disk */
	bool is_packed;
};

/* trace_chunks_list - the finished ones, the oldest first, in new memory.  Returns how many, or
 * -errno. */
int trace_chunks_list(const char *path, struct trace_chunk **trace_chunks);

/* trace_chunks_count_old - of these, the oldest first, how many of the oldest are beyond what is to
 * be kept. */
int trace_chunks_count_old(const struct trace_chunks_options *o, const struct trace_chunk *p,
			   int n);

/* trace_chunks_remove - take piece @n away.  At no moment it is there in part: its name goes first.
 * 0 or -errno. */
int trace_chunks_remove(const char *path, uint32_t n);
/* trace_chunks_sweep - what a removal that was interrupted has left. */
void trace_chunks_sweep(const char *path);

#endif
