/* SPDX-License-Identifier: MIT */
/*
 * ui/why/internal.h - why a thread was not running, in a span of time; shared by:
 *
 *   why.c	the request and its answer
 *   path.c	the thread's states; its longest waits followed back over the index
 *   reasons.c	what the thread and those that it waited for did, summed as a tree
 *   lookup.c	what the index lacks, read from the recording: interrupts, files
 *
 * Threads are rows plus 1 here, calls are names plus 1; 0: none.
 *
 * Invariants:
 *   (1) the sums by state are those of the index
 *   (2) below a reason whose waits were all followed, times add up to those of the waits
 *   (3) work is bounded: the longest waits come first, and the answer says how many were followed
 */
#ifndef UI_WHY_INTERNAL_H
#define UI_WHY_INTERNAL_H

#include "analysis/public.h"
#include "analysis/wait/public.h"
#include "ui/query/answer.h"
#include "ui/query/answers.h"
#include "ui/reader/reader.h"

enum { CAUSE_WORDS = 64, PATH_MOST = 2000 };

/* What a thread did for some time, or the begin or end of what its waker did (is_turn). */
struct why_slice {
	int64_t begin_ns, end_ns;
	int64_t woken_ns; /* BLOCKED, with a cause: when it was woken, maybe behind end_ns */
	uint32_t thread, call;
	uint8_t state, depth, cause; /* index into causes */
	bool is_turn, is_end;
};

struct why_wait {		  /* a blocked state of the row */
	int64_t begin_ns, end_ns; /* whole; end_ns INT64_MAX: it goes on */
	uint64_t ns;		  /* within the span */
	uint32_t call;
	uint32_t first, n_slices; /* in `slices`; from its end to its begin */
};

/* A node of the tree: what one thread did in one state, one call, until one cause. */
struct why_node {
	uint32_t thread, call, cpu; /* cpu: a row plus 1; 0: none */
	uint8_t state, cause;
	uint64_t ns, n;
	int64_t from, to;	      /* the longest */
	uint32_t parent, child, next; /* nodes; 0: none */
};

struct why {
	const struct ui_subject *s;
	const struct ui_request *q;
	struct ui_index *x;
	uint32_t row;
	int64_t from, to, limit;
	struct ui_sums sums;
	int64_t deadline_ns;
	bool has_failed, is_cut; /* no memory; not all waits were followed */
	struct why_tracks {
		uint32_t states, calls; /* tracks plus 1 */
		bool is_known;
	} * tracks; /* by row */
	uint32_t n_rows;
	struct why_wait *waits; /* the longest first, after path_read() */
	uint32_t n_waits, wait_room;
	uint32_t n_followed;
	struct why_slice *slices;
	uint32_t n_slices, slice_room;
	struct why_slice *own; /* the row's other states */
	uint32_t n_own, own_room;
	int64_t least_ns;
	struct why_node *nodes; /* 0: the root */
	uint32_t n_nodes, node_room;
	uint32_t *table, n_table;     /* nodes by what they are; a power of two */
	char causes[CAUSE_WORDS][80]; /* [0]: none, [1]: an interrupt, [2]: its timer */
	uint32_t n_causes;
	struct ui_reader *reader;
	struct wait_follow *follow; /* the recording's tables, for words; NULL: it cannot be read */
	uint32_t *busy;		    /* tracks of interrupts and disks */
	int64_t n_busy;
	int64_t read_ns; /* how far lookup.c has read */
	char note[256];	 /* why not; "" */
};

bool why_grow(struct why *w, void *array, uint32_t *room, uint32_t n, size_t size);
const char *why_call_name(const struct why *w, uint32_t call); /* NULL: none */

/* path.c */
void path_read(struct why *w);
void path_follow(struct why *w);
/* path_call_at - the system call of @thread at @ns, plus 1; *@index: in its track. */
uint32_t path_call_at(struct why *w, uint32_t thread, int64_t ns, uint32_t *index);

/* reasons.c */
void reasons_make(struct why *w);

/* lookup.c: lookup_open, lookup_causes - the interrupts behind the longest waits that one ended. */
void lookup_open(struct why *w);
void lookup_causes(struct why *w);
void lookup_close(struct why *w);
/* lookup_object - " of /tmp/audit.log" or " of audit_lock in server" for the call of @thread at @ns; "". */
const char *lookup_object(struct why *w, uint32_t thread, int64_t ns, char buffer[192]);

#endif
