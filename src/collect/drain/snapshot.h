/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/snapshot.h - writing what a flight recorder holds into a recording of its own,
 * while it goes on.
 *
 * The data are copied at once, at one moment for applications and kernel; they are written in
 * steps, so that the collector's loop goes on letting programs in.  One at a time; who asks
 * meanwhile is told so.
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
	/* Lent by the recorder. */
	struct session *session;
	const struct streams *names;  /* who noted the programs */
	struct maps *maps;	      /* lent; or NULL */
	struct kernel *kernel;	      /* or NULL */
	const uint64_t *lost_outside; /* events that never found the pool */
	uint64_t clock_offset_ns;
	/* Told how one without an asker went: where it is, or NULL and why it is not. */
	void (*ended)(void *arg, const char *path, const char *why);
	void *ended_arg;
	const char *output; /* snapshot-1, snapshot-2, ... go below it */

	/* Of the one being written. */
	struct streams *streams; /* NULL: none */
	int asker;		 /* who gets the answer; -1: `ended` */
	int directory;		 /* that came with the request, or -1 */
	bool is_kernel_open;
	uint64_t cut_ns, from_ns;
	uint64_t kernel_bytes;
	uint32_t number;      /* of the last one below output */
	char path[PATH_MAX];  /* to write to */
	char shown[PATH_MAX]; /* what people call it */
};

/* snapshot_begin - do what the request says: copy now; write with snapshot_step.  @asker and
 * @directory (each may be -1) are owned from here on, and are answered and closed in any case. */
void snapshot_begin(struct snapshot_maker *s, const struct json_line *request, int asker,
		    int directory);

static inline bool snapshot_is_open(const struct snapshot_maker *s)
{
	return s->streams;
}

/* snapshot_step - some milliseconds' work at the one being written; answers in the end. */
void snapshot_step(struct snapshot_maker *s);

#endif
