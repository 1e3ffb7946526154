/* SPDX-License-Identifier: MIT */
/*
 * collect/chunks/archiver.h - process finished trace chunks on disk: sync them, compress them, and
 * finally remove them.
 *
 * The archiver is a separate process at the lowest priority, so that a slow disk or compressor does
 * not delay the collector.  It derives its work from the directory alone.  Whatever is killed at
 * any time, the next archiver continues from there:
 *
 *   removed      the trace chunk is renamed first (collect/chunks/chunks.h)
 *   compressed   one file at a time, to a hidden name; the result is renamed, then the plain file
 *                is removed.  At any time one of the two is complete, and readers accept both
 *                (trace/trace.c)
 *   counted      after each step the bytes of the finished trace chunks are published, for the disk
 *                budget (disk/disk.h).  While a file is compressed, its new form comes on top
 *   exclusive    an archiver holds a lock on PATH/.duet/tidy
 *
 * It ends when requested and all work is done, or when the process that started it has died.
 */
#ifndef COLLECT_CHUNKS_ARCHIVER_H
#define COLLECT_CHUNKS_ARCHIVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "collect/chunks/chunks.h"
#include "collect/options/result.h"

struct archiver {
	const char *path;		      /* borrowed; of the recording */
	const struct trace_chunks_options *o; /* borrowed */
	struct archiver_status *status;	      /* borrowed */
	struct disk_budget *disk;	      /* borrowed; NULL: none */
	int directory; /* that `path` names, /proc/self/fd/<directory>; 0: another path */
	pid_t pid;     /* 0: none */
	int wake;
};

#define ARCHIVER_NONE ((struct archiver){ .wake = -1 })

/* archiver_is_needed - whether the options ask for any of this. */
bool archiver_is_needed(const struct trace_chunks_options *o);
/* archiver_start - start the process.  Blocked signals stay blocked in it.  0 or -errno. */
int archiver_start(struct archiver *t, struct diag *d);
/* archiver_wake - there is new work.  Restarts an archiver that has died.  NULL: there is none. */
void archiver_wake(struct archiver *t);
/* archiver_poll - call it regularly: restarts an archiver that has died.  Accepts NULL. */
void archiver_poll(struct archiver *t);
/* archiver_leave - stop this archiver soon; the one of another process continues its work. */
void archiver_leave(struct archiver *t);
/* archiver_end - the recording is complete: wait until all work is done. */
void archiver_end(struct archiver *t);

#endif
