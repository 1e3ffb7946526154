/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/snapshot.h - write the contents of a session in overwrite mode into a trace of its
 * own, while recording continues.
 *
 * All data are copied at one moment, for applications and kernel.  They are written in steps, so
 * that the collector's loop continues to accept programs.  One snapshot at a time: a request
 * meanwhile is refused with the reason.
 */
#ifndef COLLECT_DRAIN_SNAPSHOT_H
#define COLLECT_DRAIN_SNAPSHOT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/json_line.h"
#include "collect/session/session.h"
#include "collect/drain/streams.h"
#include "kernel/kernel.h"

struct snapshot_maker {
	/* Set by the collector; all borrowed. */
	struct session *session;
	const struct streams *names;  /* source of the program names */
	struct maps *maps;	      /* or NULL */
	struct kernel *kernel;	      /* or NULL */
	const uint64_t *lost_outside; /* events that never reached a pool */
	struct bounds *bounds;	      /* of the pools */
	uint64_t clock_offset_ns;
	/*
	 * Called at the end of a snapshot without a client, with its path, or NULL and the reason.
	 */
	void (*ended)(void *arg, const char *path, const char *why);
	void *ended_arg;
	/* Called with the directory, to add what other rooms keep of programs; or NULL. */
	void (*keep)(void *arg, const char *path);
	void *keep_arg;
	const char *output;	  /* directory for snapshot-1, snapshot-2, ... */
	struct disk_budget *disk; /* of those below `output`; borrowed */

	/* The snapshot being written. */
	struct streams *streams; /* NULL: none */
	int asker;		 /* socket that gets the answer; -1: call `ended` */
	int directory;		 /* passed with the request, or -1 */
	bool is_kernel_open;
	uint64_t cut_ns, from_ns;
	uint64_t kernel_bytes;
	uint32_t number;      /* of the last one below output */
	char path[PATH_MAX];  /* to write to */
	char shown[PATH_MAX]; /* as the client names it */
};

/*
 * snapshot_begin - copy everything that the request asks for; snapshot_step then writes it.
 *
 * Takes @asker and @directory (each may be -1); answers and closes them in any case.
 */
void snapshot_begin(struct snapshot_maker *s, const struct json_line *request, int asker,
		    int directory);

static inline bool snapshot_is_open(const struct snapshot_maker *s)
{
	return s->streams;
}

/* snapshot_step - some milliseconds of work on the open snapshot; sends the answer at the end. */
void snapshot_step(struct snapshot_maker *s);

#endif
