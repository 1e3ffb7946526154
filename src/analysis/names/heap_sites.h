/* SPDX-License-Identifier: MIT */
/*
 * analysis/names/heap_sites.h - the call sites that allocate memory, or where threads wait.
 *
 * A call site is the first frame of the event's call stack (or its ip if it has no call stack) that
 * does not belong to an allocator, to libduet-libc or to operator new. If that frame is in the C or
 * C++ library, as strdup() is, the first frame outside of these libraries is reported too.
 * Libraries without frame pointers hide their callers from call stacks, so this frame may be a
 * caller of the caller.
 *
 * Frames of the kernel are skipped.
 *
 * The same place in the same file is one site in all processes.
 */
#ifndef ANALYSIS_NAMES_HEAP_SITES_H
#define ANALYSIS_NAMES_HEAP_SITES_H

#include "analysis/names/lines.h"
#include "trace/public.h"

struct heap_frame {	      /* texts are borrowed until heap_sites_close() */
	const char *function; /* NULL: unknown */
	const char *path;     /* of the file; NULL: unknown */
	uint64_t into;	      /* offset of the return address in the function, in bytes */
	uint64_t address;     /* of the call in the file, as for addr2line; without path: in the
			       * process */
	const char *build_id; /* of the file; "": unknown */
};

struct heap_site {
	uint32_t asks, asks_for; /* frames, plus 1; asks 0: no call stack; asks_for 0: the frame
				  * allocates for itself */
	uint64_t n_given, given_bytes;
	uint64_t n_live, live_bytes; /* now; after the pass: at the end */
	uint64_t peak_bytes;	     /* most bytes that were live at one time */
	int64_t peak_ns;
};

struct heap_sites;

/* heap_sites_open - for events whose names begin with @events.  @paths: directories of the recordings
 * of @t, for their maps.  Returns 0 or -ENOMEM. */
#define HEAP_EVENTS "lttng_ust_libc:"
int heap_sites_open(struct heap_sites **s, struct trace *t, const char *events,
		    const char *const *paths, int n_paths, struct diag *d);
void heap_sites_close(struct heap_sites *s); /* accepts NULL */

/* heap_sites_any - whether any of the events has a call stack or ip. */
bool heap_sites_any(const struct heap_sites *s);

/* heap_sites_of - the number of the site of @e, an event of process @pid; dense, from 0; or
 * -ENOMEM. */
int64_t heap_sites_of(struct heap_sites *s, const struct trace_event *e, int64_t pid);

/* heap_sites_has - whether the file of @site is known; events without a call stack have none. */
bool heap_sites_has(const struct heap_sites *s, uint32_t site);

/* heap_sites_give, heap_sites_take - @bytes that @site allocated begin or cease to be live. */
void heap_sites_give(struct heap_sites *s, uint32_t site, uint64_t bytes, int64_t now_ns);
void heap_sites_take(struct heap_sites *s, uint32_t site, uint64_t bytes);

/* heap_sites_sort - all @n sites, most live bytes first. Site numbers are invalid afterwards.
 * Borrowed until heap_sites_close(). */
const struct heap_site *heap_sites_sort(struct heap_sites *s, uint32_t *n);

/* heap_sites_frame - the frame with number `asks` or `asks_for`, which is not 0. */
const struct heap_frame *heap_sites_frame(const struct heap_sites *s, uint32_t number);

/* heap_sites_line - the source line of a frame, "queue.c:31"; "": unknown. */
const char *heap_sites_line(struct heap_sites *s, const struct heap_frame *f,
			    char buffer[LINE_BYTES]);

/* heap_sites_words - append the site's frame, before heap_sites_sort(): "make_queue at queue.c:31",
 * "make_queue+0x1f"; "?" without a call stack. */
struct text;
void heap_sites_words(struct heap_sites *s, uint32_t site, struct text *t);

#endif
