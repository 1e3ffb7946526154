/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/heap.h - the heap of programs, from lttng_ust_libc events.
 *
 * A block lives from the event that gave it out to the one that takes it back; its size is what was
 * asked for.  Order (head of src/inproc/wrap_libc.c): free precedes its call, the others follow
 * theirs, realloc too.  So an address may be given out while it is live: its owner is inside a
 *realloc whose event is to come, and that event ends the older of the two lives; a free ends the
 *younger.
 *
 *	given = taken + live at the end + left at exec + lives whose end was not seen
 *
 * Unknown are frees and reallocs of what was not seen given out: from before the recording, from
 * before a fork, from allocators not recorded, or lost.  A program that executes another leaves its
 *heap.
 */
#ifndef ANALYSIS_REPORT_HEAP_H
#define ANALYSIS_REPORT_HEAP_H

#include "analysis/report/heap_sites.h"
#include "analysis/pass.h"
#include "analysis/samples.h"

enum { HEAP_CLASSES = 48, HEAP_SLICES = 128 };

struct heap_class { /* of sizes: class i is up to 2^i bytes, and more than the class before */
	uint64_t n, bytes;	     /* given out */
	uint64_t n_live, live_bytes; /* at the end */
};

struct heap_process {
	uint32_t thread;			/* what stands for it */
	uint64_t n_given, given_bytes, n_taken; /* a realloc that succeeds is both */
	uint64_t n_reallocs, n_moved, grown_bytes, shrunk_bytes;
	uint64_t n_failed, n_unknown, n_unseen_ends;
	uint64_t n_live, live_bytes; /* at the end */
	uint64_t n_at_exec, at_exec_bytes;
	uint64_t peak_bytes, peak_n; /* blocks then */
	int64_t peak_ns;
};

struct heap_slice { /* the live bytes of all at most, in a part of the time */
	uint64_t peak_bytes;
	bool is_seen; /* else as at the end of the one before */
	uint64_t last_bytes;
};

struct heap {
	struct pass run;
	struct heap_process *processes; /* most live bytes at the end first */
	uint32_t n_processes;
	struct heap_process all;
	struct heap_class classes[HEAP_CLASSES];
	struct slowest oldest; /* live at the end; what: process's thread; detail: bytes */
	struct heap_slice slices[HEAP_SLICES];
	uint32_t n_slices;
	int64_t slices_begin_ns, slice_ns;
	uint64_t n_heap_events;
	struct heap_sites *sites; /* who asked: of live blocks those that are live at the end */
};

struct heap_options {
	struct trace *trace;	  /* must outlive the result */
	const char *const *paths; /* of its recordings: their maps name call sites */
	int n_paths;
	const struct pass_range *range; /* what lies in it; NULL: all */
	uint32_t n_oldest;
};

/* heap_init - read it.  Returns 0 or -errno. */
int heap_init(struct heap *h, const struct heap_options *o, struct diag *d);
void heap_fini(struct heap *h);

#endif
