/* SPDX-License-Identifier: MIT */
/*
 * collect/chunks/chunks.h - a recording divided into trace chunks: names on disk and options.
 *
 * 	PATH/piece-000001/          ust, kernel, .duet: a recording of its own
 * 	PATH/piece-000001/.duet/finished
 * 	PATH/piece-000002/          the same; without that file it is being written
 * 	PATH/.piece-000001          being removed
 *
 * Numbers only grow.  All trace chunks except the last one are finished.  The file `finished` means
 * that no event is added any more: the trace chunk may be copied, compressed or removed.
 */
#ifndef COLLECT_CHUNKS_CHUNKS_H
#define COLLECT_CHUNKS_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "collect/options/options.h"
#include "collect/options/result.h"
#include "ctf/write/public.h"

/* trace_chunks_path - the path of trace chunk @n.  0 or -ENAMETOOLONG. */
int trace_chunks_path(char *to, size_t size, const char *path, uint32_t n, struct diag *d);
/* trace_chunks_number - the number in a directory name, or 0. */
uint32_t trace_chunks_number(const char *name);

/* The file `finished`: four numbers. */
struct trace_chunk_content {
	uint64_t begin_ns, end_ns; /* since the Epoch */
	struct ctf_sum sum;	   /* its events, and the bytes of its packets */
};

/* trace_chunks_finish - write the file `finished`.  0 or -errno. */
int trace_chunks_finish(const char *path, uint32_t n, const struct trace_chunk_content *content,
			struct diag *d);
bool trace_chunks_is_finished(const char *path, uint32_t n);

/* A trace chunk on disk. */
struct trace_chunk {
	uint32_t number;
	uint64_t end_ns; /* since the Epoch */
	uint64_t bytes;	 /* on disk */
	struct ctf_sum sum;
	bool is_packed;
};

/*
 * trace_chunks_list - the finished ones, the oldest first, in new memory.  Returns their number, or
 * -errno.
 */
int trace_chunks_list(const char *path, struct trace_chunk **trace_chunks);

/* trace_chunks_kept - add those that are there to @kept. */
void trace_chunks_kept(const char *path, struct recorder_kept *kept);

/*
 * trace_chunks_count_old - of @n trace chunks, the oldest first, the number that exceed the limits.
 */
int trace_chunks_count_old(const struct trace_chunks_options *o, const struct trace_chunk *p,
			   int n);

/*
 * trace_chunks_is_archived - for disk_count: whether directory entry @name is counted by another
 * process: a trace chunk in @archived, or the part of a tenant.
 */
bool trace_chunks_is_archived(const void *archived, const char *name);

/*
 * trace_chunks_remove - remove trace chunk @n.  It is renamed first, so readers never see a part of
 * it.
 *
 * 0 or -errno.
 */
int trace_chunks_remove(const char *path, uint32_t n);
/* trace_chunks_sweep - complete removals that were interrupted. */
void trace_chunks_sweep(const char *path);

#endif
