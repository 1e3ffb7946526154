/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/heap.h - the heap of programs, from lttng_ust_libc events.
 *
 * A block lives from the event that allocates it to the event that frees it; its size is the
 * requested one. Order (head of src/inproc/wrap/libc.c): the event of free() precedes the call, all
 * others follow theirs, also that of realloc(). So an address may be allocated again while it is
 * live: its owner is inside a realloc() whose event is still to come, and that event ends the older
 * of the two blocks; a free() ends the younger one.
 *
 *   given = taken + live at the end + left at exec + blocks whose end was not recorded
 *
 * Unknown are frees and reallocs of blocks whose allocation was not recorded: from before the
 * recording, from before a fork, from allocators that are not recorded, or lost. A program that
 * executes another one leaves its heap.
 */
#ifndef ANALYSIS_REPORT_HEAP_H
#define ANALYSIS_REPORT_HEAP_H

#include "analysis/names/heap_sites.h"
#include "analysis/pass.h"
#include "analysis/samples.h"

enum { HEAP_CLASSES = 48, HEAP_SLICES = 128 };

struct heap_class {	   /* class i has sizes up to 2^i bytes, and more than the class before */
	uint64_t n, bytes; /* allocated */
	uint64_t n_live, live_bytes; /* at the end */
};

struct heap_process {
	uint32_t thread;			/* its leader */
	uint64_t n_given, given_bytes, n_taken; /* a realloc that succeeds counts in both */
	uint64_t n_reallocs, n_moved, grown_bytes, shrunk_bytes;
	uint64_t n_failed, n_unknown, n_unseen_ends;
	uint64_t n_live, live_bytes; /* at the end */
	uint64_t n_at_exec, at_exec_bytes;
	uint64_t peak_bytes, peak_n; /* live blocks at the peak */
	int64_t peak_ns;
};

struct heap_slice { /* the maximum of live bytes of all processes in a part of the time */
	uint64_t peak_bytes;
	bool is_seen; /* else as at the end of the slice before */
	uint64_t last_bytes;
};

struct heap {
	struct pass run;
	struct heap_process *processes; /* most live bytes at the end first */
	uint32_t n_processes;
	struct heap_process all;
	struct heap_class classes[HEAP_CLASSES];
	struct slowest oldest; /* live at the end; subject: the process's leader; detail: bytes */
	struct heap_slice slices[HEAP_SLICES];
	uint32_t n_slices;
	int64_t slices_begin_ns, slice_ns;
	uint64_t n_heap_events;
	struct heap_sites *sites; /* call sites; their live blocks are those at the end */
};

struct heap_options {
	struct trace *trace;	  /* must outlive the result */
	const char *const *paths; /* directories of its recordings: their maps name call sites */
	int n_paths;
	const struct pass_range *range; /* events in it; NULL: all */
	uint32_t n_oldest;
};

/* heap_init - read the recording. Returns 0 or -errno. */
int heap_init(struct heap *h, const struct heap_options *o, struct diag *d);
void heap_fini(struct heap *h);

/* heap_slices.c, for heap.c: the live bytes changed; after the last event. */
void heap_slices_add(struct heap *h, int64_t now_ns);
void heap_slices_finalize(struct heap *h, int64_t end_ns);

#endif
