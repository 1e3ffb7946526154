/* SPDX-License-Identifier: MIT */
/*
 * collect/chunks/archiver.h - what is done with a recording on disk beside writing it: finished
 * pieces are forced onto the disk, compressed, and at last removed.
 *
 * In a process of its own, at the lowest priority: a slow disk and a slow compressor keep nobody
 * from draining the buffers.  What is to be done it sees from the directory alone, so whatever is
 * killed, and when, the next one goes on there:
 *
 *   removed     the piece's name goes first (collect/chunks/chunks.h)
 *   compressed  a file at a time, under a hidden name; then it gets its own, then the plain one
 * goes: at any moment one of both is whole, and readers take either (trace/trace.c) one at a time
 * who works holds a lock in PATH/.duet/tidy
 *
 * It ends when it is told to and all is done, or when who started it has died.
 */
#ifndef COLLECT_CHUNKS_ARCHIVER_H
#define COLLECT_CHUNKS_ARCHIVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "collect/chunks/chunks.h"

/* What it tells; in memory that the collectors and their keeper share. */
struct archiver_status {
	uint64_t removed_bytes, plain_bytes,
		compressed_bytes;     /* of disk; before and after compressing */
	uint64_t cpu_ns;	      /* spent on compressing */
	uint32_t n_removed, n_packed; /* pieces */
	uint32_t synced;	      /* finished pieces up to this number are on the disk */
	uint32_t n_waiting;	      /* finished pieces that are not yet compressed */
	uint32_t n_held; /* that are over the limit and stay until they have been sent */
	uint32_t n_failures;
	char text[256]; /* the first of them */
};

struct archiver {
	const char *path;		      /* lent; of the recording */
	const struct trace_chunks_options *o; /* lent */
	struct archiver_status *status;	      /* lent */
	pid_t pid;			      /* 0: none */
	int wake;
};

#define ARCHIVER_NONE ((struct archiver){ .wake = -1 })

/* archiver_is_needed - whether there is anything to do, ever. */
bool archiver_is_needed(const struct trace_chunks_options *o);
/* archiver_start - as @t->path, o and status say.  Signals that are blocked stay so.  0 or -errno.
 */
int archiver_start(struct archiver *t, struct diag *d);
/* archiver_wake - there is something new.  One that has died is started again.  NULL: nobody looks
 * after the pieces. */
void archiver_wake(struct archiver *t);
/* archiver_poll - now and then: start one that has died again; NULL as above. */
void archiver_poll(struct archiver *t);
/* archiver_leave - another process will look after the pieces: it goes on with what this one
 * leaves. */
void archiver_leave(struct archiver *t);
/* archiver_end - the recording is complete: wait until all is done. */
void archiver_end(struct archiver *t);

#endif
