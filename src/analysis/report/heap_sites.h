/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/heap_sites.h - where in a program memory was asked for.
 *
 * A call site is the first frame of the event's call stack (or its ip, where that is all there is)
 * that belongs to no allocator, to libduet-libc or to operator new.  If that lies in the C or C++
 * library, as strdup does, the first frame outside of these is told too: whom it did it for.
 * Libraries without frame pointers hide their callers from call stacks, so that one may be a caller
 * of the caller.
 *
 * The same place of the same file is one site, in whichever process.
 */
#ifndef ANALYSIS_REPORT_HEAP_SITES_H
#define ANALYSIS_REPORT_HEAP_SITES_H

#include "trace/trace.h"

struct heap_frame {	      /* texts are lent until heap_sites_close() */
	const char *function; /* NULL: nobody knows */
	const char *path;     /* of the file; NULL: nobody knows */
	uint64_t into;	      /* the function: bytes up to where the call returns to */
	uint64_t address;     /* of the call in the file, as addr2line counts; without path: in the
				 process */
};

struct heap_site {
	uint32_t asks, asks_for; /* frames, plus 1; asks 0: of events without stack; asks_for 0: for
				    itself */
	uint64_t n_given, given_bytes;
	uint64_t n_live, live_bytes; /* now, and so at the end */
	uint64_t peak_bytes;	     /* that lived at most at one time */
	int64_t peak_ns;
};

struct heap_sites;

/* heap_sites_open - @paths: of the recordings of @t, for their maps.  Returns 0 or -ENOMEM. */
int heap_sites_open(struct heap_sites **s, struct trace *t, const char *const *paths, int n_paths,
		    struct diag *d);
void heap_sites_close(struct heap_sites *s); /* accepts NULL */

/* heap_sites_any - whether any event of the heap may have a call stack or ip. */
bool heap_sites_any(const struct heap_sites *s);

/* heap_sites_of - the number of the site of @e, an event of process @pid; dense, from 0.  Or
 * -ENOMEM. */
int64_t heap_sites_of(struct heap_sites *s, const struct trace_event *e, int64_t pid);

/* heap_sites_give, heap_sites_take - @bytes begin or cease to live that @site has asked for. */
void heap_sites_give(struct heap_sites *s, uint32_t site, uint64_t bytes, int64_t now_ns);
void heap_sites_take(struct heap_sites *s, uint32_t site, uint64_t bytes);

/* heap_sites_sort - all of them, @n, most live bytes first.  Numbers hold no more.  Lent until
 * heap_sites_close(). */
const struct heap_site *heap_sites_sort(struct heap_sites *s, uint32_t *n);

/* heap_sites_frame - number `asks` or `asks_for`, not 0. */
const struct heap_frame *heap_sites_frame(const struct heap_sites *s, uint32_t number);

#endif
